// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// The record says how long groups took and whom they waited for last; groups that
// nobody had to wait for are not worth a word.
func TestTimesOfGroups(t *testing.T) {
	w := emptyWorld()
	w.begin(
		sync(0, step(object("ConfigMap", "c", ""))),
		sync(1, step(object("Deployment", "quick", "ok@2s")), step(object("Deployment", "slow", "ok@5s"))),
		sync(2, hook(object("Job", "seed", "ok@3s"))),
	)
	w.run(t)
	var got []machine.GroupTime
	for _, took := range w.record.Took {
		took.Took = took.Took.Round(time.Second)
		got = append(got, took)
	}
	want := []machine.GroupTime{
		{Phase: manifest.Sync, Wave: 1, Took: 5 * time.Second, Last: "Deployment/slow"},
		{Phase: manifest.Sync, Wave: 2, Took: 3 * time.Second, Last: "Job/seed"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

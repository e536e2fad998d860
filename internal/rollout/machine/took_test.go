// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// The record says how long groups took and whom they waited for last; groups that
// nobody had to wait for are not worth a word, and of the last one only hooks are
// waited for.
func TestTimesOfGroups(t *testing.T) {
	w := emptyWorld()
	w.begin(
		sync(0, step(object("ConfigMap", "c", ""))),
		sync(1, step(object("Deployment", "quick", "ok@2s")), step(object("Deployment", "slow", "ok@5s"))),
		sync(2, hook(object("Job", "seed", "ok@3s"))),
	)
	w.run(t)
	// Something else holds the deletion up, not a workload that is not waited for.
	alone := emptyWorld()
	alone.limits.AwaitGone = true
	old := object("ConfigMap", "old", "ok@5s")
	old.SetFinalizers([]string{rollouttest.Guard})
	alone.begin(sync(0, rollouttest.Prune(alone.cluster.Put(old)), step(object("Deployment", "web", "never"))))
	alone.run(t)
	if alone.now.Sub(alone.start) < 5*time.Second || len(alone.record.Took) > 0 {
		t.Errorf("the only group, in %s, took %+v", alone.now.Sub(alone.start), alone.record.Took)
	}
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

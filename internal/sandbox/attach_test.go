// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

func TestAttachedInstance(t *testing.T) {
	instances := sandbox.Instances{Dir: t.TempDir()}
	opts, err := instances.Attach("dev", sandbox.Options{Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := startOwn(t, opts)
	status, err := instances.Status("dev")
	if err != nil {
		t.Fatal(err)
	}
	if status.State != sandbox.StateRunning || status.Kubeconfig != s.Kubeconfig() {
		t.Errorf("status %+v, want it running with kubeconfig %s", status, s.Kubeconfig())
	}
	if _, err := instances.Attach("dev", sandbox.Options{}); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("second Attach: got %v, want that it runs already", err)
	}
	if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if status, err = instances.Status("dev"); err != nil || status.State != sandbox.StateStopped {
		t.Errorf("after Stop: %+v, %v, want it stopped and still known", status, err)
	}
}

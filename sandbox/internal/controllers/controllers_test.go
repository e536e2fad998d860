// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"slices"
	"testing"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/wavetrain/wavetrain/sandbox/internal/controllers"
)

// TestSimulatedWorkIsNotDoneTwice keeps those upstream controllers off that would write what the simulator writes.
func TestSimulatedWorkIsNotDoneTwice(t *testing.T) {
	for _, name := range []string{
		names.PersistentVolumeBinderController,
		names.PersistentVolumeAttachDetachController,
		names.NodeLifecycleController,
		names.NodeIpamController,
		names.TaintEvictionController,
	} {
		if slices.Contains(controllers.Enabled(), name) {
			t.Errorf("%s is enabled, but its work is the simulator's", name)
		}
	}
}

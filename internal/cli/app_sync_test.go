// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func TestOperationVerdict(t *testing.T) {
	in := func(phase v1alpha1.OperationPhase, requested bool) *v1alpha1.Application {
		app := &v1alpha1.Application{}
		if phase != "" {
			app.Status.OperationState = &v1alpha1.OperationState{Phase: phase, Message: "m"}
		}
		if requested {
			app.Operation = &v1alpha1.Operation{}
		}
		return app
	}
	for name, tt := range map[string]struct {
		reason       string
		app          *v1alpha1.Application
		done, failed bool
	}{
		"First":    {"nothing has begun", in("", true), false, false},
		"Before":   {"a completed operation beside the request is the one before", in(v1alpha1.OperationSucceeded, true), false, false},
		"Running":  {"it runs", in(v1alpha1.OperationRunning, true), false, false},
		"Done":     {"the request went with its completion, even within one second of the operation before", in(v1alpha1.OperationSucceeded, false), true, false},
		"Failed":   {"so with a failure", in(v1alpha1.OperationFailed, false), false, true},
		"Rejected": {"and a refusal", in(v1alpha1.OperationError, false), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := operationVerdict(tt.app); got.done != tt.done || got.failed != tt.failed {
				t.Errorf("%s: %+v", tt.reason, got)
			}
		})
	}
}

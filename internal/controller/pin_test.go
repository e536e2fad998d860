// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func TestPinFor(t *testing.T) {
	source := v1alpha1.ApplicationSource{RepoURL: "https://git.example.test/shop", Path: "app"}
	state := func(change ...func(*v1alpha1.OperationState)) *v1alpha1.OperationState {
		s := &v1alpha1.OperationState{
			Operation:  v1alpha1.Operation{Info: []v1alpha1.Info{{Name: infoLeft, Value: "bad"}}},
			SyncResult: &v1alpha1.SyncOperationResult{Source: source, Revision: "abc"},
		}
		for _, c := range change {
			c(s)
		}
		return s
	}
	want := &pin{Sources: []v1alpha1.ApplicationSource{source}, Revisions: []string{"abc"}, Left: "bad"}
	for name, c := range map[string]struct {
		reason    string
		state     *v1alpha1.OperationState
		completed string
		manual    bool
		want      *pin
	}{
		"back":      {"a person went back from a release", state(), "good", false, want},
		"forward":   {"a person synced the target revision", state(), "bad", false, nil},
		"no auto":   {"without automation nothing has to be kept away", state(), "good", true, nil},
		"automated": {"automation pins nothing", state(func(s *v1alpha1.OperationState) { s.Operation.InitiatedBy.Automated = true }), "good", false, nil},
		"unknown":   {"nor an operation of which it is not known what it left", state(func(s *v1alpha1.OperationState) { s.Operation.Info = nil }), "good", false, nil},
		"several": {"several sources are kept with a revision each", state(func(s *v1alpha1.OperationState) {
			s.SyncResult = &v1alpha1.SyncOperationResult{Sources: []v1alpha1.ApplicationSource{source, source}, Revisions: []string{"a", "b"}}
		}), "good", false, &pin{Sources: []v1alpha1.ApplicationSource{source, source}, Revisions: []string{"a", "b"}, Left: "bad"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, pinFor(c.state, c.completed, !c.manual)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

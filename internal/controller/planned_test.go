// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/plan/saved"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// What an attempt finds that may have written something is its own work; until then
// its plan has to hold.
func TestPlanHoldsUntilTheFirstWrite(t *testing.T) {
	record := func(id string, attempt int, checked bool) *machine.Record {
		return &machine.Record{Operation: id, Attempt: attempt, Checked: checked}
	}
	for name, c := range map[string]struct {
		record  *machine.Record
		attempt int
		want    bool
	}{
		"no record":                     {nil, 1, false},
		"another operation":             {record("other", 1, true), 1, false},
		"interrupted before the checks": {record("op", 1, false), 1, false},
		"interrupted after the checks":  {record("op", 1, true), 1, true},
		"a later attempt":               {record("op", 1, true), 2, true},
	} {
		s := &session{st: &appState{memory: rollout.State{Operation: c.record}}}
		if got := s.begunBefore("op", c.attempt); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A plan that cannot be read, or is of another Application, is refused before anything
// is looked at.
func TestForeignPlansAreRefused(t *testing.T) {
	other, err := saved.Plan{Version: saved.Version, App: "argocd/other"}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{app: &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "shop"}}}
	for text, want := range map[string]string{
		"":        "",
		"garbage": "decode plan: ",
		other:     "it is the plan of argocd/other, not of argocd/shop",
	} {
		got := s.refuseMoved(v1alpha1.Operation{Info: []v1alpha1.Info{{Name: InfoPlan, Value: text}}}, nil, nil)
		if want == "" && got != "" || want != "" && !strings.HasPrefix(got, PlanRefused+want) {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}

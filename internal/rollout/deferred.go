// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// deferring notes which prunes a plan that has ended has put off. What it tried
// to prune is put off no longer, however that ended; a partial plan says nothing
// about other objects.
func (s State) deferring(p *plan.Plan, rec machine.Record) State {
	var deferred []Entry
	if p.Partial {
		deferred = slices.Clone(s.Deferred)
	}
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			if step.Action != plan.Prune && step.Action != plan.SkipPrune {
				continue
			}
			deferred = slices.DeleteFunc(deferred, func(e Entry) bool { return e.Key == step.Key })
			became := rec.Steps[step.ID]
			if became == nil && step.Deferred || became != nil && (became.Deferred || step.Deferred && !step.Yields) {
				uid, _ := strings.CutPrefix(step.Precondition, "uid:")
				deferred = append(deferred, Entry{Key: step.Key, UID: types.UID(uid)})
			}
		}
	}
	s.Deferred = deferred
	return s
}

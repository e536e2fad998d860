// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Asks reports whether the attempt waits for a person to agree to prunes: that may
// take long, and nothing else is done meanwhile.
func (m *Machine) Asks() bool {
	return m.rec.Outcome == nil && m.rec.Wait != nil && m.rec.Wait.For == confirmation.String()
}

// Restore returns the actions that bring objects back to what the attempt has made of
// them, for those of the given that it is done with. They are no part of the attempt;
// Restored is told of each.
func (m *Machine) Restore(keys []manifest.Key) []Action {
	var actions []Action
	for i := range m.groups {
		for _, t := range m.groups[i].tasks {
			if t.hook() || t.prunes() || m.record(t).State != Succeeded || !slices.Contains(keys, t.key) {
				continue
			}
			actions = append(actions, Action{Kind: Apply, Step: t.step.ID, Key: t.key, Version: t.step.Version, Object: t.step.Object.Unstructured})
		}
	}
	return actions
}

// Restored notes which object there is after a restoration: it may have been made
// anew.
func (m *Machine) Restored(r Result) {
	if s := m.rec.Steps[r.Action.Step]; s != nil && r.Err == "" {
		s.UID = r.Live.UID
	}
}

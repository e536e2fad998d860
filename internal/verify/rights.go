// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"path"
	"slices"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// rights finds Pods that run before their ServiceAccount may do anything: its
// bindings come later, all of them.
func rights(w *world) {
	bindings := map[manifest.Key][]*stage{}
	for _, s := range w.stages {
		if s.Key.Kind != "RoleBinding" && s.Key.Kind != "ClusterRoleBinding" {
			continue
		}
		for _, ref := range w.references(s) {
			if ref.Target.Kind == "ServiceAccount" {
				bindings[ref.Target] = append(bindings[ref.Target], s)
			}
		}
	}
	for _, s := range w.stages {
		if len(bindings) == 0 || !s.gated() || !manifest.StartsPods(s.Object.Unstructured) {
			continue
		}
		for _, ref := range w.references(s) {
			if ref.Target.Kind == "ServiceAccount" && ref.AtStart {
				w.unbound(s, ref, bindings[ref.Target])
			}
		}
	}
}

// unbound judges a ServiceAccount by what binds it.
func (w *world) unbound(s *stage, ref manifest.Reference, bindings []*stage) {
	if len(bindings) == 0 {
		return
	}
	first := slices.MinFunc(bindings, func(a, b *stage) int { return a.at - b.at })
	if first.at <= s.at {
		return
	}
	if before, known := w.before(first.Key); known && before != nil {
		return
	}
	f := problem("missing-dependency", diag.Info, ref.Field,
		fmt.Sprintf("%s runs in %s as %s, which has no rights before %s of %s", s.Key.Short(), s.place(), ref.Target.Short(), first.Key.Short(), first.place()),
		orderHint(s, provider{stage: first}))
	if slices.ContainsFunc(containers(s.Object.Unstructured), callsAPI) {
		f.Severity = diag.Error
		f.Message += ", and calls the API"
	}
	f.Needs, f.AvailableAt = first.Key, first.place()
	w.add(s, f)
}

// callsAPI reports whether what a container runs is of use with rights only.
func callsAPI(c container) bool {
	words := append(fields(c.text()), c.repository())
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"kubectl", "oc", "helm", "k8s-wait-for"}, path.Base(word))
	})
}

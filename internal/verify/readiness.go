// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/health"
)

// readiness finds objects that a later wave takes for ready as soon as they exist,
// because nothing is known about the health of their kind.
func readiness(w *world) {
	seen := map[schema.GroupKind]bool{}
	for _, s := range w.stages {
		gk := s.group()
		if s.last || s.hook() || seen[gk] || !makesPods(gk) || health.Judged(gk) {
			continue
		}
		seen[gk] = true
		w.add(s, problem("no-readiness", diag.Info, "",
			fmt.Sprintf("nothing is known about the health of kind %s: the next wave starts when %s exists, unless it reports a condition", gk.String(), s.Key.Short()),
			"add a rule for the kind to argocd-cm, in Lua or CEL"))
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
)

// replicaFights finds numbers of replicas that both Git and an autoscaler set.
func replicaFights(w *world) {
	for _, s := range w.stages {
		scalers := w.scaledBy[s.Key]
		replicas, set := number(field.At(s.content(), "spec.replicas"))
		if len(scalers) == 0 || !set || w.ignores(s, "/spec/replicas") {
			continue
		}
		f := problem("replica-fight", diag.Warning, "spec.replicas",
			fmt.Sprintf("%s asks for %d replicas, and %s sets the same number: every sync scales back", s.Key.Short(), replicas, scalers[0].Key.Short()),
			"leave spec.replicas out, or list /spec/replicas under ignoreDifferences with RespectIgnoreDifferences=true")
		f.Needs = scalers[0].Key
		w.add(s, f)
	}
}

// ignores tells whether the Application leaves a field to others.
func (w *world) ignores(s *stage, pointer string) bool {
	return w.in.Ignores != nil && w.in.Ignores(s.Key, pointer)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// restarts finds configuration that changes while the Pods which read it at their
// start go on with the old one.
func restarts(w *world) {
	for _, s := range w.stages {
		if s.hook() || !longRunning(s) || w.reloaded(s) {
			continue
		}
		before, _ := w.before(s.Key)
		if before == nil || !sameTemplate(before.Object, s.content()) {
			continue
		}
		seen := map[manifest.Key]bool{}
		for _, ref := range w.references(s) {
			if seen[ref.Target] || !readAtStart(ref) {
				continue
			}
			seen[ref.Target] = true
			w.unnoticed(s, ref)
		}
	}
}

func (w *world) unnoticed(s *stage, ref manifest.Reference) {
	config, ok := w.first(ref.Target)
	was, _ := w.before(ref.Target)
	if !ok || was == nil || len(changedEntries(was, config.Object.Unstructured, ref.Keys)) == 0 {
		return
	}
	f := problem("config-without-restart", diag.Info, ref.Field,
		fmt.Sprintf("%s changes, and the Pods of %s read it only when they start: nothing restarts them", ref.Target.Short(), s.Key.Short()),
		"put a checksum of the configuration into spec.template.metadata.annotations, give it a name that changes with its content, or use Reloader")
	f.Needs = ref.Target
	w.add(s, f)
}

func longRunning(s *stage) bool {
	switch s.Key.Kind {
	case "Deployment", "StatefulSet", "DaemonSet", "Rollout":
		return true
	}
	return false
}

// readAtStart reports whether a container reads what a reference names once: as
// environment variables. Files in a volume are refreshed.
func readAtStart(ref manifest.Reference) bool {
	return (ref.Target.Kind == "ConfigMap" || ref.Target.Kind == "Secret") && (strings.Contains(ref.Field, ".env[") || strings.Contains(ref.Field, ".envFrom["))
}

// reloaded reports whether Reloader looks after a workload.
func (w *world) reloaded(s *stage) bool {
	for _, path := range []string{"metadata.annotations", "spec.template.metadata.annotations"} {
		for key := range field.Map(s.content(), path) {
			if strings.Contains(key, "reloader.stakater.com/") {
				return true
			}
		}
	}
	return false
}

// sameTemplate reports whether a release leaves the Pods of a workload alone.
func sameTemplate(before, desired map[string]any) bool {
	want := field.Map(desired, "spec.template")
	return want != nil && covers(field.At(before, "spec.template"), want)
}

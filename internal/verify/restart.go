// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// restarts finds configuration that changes while the Pods which read it at their
// start go on with the old one.
func restarts(w *world) {
	for _, s := range w.stages {
		if s.hook() || !longRunning(s) {
			continue
		}
		before, _ := w.before(s.Key)
		if before == nil || !sameTemplate(before.Object, s.content()) {
			continue
		}
		seen := map[manifest.Key]bool{}
		for _, ref := range w.references(s) {
			if seen[ref.Target] || !readAtStart(ref) || w.reloaded(s, ref.Target) {
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

// reloader begins the names of Reloader's annotations, except for those that are
// about one kind of configuration.
const reloader = "reloader.stakater.com/"

// reloaded reports whether Reloader restarts the Pods of a workload when a ConfigMap
// or a Secret changes.
func (w *world) reloaded(s *stage, config manifest.Key) bool {
	kind := strings.ToLower(config.Kind) + "." + reloader
	for _, path := range []string{"metadata.annotations", "spec.template.metadata.annotations"} {
		notes := field.Map(s.content(), path)
		says := func(name string) string { text, _ := notes[name].(string); return text }
		named := func(list string) bool {
			return slices.ContainsFunc(strings.Split(list, ","), func(name string) bool { return strings.TrimSpace(name) == config.Name })
		}
		switch {
		case named(says(strings.ToLower(config.Kind) + "s.exclude." + reloader + "reload")):
		case says(reloader+"auto") == "true", says(kind+"auto") == "true", named(says(kind + "reload")):
			return true
		case says(reloader+"search") == "true":
			if c, ok := w.first(config); ok && c.Object.GetAnnotations()[reloader+"match"] == "true" {
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

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// effectless finds annotations about the order of a rollout that mean nothing where
// they stand, or as they are written.
func effectless(w *world) {
	for _, s := range w.every() {
		w.onPods(s)
		notes := s.Object.GetAnnotations()
		if wave, ok := notes[manifest.AnnotationSyncWave]; ok {
			if _, err := strconv.Atoi(wave); err != nil {
				w.noEffect(s, "metadata.annotations["+manifest.AnnotationSyncWave+"]",
					fmt.Sprintf("the wave %q of %s is no whole number, and counts as %d", wave, s.Key.Short(), manifest.Wave(s.Object.Unstructured)), "write a whole number in quotes")
			}
		}
		w.policies(s, manifest.AnnotationHookDeletePolicy, "BeforeHookCreation", "HookSucceeded", "HookFailed")
		w.policies(s, manifest.AnnotationHelmHookDeletePolicy, "before-hook-creation", "hook-succeeded", "hook-failed")
		if _, written := notes[manifest.AnnotationHookDeletePolicy]; written && s.hook() && s.Object.GetName() == "" && slices.Equal(s.Policies, []manifest.DeletePolicy{manifest.BeforeHookCreation}) {
			w.noEffect(s, "metadata.annotations["+manifest.AnnotationHookDeletePolicy+"]",
				fmt.Sprintf("hooks that are named by generateName (%s) have another name each time: BeforeHookCreation finds none to delete, and they pile up", s.Object.GetGenerateName()),
				"use HookSucceeded, or give the hook a name")
		}
	}
	for _, n := range w.in.Plan.Ignored {
		if !strings.Contains(n.Reason, "names no known hook type") {
			continue
		}
		f := problem("annotation-without-effect", diag.Warning, "metadata.annotations", n.Key.Short()+" is never applied: "+n.Reason, "write one of PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete, Skip")
		f.Subject, f.At = n.Key, n.At
		w.found = append(w.found, f)
	}
}

// onPods finds them on the template of Pods, where nobody reads them. On the object
// too they do no harm there.
func (w *world) onPods(s *stage) {
	_, spec, ok := manifest.PodSpec(s.Object.Unstructured)
	if !ok || spec == "spec" {
		return
	}
	path := strings.TrimSuffix(spec, "spec") + "metadata.annotations"
	own := s.Object.GetAnnotations()
	for _, name := range []string{manifest.AnnotationSyncWave, manifest.AnnotationHook, manifest.AnnotationHookDeletePolicy, manifest.AnnotationSyncOptions, manifest.AnnotationHelmHook} {
		if _, there := field.Map(s.content(), path)[name]; there && own[name] == "" {
			w.noEffect(s, path+"["+name+"]",
				fmt.Sprintf("%s has %s on its Pods, where it has no effect", s.Key.Short(), name), "put it into metadata.annotations of the object itself")
		}
	}
}

// policies finds delete policies that do not exist.
func (w *world) policies(s *stage, annotation string, known ...string) {
	for item := range strings.SplitSeq(s.Object.GetAnnotations()[annotation], ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(known, item) {
			w.noEffect(s, "metadata.annotations["+annotation+"]",
				fmt.Sprintf("there is no delete policy %q (%s)", item, s.Key.Short()), "write one of "+strings.Join(known, ", "))
		}
	}
}

func (w *world) noEffect(s *stage, path, message, hint string) {
	w.add(s, problem("annotation-without-effect", diag.Warning, path, message, hint))
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// managedTTL finds Jobs that are deleted when they have ended and made again by
// the next sync.
func managedTTL(w *world) {
	for _, s := range w.stages {
		if s.Key.Kind != "Job" || s.Key.Group != "batch" || s.hook() {
			continue
		}
		if ttl, set := number(field.At(s.content(), "spec.ttlSecondsAfterFinished")); set {
			w.add(s, problem("ttl-on-managed-job", diag.Warning, "spec.ttlSecondsAfterFinished",
				fmt.Sprintf("%s is deleted %d s after it has ended, and self-heal runs it again, for ever", s.Key.Short(), ttl),
				"make the Job a hook, or leave ttlSecondsAfterFinished out"))
		}
	}
}

// volumes finds rolling updates whose new Pod cannot have the volume of the old.
func volumes(w *world) {
	for _, s := range w.stages {
		if s.Key.Kind != "Deployment" || !rolls(s) || !manifest.StartsPods(s.Object.Unstructured) {
			continue
		}
		for _, ref := range w.references(s) {
			claim, ok := w.first(ref.Target)
			if ref.Target.Kind != "PersistentVolumeClaim" || !ok {
				continue
			}
			modes := field.List(claim.content(), "spec.accessModes")
			if len(modes) != 1 || !has(modes, "ReadWriteOnce", "ReadWriteOncePod") {
				continue
			}
			f := problem("rwo-rolling-update", diag.Info, ref.Field,
				fmt.Sprintf("%s replaces its Pods one by one, and the new one may wait for %s (%s) which the old one holds", s.Key.Short(), ref.Target.Short(), modes[0]),
				"set spec.strategy.type: Recreate")
			if most, _ := w.mostReplicas(s); most > 1 || has(modes, "ReadWriteOncePod") {
				f.Severity = diag.Warning
			}
			f.Needs = ref.Target
			w.add(s, f)
			break
		}
	}
}

// claims tells of volume claims that a wave would wait for and that wait for a Pod of
// a later one themselves.
func claims(w *world) {
	for _, s := range w.stages {
		if s.Key.Group != "" || s.Key.Kind != "PersistentVolumeClaim" || !s.gated() || !w.bindsLate(field.Text(s.content(), "spec.storageClassName")) {
			continue
		}
		var user *stage
		for _, other := range w.stages {
			mentions := slices.ContainsFunc(w.references(other), func(ref manifest.Reference) bool { return ref.Target == s.Key && ref.AtStart })
			if mentions && (user == nil || other.at < user.at) {
				user = other
			}
		}
		if user == nil || user.at <= s.at {
			continue
		}
		f := problem("pvc-waits-for-consumer", diag.Info, "spec.storageClassName",
			fmt.Sprintf("%s of %s is bound when its first Pod starts, that of %s in %s: the wave does not wait for it", s.Key.Short(), s.place(), user.Key.Short(), user.place()),
			"put both into one wave if that reads better")
		f.Needs, f.AvailableAt = user.Key, user.place()
		w.add(s, f)
	}
}

// bindsLate reports whether a storage class is known to bind volumes when they are
// used.
func (w *world) bindsLate(class string) bool {
	if class == "" {
		return false
	}
	key := manifest.Key{Group: "storage.k8s.io", Kind: "StorageClass", Name: class}
	if rendered, ok := w.first(key); ok {
		return field.Text(rendered.content(), "volumeBindingMode") == "WaitForFirstConsumer"
	}
	live, _ := w.live(key)
	return live != nil && field.Text(live.Object, "volumeBindingMode") == "WaitForFirstConsumer"
}

// rolls reports whether a new Pod is started before an old one has ended.
func rolls(s *stage) bool {
	if field.Text(s.content(), "spec.strategy.type") == "Recreate" {
		return false
	}
	surge := fmt.Sprint(field.At(s.content(), "spec.strategy.rollingUpdate.maxSurge"))
	return surge != "0" && surge != "0%"
}

// childOrder finds Applications that are ordered by waves and yet roll their
// content out at once.
func childOrder(w *world) {
	children := map[int][]*stage{}
	for _, s := range w.stages {
		if s.Key.Group == "argoproj.io" && s.Key.Kind == "Application" {
			children[s.at] = append(children[s.at], s)
		}
	}
	if len(children) < 2 {
		return
	}
	for _, at := range slices.Sorted(maps.Keys(children)) {
		for _, s := range children[at] {
			options := manifest.ParseOptions(s.Object.GetAnnotations()[manifest.AnnotationWavetrainOptions])
			if !options.Has("ReleaseOrder=false") || field.Map(s.content(), "spec.syncPolicy.automated") == nil {
				continue
			}
			w.add(s, problem("unordered-content-change", diag.Warning, "metadata.annotations",
				fmt.Sprintf("%s is in %s and opted out of the release order: when its content changes it does not wait for the waves before", s.Key.Short(), s.place()),
				"remove ReleaseOrder=false from "+manifest.AnnotationWavetrainOptions))
		}
	}
}

// unstable tells of fields that differ between two renderings of one input.
func unstable(w *world) {
	for _, u := range w.in.Unstable {
		s, ok := w.first(u.Object)
		if !ok {
			continue
		}
		message := fmt.Sprintf("%s of %s is different in every rendering", u.Field, u.Object.Short())
		if u.Cause != "" {
			message += " (" + u.Cause + ")"
		}
		if u.GuardedBy != "" {
			message += ", and " + u.GuardedBy + " keeps it on a cluster"
		}
		f := problem("nondeterministic-render", diag.Warning, u.Field, message,
			"take the value from an ExternalSecret or a value file; on a cluster the live value is kept")
		f.Details = map[string]string{"cause": u.Cause, "guardedBy": u.GuardedBy}
		w.add(s, f)
	}
}

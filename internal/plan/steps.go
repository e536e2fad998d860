// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Reasons of the step that makes the destination namespace.
const (
	reasonCreateNamespace   = "CreateNamespace=true"
	reasonNamespaceMetadata = "managedNamespaceMetadata"
)

// skipsHooks reports whether this operation runs no hooks.
func (b *builder) skipsHooks() bool { return b.in.Options.SkipHooks || b.plan.Partial }

// place makes the steps of the rendered objects: one for an ordinary object, one
// per phase for a hook.
func (b *builder) place(items []item) {
	for _, it := range items {
		for _, phase := range it.class.DeletePhases {
			s := b.hookStep(it, phase)
			s.Precondition, s.ResourceVersion = "", ""
			b.deletion = append(b.deletion, s)
		}
		switch {
		case it.class.OnlyOnDelete():
		case !it.class.Hook:
			b.steps = append(b.steps, b.ordinaryStep(it))
		case b.plan.Partial:
			b.ignore(it, "hook: a partial operation runs no hooks")
		case b.in.Options.SkipHooks:
			b.ignore(it, "hook: this operation only applies (sync strategy apply)")
		default:
			for _, phase := range b.hookPhases(it) {
				b.steps = append(b.steps, b.hookStep(it, phase))
			}
		}
	}
}

func (b *builder) ordinaryStep(it item) *placed {
	obj := b.dress(it)
	s := b.newPlaced(it, manifest.Sync, &obj)
	switch live, ok := b.live(it); {
	case !ok:
		s.Action = Create
	case live.InSync:
		s.Action = None
	default:
		s.Action = Update
	}
	return s
}

func (b *builder) hookStep(it item, phase manifest.Phase) *placed {
	obj := b.dress(it)
	obj.Unstructured = obj.DeepCopy()
	s := b.newPlaced(it, phase, &obj)
	s.Action = Hook
	s.HookType = phase
	s.Policies = manifest.DeletePolicies(it.obj.Unstructured)
	return s
}

func (b *builder) newPlaced(it item, phase manifest.Phase, obj *manifest.Object) *placed {
	s := &placed{
		Step:  Step{Key: it.key, Version: versionOf(obj.Unstructured), Object: obj, Precondition: "absent"},
		phase: phase, wave: it.wave, rank: kindRank(it.key.Kind),
	}
	if live, ok := b.live(it); ok {
		s.Precondition = "uid:" + string(live.GetUID())
		s.ResourceVersion = live.GetResourceVersion()
	}
	if it.key.Name == "" {
		s.digest = manifest.Digest([]manifest.Object{*obj})
	}
	return s
}

// live returns the live object of an item.
func (b *builder) live(it item) (Live, bool) {
	if it.key.Name == "" {
		return Live{}, false
	}
	live, ok := b.in.Live[it.key]
	return live, ok
}

func versionOf(u *unstructured.Unstructured) string {
	apiVersion := u.GetAPIVersion()
	return apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
}

// hookPhases returns the phases in which a hook runs in this operation. All of
// its own, unless Helm's life cycle is wanted: then install hooks run at the
// first sync and upgrade hooks at the others.
func (b *builder) hookPhases(it item) []manifest.Phase {
	if !b.in.Options.HelmLifecycle {
		return it.class.Phases
	}
	event, reason := "upgrade", "install-only hook, not the first sync"
	if b.in.Options.FirstSync {
		event, reason = "install", "upgrade-only hook, first sync"
	}
	wanted := map[manifest.Phase]bool{}
	for _, t := range it.class.Types {
		switch t {
		case "pre-" + event:
			wanted[manifest.PreSync] = true
		case "post-" + event:
			wanted[manifest.PostSync] = true
		case "pre-install", "pre-upgrade", "post-install", "post-upgrade":
		default:
			wanted[manifest.Phase(t)] = true
		}
	}
	var phases []manifest.Phase
	for _, phase := range it.class.Phases {
		if wanted[phase] {
			phases = append(phases, phase)
		}
	}
	if len(phases) == 0 {
		b.ignore(it, "skipped: "+reason)
	}
	return phases
}

// createNamespace adds the destination namespace when the application asks for
// it and no manifest is that Namespace. It belongs to nobody's inventory and so
// carries no tracking id.
func (b *builder) createNamespace() {
	opts, name := b.in.Options, b.in.Namespace
	key := manifest.Key{Kind: "Namespace", Name: name}
	if !opts.CreateNamespace || name == "" {
		return
	}
	for _, s := range b.steps {
		if s.Key == key {
			return
		}
	}
	live, exists := b.in.Live[key]
	managed := opts.NamespaceLabels != nil || opts.NamespaceAnnotations != nil
	handover := exists && !live.InSync && b.tracks(live.Object) && b.handsOver(key)
	if exists && !managed && !handover {
		return
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	u.SetName(name)
	if len(opts.NamespaceLabels) > 0 {
		u.SetLabels(opts.NamespaceLabels)
	}
	if len(opts.NamespaceAnnotations) > 0 {
		u.SetAnnotations(opts.NamespaceAnnotations)
	}
	s := &placed{
		Step: Step{
			Action: Create, Key: key, Version: "v1", Object: &manifest.Object{Unstructured: u},
			Precondition: "absent", Reason: reasonCreateNamespace, Untracked: true,
		},
		phase: manifest.PreSync, rank: kindRank(key.Kind),
	}
	if exists {
		s.Action, s.Reason = Update, reasonNamespaceMetadata
		if live.InSync {
			s.Action = None
		}
		s.Precondition, s.ResourceVersion = "uid:"+string(live.GetUID()), live.GetResourceVersion()
	}
	if handover {
		s.Reason = reasonHandover
		b.findHandover(key)
	}
	b.steps = append(b.steps, s)
}

// tracks reports whether a live object is marked as the application's.
func (b *builder) tracks(live manifest.Object) bool {
	id, err := manifest.ParseTrackingID(live.GetAnnotations()[manifest.AnnotationTrackingID])
	if b.in.Tracking.OfOther(live.Unstructured) {
		return false
	}
	return err == nil && id.App == b.in.App || b.in.Tracking.Method == manifest.TrackByLabel && b.in.Tracking.Labelled(live.Unstructured, b.in.App)
}

func (b *builder) findHandover(namespace manifest.Key) {
	b.find(diag.Diagnostic{
		Code: CodeNamespaceHandover, Severity: diag.Info, Subject: namespace,
		Message: namespace.Short() + " is no longer rendered and is kept, because the application creates its destination namespace itself",
	})
}

// Named returns the object of a step under the name generated for it, with the
// tracking id that goes with that name.
func (p *Plan) Named(s Step, name string) manifest.Object {
	u := s.Object.DeepCopy()
	u.SetName(name)
	key := s.Key
	key.Name = name
	_, tracked := u.GetAnnotations()[manifest.AnnotationTrackingID]
	if metadata, ok := u.Object["metadata"].(map[string]any); ok && tracked {
		track(metadata, manifest.FormatTrackingID(p.App, p.Namespace, key))
	}
	return manifest.Object{Unstructured: u, Provenance: s.Object.Provenance}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Reasons of steps that do not prune.
const (
	reasonPruneOff     = "ignored (requires pruning)"
	reasonPruneRefused = "ignored (no prune)"
	reasonConfirm      = "waits for confirmation (Prune=confirm)"
	reasonGuard        = "waits for confirmation (prune guard)"
	reasonHandover     = "kept: CreateNamespace=true looks after it"
	reasonDefinition   = "kept (PruneDefinitions=false)"
)

// prune adds the steps for live objects that are ours and no longer rendered.
// Waves of prunes run the other way round, PruneLast after everything else of
// Sync.
func (b *builder) prune() {
	var prunes []*placed
	seen := map[manifest.Key]bool{}
	for i := range b.in.Prune {
		live := &b.in.Prune[i]
		key := live.Key()
		if b.rendered[key] || seen[key] {
			continue
		}
		seen[key] = true
		if class := manifest.Classify(live.Unstructured); class.Hook || class.Skip {
			b.plan.Ignored = append(b.plan.Ignored, Note{Key: key, Reason: "live hook or skipped object: never pruned"})
			continue
		}
		s := &placed{
			Step: Step{
				Key: key, Version: versionOf(live.Unstructured), Object: &live.Object,
				Precondition: "uid:" + string(live.GetUID()), ResourceVersion: live.GetResourceVersion(),
			},
			phase: manifest.Sync, wave: manifest.Wave(live.Unstructured), rank: kindRank(key.Kind),
		}
		b.decidePrune(s)
		b.guard(s, live.Dependants)
		yields := inventory.Holdable(key.GroupKind()) && !b.prunesHeld(s)
		s.Yields = yields && s.Action == Prune
		if live.Holder != (manifest.Key{}) && yields && (s.Action == Prune || s.Confirm) {
			s.Action, s.Confirm, s.Risk, s.Deferred = SkipPrune, false, "", true
			s.Reason = "deferred: still used by " + live.Holder.Short()
		}
		prunes = append(prunes, s)
	}
	b.guardAll(prunes)
	mirrorWaves(prunes)
	b.steps = append(b.steps, prunes...)
	b.pruneLast(prunes)
}

// unproven reports objects that carry our label, and has those pruned that
// somebody asks for.
func (b *builder) unproven() {
	for _, live := range b.in.Unproven {
		key := live.Key()
		if b.plan.Partial && b.in.Options.Prune && b.selected(key) {
			b.in.Prune = append(slices.Clip(b.in.Prune), live)
			continue
		}
		b.find(diag.Diagnostic{
			Code: CodeExtraneousNotOurs, Severity: diag.Warning, Subject: key, Field: "metadata.labels",
			Message: fmt.Sprintf("%s carries the label %s=%s, but the application neither renders it nor has a record of having made it: extraneous by label, not made by us; it stays",
				key.Short(), b.in.Tracking.Label(), b.in.App),
			Hint: "take the label away, or have it pruned by a sync with prune that is limited to exactly this object",
		})
	}
}

// prunesHeld reports whether an object is pruned although something uses it.
func (b *builder) prunesHeld(s *placed) bool {
	return b.in.Options.PruneHeld || manifest.SyncOptions(s.Object.Unstructured).Has("DeferPrune=false")
}

// handsOver reports whether the namespace stays because the application makes its
// destination namespace itself.
func (b *builder) handsOver(namespace manifest.Key) bool {
	opts := b.in.Options
	return isNamespace(namespace) && namespace.Name == b.in.Namespace && opts.CreateNamespace && !opts.PruneHandedOver
}

// decidePrune says whether the object goes. What it says itself wins over what
// the application says.
func (b *builder) decidePrune(s *placed) {
	opts, own := b.in.Options, manifest.SyncOptions(s.Object.Unstructured)
	confirm, refuse := opts.PruneConfirm, opts.PruneDisabled
	switch {
	case own.Has("Prune=false"):
		confirm, refuse = false, true
	case own.Has("Prune=confirm"):
		confirm, refuse = true, false
	case own.Has("Prune=true"):
		confirm, refuse = false, false
	}
	s.Action = SkipPrune
	switch {
	case b.handsOver(s.Key):
		s.Reason = reasonHandover
		b.findHandover(s.Key)
	case opts.KeepDefinitions && isDefinition(s.Object.Unstructured):
		s.Reason = reasonDefinition
	case !opts.Prune:
		s.Reason = reasonPruneOff
	case refuse:
		s.Reason = reasonPruneRefused
	case confirm:
		s.Reason, s.Confirm = reasonConfirm, true
	default:
		s.Action = Prune
	}
}

// Bounds of the prune guard: at least half of an application that is not small.
const (
	guardedSize  = 10
	guardedShare = 2
)

// guard has the prune of an object confirmed with which more would be lost than
// the object.
func (b *builder) guard(s *placed, dependants string) {
	if s.Action != Prune || !b.guards(s) {
		return
	}
	switch {
	case isNamespace(s.Key):
		s.confirm("everything in the namespace would be lost")
	case s.Key.Group == "" && s.Key.Kind == "PersistentVolumeClaim":
		s.confirm("the data of the claim may be lost")
	case dependants != "":
		s.confirm(dependants + " would be lost")
	}
}

// guardAll has all prunes confirmed if they take at least half of the
// application.
func (b *builder) guardAll(prunes []*placed) {
	gone, all := 0, len(prunes)
	for _, s := range prunes {
		if s.Action == Prune || s.Confirm || s.Deferred && s.Yields {
			gone++
		}
	}
	for _, s := range b.steps {
		if s.Action == None || s.Action == Update {
			all++
		}
	}
	if all < guardedSize || gone*guardedShare < all {
		return
	}
	for _, s := range prunes {
		if !b.guards(s) {
			continue
		}
		if s.Deferred {
			// It waits for its own operation, which asks for itself.
			s.Yields = false
		}
		if s.Action == Prune {
			s.confirm(fmt.Sprintf("%d of %d objects would be deleted", gone, all))
		}
	}
}

// guards reports whether the guard is on for an object.
func (b *builder) guards(s *placed) bool {
	return b.in.Options.PruneGuard && !manifest.SyncOptions(s.Object.Unstructured).Has("PruneGuard=false")
}

// confirm makes a prune wait for somebody's agreement.
func (s *placed) confirm(why string) {
	s.Action, s.Confirm, s.Reason, s.Risk = SkipPrune, true, reasonGuard, why
}

// mirrorWaves exchanges the waves of prunes: the highest with the lowest and so
// on. Waves of other steps do not count.
func mirrorWaves(prunes []*placed) {
	waves := make([]int, 0, len(prunes))
	for _, s := range prunes {
		waves = append(waves, s.wave)
	}
	slices.Sort(waves)
	waves = slices.Compact(waves)
	for _, s := range prunes {
		i, _ := slices.BinarySearch(waves, s.wave)
		s.wave = waves[len(waves)-1-i]
	}
}

// pruneLast moves prunes that ask for it behind the last wave of Sync, their own
// included.
func (b *builder) pruneLast(prunes []*placed) {
	last := 0
	for _, s := range b.steps {
		if s.phase == manifest.Sync {
			last = max(last, s.wave)
		}
	}
	if last < math.MaxInt {
		last++
	}
	for _, s := range prunes {
		if b.in.Options.PruneLast || manifest.SyncOptions(s.Object.Unstructured).Has("PruneLast=true") {
			s.wave = last
		}
	}
}

func isDefinition(u *unstructured.Unstructured) bool {
	_, ok := manifest.DefinesKind(u)
	return ok
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// dependencies finds objects that run before what they cannot do without.
func dependencies(w *world) {
	for _, s := range slices.Concat(w.stages, w.deletion) {
		seen := map[manifest.Key]bool{}
		for _, ref := range w.references(s) {
			if !ref.Blocks(s.Object.Unstructured) || seen[ref.Target] {
				continue
			}
			seen[ref.Target] = true
			if s.phase.Rank() >= manifest.PreDelete.Rank() {
				w.teardownDependency(s, ref)
				continue
			}
			w.dependency(s, ref)
		}
	}
}

// dependency judges one reference of a step of the rollout.
func (w *world) dependency(s *stage, ref manifest.Reference) {
	providers := w.providers[ref.Target]
	if len(providers) == 0 {
		w.nobodyRenders(s, ref)
		return
	}
	w.missingKeys(s, ref, providers)
	by := earliest(s, providers)
	switch {
	case by.stage == s:
	case by.at < s.at:
		w.hookOwned(s, ref, providers)
	case by.at == s.at:
		if !s.hook() && (by.rank > s.rank || slices.Contains(s.After, by.ID)) {
			w.sameWave(s, ref, by)
		}
		w.hookOwned(s, ref, providers)
	default:
		w.tooEarly(s, ref, by)
	}
}

// earliest returns the first provider, if possible another step than s.
func earliest(s *stage, providers []provider) provider {
	best := providers[0]
	for _, p := range providers[1:] {
		if best.stage == s || p.stage != s && p.at < best.at {
			best = p
		}
	}
	return best
}

// tooEarly judges a reference to what only a later group brings.
func (w *world) tooEarly(s *stage, ref manifest.Reference, by provider) {
	if before, known := w.before(ref.Target); known && before != nil {
		w.stale(s, ref, by, before)
		return
	}
	f := problem("missing-dependency", diag.Error, ref.Field, "", "")
	f.Needs, f.AvailableAt = ref.Target, by.place()
	what := ref.Target.Short()
	if len(ref.Keys) > 0 {
		what += " (" + strings.Join(ref.Keys, ", ") + ")"
	}
	f.Message = fmt.Sprintf("%s runs in %s and needs %s, which %s", s.Key.Short(), s.place(), what, comes(by))
	f.Hint = orderHint(s, by)
	if isStore(ref.Target) {
		f.Code = "store-missing"
	}
	switch {
	case w.elsewhere(ref.Target) != "":
		f.Severity = diag.Info
		f.Message += "; application " + w.elsewhere(ref.Target) + " renders it too"
	case w.declared(ref.Target):
		return
	case upgradeOnly(s):
		f.Message += "; it is an upgrade-only hook of Helm, which runs at the first sync too"
		f.Hint = "set the annotation wavetrain.dev/helm-lifecycle: \"true\" on the Application to leave it out of the first sync, or " + f.Hint
	}
	w.add(s, f)
}

func (w *world) elsewhere(k manifest.Key) string {
	if w.in.Elsewhere == nil {
		return ""
	}
	return w.in.Elsewhere(k)
}

// comes says when an object is there.
func comes(by provider) string {
	if by.made {
		return by.Key.Short() + " of " + by.place() + " brings about"
	}
	return "only " + by.place() + " creates"
}

// orderHint says how the order could be put right.
func orderHint(s *stage, by provider) string {
	target := by.Key.Short()
	if s.phase == by.phase {
		return fmt.Sprintf("give %s a lower sync-wave than %d, or %s a higher one than %d", target, s.wave, s.Key.Short(), by.wave)
	}
	hint := fmt.Sprintf("waves never cross phases: make %s a %s hook with a lower wave than %d", target, s.phase, s.wave)
	if s.phase == manifest.PreSync {
		hint += fmt.Sprintf(", or make %s a Sync hook in a wave after %d", s.Key.Short(), by.wave)
	}
	return hint
}

// upgradeOnly reports whether an object is a hook that Helm does not run at an
// installation.
func upgradeOnly(s *stage) bool {
	if !s.hook() || s.Object.GetAnnotations()[manifest.AnnotationHook] != "" {
		return false
	}
	types := s.Object.GetAnnotations()[manifest.AnnotationHelmHook]
	return strings.Contains(types, "upgrade") && !strings.Contains(types, "install")
}

// before returns an object as it is before the rollout, from the cluster or else
// from the release before.
func (w *world) before(k manifest.Key) (u *unstructured.Unstructured, known bool) {
	if u, known := w.live(k); known {
		return u, true
	}
	if w.in.Base == nil {
		return nil, false
	}
	if base, ok := w.in.Base[k]; ok {
		return base.Unstructured, true
	}
	return nil, true
}

// stale judges a hook that reads configuration which this rollout changes later.
func (w *world) stale(s *stage, ref manifest.Reference, by provider, before *unstructured.Unstructured) {
	if !s.hook() || by.made {
		return
	}
	changed := changedEntries(before, by.Object.Unstructured, ref.Keys)
	if len(changed) == 0 {
		return
	}
	f := problem("stale-dependency", diag.Warning, ref.Field,
		fmt.Sprintf("%s runs in %s with the %s of the release before: %s changes it (%s)",
			s.Key.Short(), s.place(), ref.Target.Short(), by.place(), strings.Join(changed, ", ")),
		orderHint(s, by))
	f.Needs, f.AvailableAt = ref.Target, by.place()
	f.Details = entryDetails(before, by.Object.Unstructured, changed)
	w.add(s, f)
}

// changedEntries returns the keys of a ConfigMap or Secret that differ, of those
// given or of all.
func changedEntries(a, b *unstructured.Unstructured, keys []string) []string {
	one, other := entries(a), entries(b)
	if one == nil || other == nil {
		return nil
	}
	var changed []string
	for key := range union(one, other) {
		if one[key] != other[key] && (len(keys) == 0 || slices.Contains(keys, key)) {
			changed = append(changed, key)
		}
	}
	slices.Sort(changed)
	return changed
}

func union(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// entries returns the decoded entries of a ConfigMap or Secret.
func entries(u *unstructured.Unstructured) map[string]string {
	if dataKeys(u) == nil {
		return nil
	}
	list := map[string]string{}
	for key, v := range field.Map(u.Object, "binaryData") {
		list[key] = fmt.Sprint(v)
	}
	for key, v := range field.Map(u.Object, "data") {
		list[key] = fmt.Sprint(v)
		if u.GetKind() == "Secret" {
			list[key] = decoded(list[key])
		}
	}
	for key, v := range field.Map(u.Object, "stringData") {
		list[key] = fmt.Sprint(v)
	}
	return list
}

// entryDetails shows what a changed entry was and becomes; of Secrets nothing but
// the names.
func entryDetails(before, desired *unstructured.Unstructured, changed []string) map[string]string {
	details := map[string]string{"changed": strings.Join(changed, ",")}
	if desired.GetKind() != "ConfigMap" || len(changed) != 1 {
		return details
	}
	details["live"], details["desired"] = entries(before)[changed[0]], entries(desired)[changed[0]]
	return details
}

// hookOwned judges an ordinary workload that lives on what a hook deletes.
func (w *world) hookOwned(s *stage, ref manifest.Reference, providers []provider) {
	if s.hook() || !ref.AtStart {
		return
	}
	for _, p := range providers {
		if !p.hook() || p.made {
			return
		}
	}
	owner := providers[0]
	policies := owner.Policies
	var when string
	switch {
	case slices.Contains(policies, manifest.HookSucceeded):
		when = "is deleted when the hook has succeeded"
	case len(policies) == 0 || slices.Contains(policies, manifest.BeforeHookCreation):
		when = "is deleted and made again by every sync"
	default:
		return
	}
	f := problem("hook-owned-dependency", diag.Warning, ref.Field,
		fmt.Sprintf("%s needs %s, which is a %s hook and %s: a Pod that starts meanwhile fails", s.Key.Short(), ref.Target.Short(), owner.HookType, when),
		"make "+ref.Target.Short()+" an ordinary object in a wave before "+s.Key.Short()+", and give the hook that needs it early a copy of its own")
	f.Needs, f.AvailableAt = ref.Target, owner.place()
	w.add(s, f)
}

func (w *world) sameWave(s *stage, ref manifest.Reference, by provider) {
	message := fmt.Sprintf("%s and %s, which it needs, are in one wave, and its kind comes first there", s.Key.Short(), ref.Target.Short())
	if slices.Contains(s.After, by.ID) {
		message = fmt.Sprintf("%s needs %s, which %s of the same wave brings about: producers go first", s.Key.Short(), ref.Target.Short(), by.Key.Short())
	}
	f := problem("same-wave-dependency", diag.Info, ref.Field, message,
		"give "+by.Key.Short()+" a lower wave if the wait for it should show")
	f.Needs, f.AvailableAt = ref.Target, by.place()
	w.add(s, f)
}

// missingKeys judges a reference to an entry that the rendered object has not.
func (w *world) missingKeys(s *stage, ref manifest.Reference, providers []provider) {
	var missing []string
	for _, key := range ref.Keys {
		if !slices.ContainsFunc(providers, func(p provider) bool { return p.keys == nil || p.keys[key] }) {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return
	}
	have := slices.Sorted(maps.Keys(providers[0].keys))
	f := problem("missing-key", diag.Warning, ref.Field,
		fmt.Sprintf("%s uses the entry %s of %s, which has %s", s.Key.Short(), strings.Join(missing, ", "), ref.Target.Short(), some(have)),
		"add the entry, or name one that is there")
	f.Needs = ref.Target
	w.add(s, f)
}

// nobodyRenders judges a reference to what is not in the rendered set.
func (w *world) nobodyRenders(s *stage, ref manifest.Reference) {
	live, known := w.live(ref.Target)
	if live != nil || w.declared(ref.Target) || everyNamespaceHas(ref.Target) {
		return
	}
	if isStore(ref.Target) && w.strayStore(s, ref, known) {
		return
	}
	message := fmt.Sprintf("%s needs %s, which is not rendered", s.Key.Short(), ref.Target.Short())
	hint := "if it is made outside of this repository, say so with the annotation wavetrain.dev/needs, or under external in .wavetrain.yaml"
	switch other := w.elsewhere(ref.Target); {
	case other != "":
		message += ": application " + other + " brings it"
		hint = ""
	case known:
		message += " and not in the cluster either: it is taken to be made at run time"
	default:
		message += ": it is taken to be there, or to be made at run time"
	}
	f := problem("dependency-not-rendered", diag.Info, ref.Field, message, hint)
	f.Needs = ref.Target
	w.add(s, f)
}

// everyNamespaceHas reports whether every namespace has the object by itself.
func everyNamespaceHas(k manifest.Key) bool {
	return k.Kind == "ConfigMap" && k.Group == "" && k.Name == "kube-root-ca.crt"
}

func isStore(k manifest.Key) bool {
	return k.Group == "external-secrets.io" && (k.Kind == "SecretStore" || k.Kind == "ClusterSecretStore")
}

// strayStore judges a store that is not where it is looked for.
func (w *world) strayStore(s *stage, ref manifest.Reference, known bool) bool {
	hint := "a SecretStore serves its own namespace only: put one there, or use a ClusterSecretStore"
	for _, other := range w.stages {
		if other.Key.Kind == ref.Target.Kind && other.Key.Name == ref.Target.Name && other.Key.Namespace != ref.Target.Namespace {
			f := problem("store-missing", diag.Warning, ref.Field,
				fmt.Sprintf("%s names %s, which is rendered in namespace %s and not in %s", s.Key.Short(), ref.Target.Short(), other.Key.Namespace, ref.Target.Namespace), hint)
			f.Needs = ref.Target
			w.add(s, f)
			return true
		}
	}
	if !known {
		return false
	}
	f := problem("store-missing", diag.Warning, ref.Field,
		fmt.Sprintf("%s names %s, which is neither rendered nor in the cluster", s.Key.Short(), ref.Target.Short()),
		"create the store in a wave before, or correct spec.secretStoreRef")
	f.Needs = ref.Target
	w.add(s, f)
	return true
}

// teardownDependency judges a delete hook that needs what the deletion has
// removed by then.
func (w *world) teardownDependency(s *stage, ref manifest.Reference) {
	providers := w.providers[ref.Target]
	if len(providers) == 0 || s.phase != manifest.PostDelete {
		return
	}
	for _, other := range w.deletion {
		if other.Key == ref.Target && other.at <= s.at {
			return
		}
	}
	by := providers[0]
	if by.hook() && !by.made || keptOnDeletion(by.Object.Unstructured) {
		return
	}
	f := problem("teardown-deadlock", diag.Warning, ref.Field,
		fmt.Sprintf("%s runs when the Application's objects are gone, and needs %s, which is one of them", s.Key.Short(), ref.Target.Short()),
		"make it a PreDelete hook, or give it an object of its own that is a PostDelete hook in a lower wave")
	f.Needs, f.AvailableAt = ref.Target, by.place()
	w.add(s, f)
}

func keptOnDeletion(u *unstructured.Unstructured) bool {
	return manifest.SyncOptions(u).Has("Delete=false") || u.GetAnnotations()[manifest.AnnotationHelmResourcePolicy] == "keep"
}

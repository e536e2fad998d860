// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// prunes finds deletions that hurt.
func prunes(w *world) {
	for _, s := range w.prunes {
		if s.Confirm {
			w.confirmation(s)
		}
		if s.Action == plan.Prune || s.Deferred {
			w.stillReferenced(s)
		}
	}
	w.dropped()
}

// confirmation tells of a prune that waits for somebody.
func (w *world) confirmation(s *stage) {
	f := problem("prune-needs-confirmation", diag.Warning, "",
		s.Key.Short()+" is not in Git any more, and is deleted only when somebody confirms it", "confirm with wavetrain app confirm-deletion, or keep the object in Git")
	if s.Risk != "" {
		f.Message += ": " + s.Risk
	}
	if s.Key.Kind == "CustomResourceDefinition" && s.Risk != "" {
		f.Code, f.Severity = "prune-blast", diag.Error
	}
	w.add(s, f)
}

// stillReferenced judges the prune of configuration that Pods of the release
// before use, in a group in which they may still run.
func (w *world) stillReferenced(s *stage) {
	if s.Key.Group != "" || s.Key.Kind != "ConfigMap" && s.Key.Kind != "Secret" {
		return
	}
	for _, user := range w.stages {
		if user.at < s.at || !longRunning(user) {
			continue
		}
		before, _ := w.before(user.Key)
		if before == nil {
			continue
		}
		for _, ref := range manifest.References(before) {
			if ref.Target != s.Key || ref.Optional {
				continue
			}
			f := problem("prune-still-referenced", diag.Warning, ref.Field,
				fmt.Sprintf("%s is pruned in %s, while Pods of %s from the release before still use it", s.Key.Short(), s.place(), user.Key.Short()),
				"set the sync option PruneLast=true on the object or the Application")
			f.Needs = user.Key
			if s.Deferred {
				f.Message += "; the prune is put off until they have ended"
			}
			w.add(s, f)
			return
		}
	}
}

// dropped compares with the release before where there is no cluster to plan
// prunes from.
func (w *world) dropped() {
	if w.in.Base == nil || w.in.Live != nil {
		return
	}
	var gone []manifest.Key
	for k := range w.in.Base {
		if _, ok := w.first(k); !ok && !w.rendered(k) {
			gone = append(gone, k)
		}
	}
	slices.SortFunc(gone, manifest.Key.Compare)
	for _, k := range gone {
		if !stateful(k) {
			continue
		}
		base := w.in.Base[k]
		f := problem("prune-blast", diag.Warning, "", k.Short()+" is dropped, and what it holds is lost with it", "keep it, or mark it Prune=false before it leaves Git")
		f.Subject, f.At = k, base.Provenance
		w.found = append(w.found, f)
	}
	const many = 10
	if len(w.in.Base) < many || 2*len(gone) < len(w.in.Base) {
		return
	}
	names := make([]string, len(gone))
	for i, k := range gone {
		names[i] = k.Short()
	}
	w.found = append(w.found, problem("prune-blast", diag.Warning, "",
		fmt.Sprintf("%d of %d objects are dropped: %s", len(gone), len(w.in.Base), some(names)), "check that the right directory and value files are rendered"))
}

// rendered reports whether an object is in the rendered set at all, as a delete
// or SyncFail hook or ignored.
func (w *world) rendered(k manifest.Key) bool {
	has := func(s *stage) bool { return s.Key == k }
	return slices.ContainsFunc(w.deletion, has) || slices.ContainsFunc(w.fails, has) ||
		slices.ContainsFunc(w.in.Plan.Ignored, func(n plan.Note) bool { return n.Key == k })
}

// stateful reports whether data is lost with an object of a kind.
func stateful(k manifest.Key) bool {
	switch k.Kind {
	case "Namespace", "PersistentVolumeClaim", "CustomResourceDefinition", "StatefulSet":
		return true
	case "Cluster":
		return k.Group == "postgresql.cnpg.io"
	case "Kafka":
		return k.Group == "kafka.strimzi.io"
	}
	return false
}

// teardown finds objects that a finalizer holds whose controller the deletion of
// the application takes away no later.
func teardown(w *world) {
	for _, s := range w.stages {
		finalizers := s.Object.GetFinalizers()
		if live, _ := w.live(s.Key); live != nil {
			finalizers = append(finalizers, live.GetFinalizers()...)
		}
		finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return !foreignFinalizer(f) })
		if len(finalizers) == 0 || !makesPods(s.group()) {
			continue
		}
		controllers := w.controllersOf(s)
		// Deletion goes from the last wave to the first.
		if i := slices.IndexFunc(controllers, func(c *stage) bool { return c.at >= s.at }); i >= 0 {
			c := controllers[i]
			f := problem("teardown-deadlock", diag.Warning, "metadata.finalizers",
				fmt.Sprintf("%s is held by finalizer %s, and %s, which would remove it, is deleted no later with the application", s.Key.Short(), finalizers[0], c.Key.Short()),
				"give "+s.Key.Short()+" a higher wave than "+c.Key.Short()+", so that it is deleted first")
			f.Needs, f.AvailableAt = c.Key, c.place()
			w.add(s, f)
		}
	}
}

func foreignFinalizer(name string) bool {
	switch name {
	case manifest.HookFinalizer, manifest.ResourcesFinalizer, "foregroundDeletion", "orphan", "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection":
		return false
	}
	return true
}

// controllersOf returns the workloads that have the right to change objects of a
// kind that the application defines itself.
func (w *world) controllersOf(s *stage) []*stage {
	if w.defined[s.group()] == nil {
		return nil
	}
	accounts := w.accountsFor(s.Key.Group, plural(s.Key.Kind))
	var found []*stage
	for _, c := range w.stages {
		if !longRunning(c) {
			continue
		}
		for _, ref := range w.references(c) {
			if accounts[ref.Target] {
				found = append(found, c)
			}
		}
	}
	return found
}

// accountsFor returns the ServiceAccounts with the right to change a resource.
func (w *world) accountsFor(group, resource string) map[manifest.Key]bool {
	accounts := map[manifest.Key]bool{}
	for _, binding := range w.stages {
		if binding.Key.Kind != "RoleBinding" && binding.Key.Kind != "ClusterRoleBinding" {
			continue
		}
		refs := w.references(binding)
		if !slices.ContainsFunc(refs, func(r manifest.Reference) bool { return w.roleChanges(r.Target, group, resource) }) {
			continue
		}
		for _, r := range refs {
			if r.Target.Kind == "ServiceAccount" {
				accounts[r.Target] = true
			}
		}
	}
	return accounts
}

func (w *world) roleChanges(role manifest.Key, group, resource string) bool {
	s, ok := w.first(role)
	return ok && slices.ContainsFunc(field.List(s.content(), "rules"), func(rule any) bool {
		return has(field.List(rule, "apiGroups"), group, "*") && has(field.List(rule, "resources"), resource, "*") &&
			has(field.List(rule, "verbs"), "update", "patch", "*")
	})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Ownership answers which manager owns a field of a live object.
type Ownership struct {
	entries []ownedSet
}

type ownedSet struct {
	metav1.ManagedFieldsEntry
	set *fieldpath.Set
}

// ReadOwnership reads the managedFields of a live object.
func ReadOwnership(entries []metav1.ManagedFieldsEntry) (Ownership, error) {
	var o Ownership
	for _, e := range entries {
		if e.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
			return Ownership{}, fmt.Errorf("read managed fields of %s: %w", e.Manager, err)
		}
		o.entries = append(o.entries, ownedSet{e, set})
	}
	return o, nil
}

// applied returns the fields that manager owns by server-side apply on the
// object itself, and the API version in which they are written; nil if there is
// no such entry.
func (o Ownership) applied(manager string) (set *fieldpath.Set, apiVersion string) {
	for _, e := range o.entries {
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			return e.set, e.APIVersion
		}
	}
	return nil, ""
}

// SupersededOn tells which entries of an object are taken over before manager
// applies it: those of tools that Wavetrain replaces and, of an object that was
// applied client-side, those of the manager's own updates.
func SupersededOn(live *unstructured.Unstructured, manager string) func(metav1.ManagedFieldsEntry) bool {
	_, clientSide := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	return func(e metav1.ManagedFieldsEntry) bool {
		return Superseded(e) || clientSide && e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == ""
	}
}

// takeOver removes from predicted what disappears because superseded entries are
// taken over: what only they own and desired does not set. It returns their
// managers.
func (o Ownership) takeOver(predicted, desired map[string]any, superseded func(metav1.ManagedFieldsEntry) bool, own string) (managers []string) {
	// What tools wrote for themselves is no difference to Git.
	others := fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata", "annotations"),
		fieldpath.MakePathOrDie("metadata", "annotations", corev1.LastAppliedConfigAnnotation),
		fieldpath.MakePathOrDie("metadata", "labels", "app.kubernetes.io/instance"),
	)
	for _, e := range o.entries {
		if !superseded(e.ManagedFieldsEntry) && e.Manager != own {
			others = others.Union(e.set)
		}
	}
	for _, e := range o.entries {
		if superseded(e.ManagedFieldsEntry) {
			managers = append(managers, e.Manager)
			dropUnset(e.ManagedFieldsEntry, predicted, desired, e.set.Difference(others))
		}
	}
	return managers
}

// names reports whether one of several managers owns fields.
func (o Ownership) names(managers []string) bool {
	return slices.ContainsFunc(o.entries, func(e ownedSet) bool { return slices.Contains(managers, e.Manager) })
}

// superseded reports whether a tool that Wavetrain replaces owns fields.
func (o Ownership) superseded() bool {
	return slices.ContainsFunc(o.entries, func(e ownedSet) bool { return Superseded(e.ManagedFieldsEntry) })
}

// Superseded reports whether a managedFields entry belongs to a tool whose place
// Wavetrain takes: its fields become Wavetrain's before the first apply, so that
// a field dropped from Git disappears. Entries of a subresource (status, scale)
// are never taken over.
func Superseded(e metav1.ManagedFieldsEntry) bool {
	if e.Subresource != "" {
		return false
	}
	switch e.Manager {
	case "argocd-controller", "helm", "Helm", "kustomize-controller", "helm-controller":
		return true
	case "kubectl-client-side-apply", "kubectl":
		// What somebody applies server-side with kubectl is meant to be shared.
		return e.Operation == metav1.ManagedFieldsOperationUpdate
	default:
		return false
	}
}

// owners follows one field of a live object through the field sets of all its
// managers. It is a value: descending returns a new one.
type owners []ownerNode

type ownerNode struct {
	manager string
	// set holds what the manager owns below the current field, nil for nothing.
	set *fieldpath.Set
	// whole is true when the manager owns the current field as such.
	whole bool
}

func (o Ownership) root() owners {
	nodes := make(owners, 0, len(o.entries))
	for _, e := range o.entries {
		nodes = append(nodes, ownerNode{manager: e.Manager, set: e.set})
	}
	return nodes
}

// descend follows the path elements that match; who owned the field above as a
// whole (an atomic list or map) owns what is below too.
func (ns owners) descend(match func(fieldpath.PathElement) bool) owners {
	next := make(owners, 0, len(ns))
	for _, n := range ns {
		child := ownerNode{manager: n.manager, whole: n.whole && n.set == nil}
		if n.set != nil {
			for pe := range n.set.Members.All() {
				child.whole = child.whole || match(pe)
			}
			for pe := range n.set.Children.All() {
				if match(pe) {
					child.set, _ = n.set.Children.Get(pe)
				}
			}
		}
		if child.whole || child.set != nil {
			next = append(next, child)
		}
	}
	return next
}

func (ns owners) field(name string) owners {
	return ns.descend(func(pe fieldpath.PathElement) bool { return pe.FieldName != nil && *pe.FieldName == name })
}

func (ns owners) item(item any) owners {
	return ns.descend(func(pe fieldpath.PathElement) bool { return selects(pe, item) })
}

// manager names who owns the current field or, failing that, something below it;
// Wavetrain itself only if nobody else does.
func (ns owners) manager(own string) string {
	found := ""
	for _, whole := range []bool{true, false} {
		for _, n := range ns {
			if n.whole == whole && (found == "" || found == own) {
				found = n.manager
			}
		}
	}
	return found
}

func (ns owners) has(manager string) bool {
	return slices.ContainsFunc(ns, func(n ownerNode) bool { return n.manager == manager })
}

// selects reports whether a path element names this item of a list.
func selects(pe fieldpath.PathElement, item any) bool {
	switch {
	case pe.Key != nil:
		m, ok := item.(map[string]any)
		if !ok {
			return false
		}
		for _, f := range *pe.Key {
			if !sameScalar(f.Value.Unstructured(), m[f.Name]) {
				return false
			}
		}
		return true
	case pe.Value != nil:
		return sameScalar((*pe.Value).Unstructured(), item)
	default:
		return false
	}
}

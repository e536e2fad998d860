// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Entry is an object that a record lists as ours: the key and the identity it had
// when we wrote it, so that an object made later under the same name is not
// taken for it.
type Entry struct {
	Key manifest.Key `json:"key"`
	UID types.UID    `json:"uid"`
}

// Entries returns the inventory of live objects, ordered by key; an object given
// twice is listed once.
func Entries(live []*unstructured.Unstructured) []Entry {
	entries := make([]Entry, 0, len(live))
	for _, u := range live {
		entries = append(entries, Entry{Key: manifest.KeyOf(u), UID: u.GetUID()})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return a.Key.Compare(b.Key) })
	return slices.CompactFunc(entries, func(a, b Entry) bool { return a.Key == b.Key })
}

// Tracked reports whether objects of a kind carry a tracking id. Custom resource
// definitions do not: several applications may ship the same one.
func Tracked(gk schema.GroupKind) bool {
	return gk != schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// Input is what pruning is decided from.
type Input struct {
	// App is the application's instance name, as tracking ids carry it.
	App string
	// Tracking is how objects are marked.
	Tracking manifest.Tracking
	// Rendered are the keys of the complete rendered set, hooks included, with
	// namespaces filled in. An incomplete set would prune what it lacks.
	Rendered []manifest.Key
	// Live are objects that may be ours: those that carry App's marks, and those
	// that Record lists. Their order and repetitions do not matter.
	Live []*unstructured.Unstructured
	// Record lists what earlier releases wrote.
	Record []Entry
	// Namespaced reports whether a kind is namespaced; known is false for kinds
	// the cluster no longer serves.
	Namespaced func(schema.GroupKind) (namespaced, known bool)
}

// Candidate is an object of ours that is no longer rendered.
type Candidate struct {
	Object *unstructured.Unstructured
	Key    manifest.Key
	// Keep says why the object stays although it is superfluous; empty if it may
	// be pruned. The application is out of sync as long as it is there.
	Keep string
	// Terminating is true for an object that is being deleted already.
	Terminating bool
	// Holder still uses the object; the zero key stands for nobody.
	Holder manifest.Key
}

// Prunable returns the live objects that are ours and no longer rendered, ordered
// by key. Hooks and skipped objects are never among them: they have their own
// deletion rules.
func Prunable(in Input) []Candidate {
	rendered := make(map[manifest.Key]bool, len(in.Rendered))
	for _, k := range in.Rendered {
		rendered[k] = true
	}
	recorded := make(map[Entry]bool, len(in.Record))
	for _, e := range in.Record {
		recorded[e] = true
	}
	var out []Candidate
	for _, u := range in.Live {
		key := manifest.KeyOf(u)
		if rendered[key] || !ours(in, u, key, recorded) {
			continue
		}
		if c := manifest.Classify(u); c.Hook || c.Skip || c.Ignored || c.OnlyOnDelete() {
			continue
		}
		out = append(out, Candidate{
			Object:      u,
			Key:         key,
			Keep:        keep(u),
			Terminating: u.GetDeletionTimestamp() != nil,
		})
	}
	slices.SortFunc(out, func(a, b Candidate) int { return a.Key.Compare(b.Key) })
	return slices.CompactFunc(out, func(a, b Candidate) bool { return a.Key == b.Key })
}

// ours reports whether a live object that is not rendered belongs to the
// application.
func ours(in Input, u *unstructured.Unstructured, key manifest.Key, recorded map[Entry]bool) bool {
	if len(u.GetOwnerReferences()) > 0 || in.Tracking.OfOther(u) {
		return false
	}
	listed := recorded[Entry{Key: key, UID: u.GetUID()}]
	id, marked := u.GetAnnotations()[manifest.AnnotationTrackingID]
	switch {
	case !marked || !Tracked(key.GroupKind()):
		return listed
	case SelfTracked(in.App, id, in.identity(key)):
		return listed || in.Tracking.OfThis(u)
	case in.Tracking.Method != manifest.TrackByLabel:
		return false
	}
	// Where labels decide, an id that was copied along says nothing; one that names
	// the object does.
	return listed && othersMark(id, in.identity(key)) == ""
}

// othersMark returns the application that a tracking id names, if it names the
// object that carries it.
func othersMark(id string, key manifest.Key) string {
	t, err := manifest.ParseTrackingID(id)
	if err != nil || !t.Names(key) {
		return ""
	}
	return t.App
}

// Unproven returns the live objects that nothing but a label says are ours, ordered
// by key: they are shown, and pruned only when somebody asks for exactly them.
func Unproven(in Input) []*unstructured.Unstructured {
	if in.Tracking.Method != manifest.TrackByLabel {
		return nil
	}
	rendered := make(map[manifest.Key]bool, len(in.Rendered))
	for _, k := range in.Rendered {
		rendered[k] = true
	}
	recorded := make(map[Entry]bool, len(in.Record))
	for _, e := range in.Record {
		recorded[e] = true
	}
	var out []*unstructured.Unstructured
	for _, u := range in.Live {
		key := manifest.KeyOf(u)
		if rendered[key] || !in.Tracking.Labelled(u, in.App) || len(u.GetOwnerReferences()) > 0 || in.Tracking.OfOther(u) || ours(in, u, key, recorded) {
			continue
		}
		if app := othersMark(u.GetAnnotations()[manifest.AnnotationTrackingID], in.identity(key)); app != "" && app != in.App {
			continue
		}
		if c := manifest.Classify(u); c.Hook || c.Skip || c.Ignored || c.OnlyOnDelete() {
			continue
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return manifest.KeyOf(a).Compare(manifest.KeyOf(b)) })
	return slices.CompactFunc(out, func(a, b *unstructured.Unstructured) bool { return manifest.KeyOf(a) == manifest.KeyOf(b) })
}

// identity is the key that a tracking id must name: without namespace for a
// cluster-scoped object, where the id carries the application's destination.
func (in Input) identity(key manifest.Key) manifest.Key {
	if in.Namespaced != nil {
		if namespaced, known := in.Namespaced(key.GroupKind()); known && !namespaced {
			key.Namespace = ""
		}
	}
	return key
}

// SelfTracked reports whether a tracking id names the application and exactly the
// object that carries it; key has no namespace for a cluster-scoped object. A
// copy of an object keeps the id of the original and so is not ours.
func SelfTracked(app, id string, key manifest.Key) bool {
	t, err := manifest.ParseTrackingID(id)
	return err == nil && t.App == app && t.Names(key)
}

// keep returns the guard on the live object that forbids to prune it.
func keep(u *unstructured.Unstructured) string {
	if manifest.SyncOptions(u).Has("Prune=false") {
		return "Prune=false on the live object"
	}
	if u.GetAnnotations()[manifest.AnnotationHelmResourcePolicy] == "keep" {
		return manifest.AnnotationHelmResourcePolicy + ": keep on the live object"
	}
	return ""
}

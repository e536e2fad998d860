// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"maps"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// entry is one object of the live cache. It is never changed once made.
type entry struct {
	*unstructured.Unstructured

	key    manifest.Key
	uid    types.UID
	rv     string
	owners []types.UID
	// tracking is the object's tracking id, app the application it names.
	tracking, app string
	// managed is the JSON of the object's managedFields without times. Objects
	// that one controller makes alike share it, which is most of what an object
	// weighs.
	managed unique.Handle[string]
}

// newEntry takes u over and takes its managedFields out.
func newEntry(u *unstructured.Unstructured) *entry {
	e := &entry{Unstructured: u, key: manifest.KeyOf(u), uid: u.GetUID(), rv: u.GetResourceVersion()}
	for _, ref := range u.GetOwnerReferences() {
		e.owners = append(e.owners, ref.UID)
	}
	if id, ok := u.GetAnnotations()[manifest.AnnotationTrackingID]; ok {
		e.tracking = id
		e.app, _, _ = strings.Cut(id, ":")
	}
	e.managed = unique.Make(takeManagedFields(u))
	return e
}

// entryOf makes an entry of an object that the caller goes on using.
func entryOf(u *unstructured.Unstructured) *entry {
	own := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	if meta, ok := own.Object["metadata"].(map[string]any); ok {
		own.Object["metadata"] = maps.Clone(meta)
	}
	return newEntry(own)
}

func takeManagedFields(u *unstructured.Unstructured) string {
	meta, _ := u.Object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	if len(list) == 0 {
		return ""
	}
	delete(meta, "managedFields")
	timeless := make([]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			m = maps.Clone(m)
			delete(m, "time")
			timeless = append(timeless, m)
		}
	}
	data, err := json.Marshal(timeless)
	if err != nil {
		// What was decoded from JSON can be encoded; without owners the object is
		// compared by the server.
		return ""
	}
	return string(data)
}

// managedFields decodes what takeManagedFields took out.
func (e *entry) managedFields() []metav1.ManagedFieldsEntry {
	text := e.managed.Value()
	if text == "" {
		return nil
	}
	var entries []metav1.ManagedFieldsEntry
	if json.Unmarshal([]byte(text), &entries) != nil {
		return nil
	}
	return entries
}

// newer reports whether a resourceVersion is of a later state than another one,
// of the same object or of objects of the same kind: one etcd counts all writes. Versions that are no numbers, which an aggregated API may
// have, cannot be compared; what arrives later then counts as newer.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return a != b
	}
	return order > 0
}

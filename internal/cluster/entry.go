// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// entry is one object of the live cache. It is never changed once made. It is
// small, because there are many: what the cache needs to find objects is kept as
// it is, strings that many objects share once for all of them, and the rest
// compressed. An object is decoded when somebody reads it, and not kept decoded.
type entry struct {
	codec     *Codec
	gvk       unique.Handle[schema.GroupVersionKind]
	namespace unique.Handle[string]
	// body is the object's name and, from named on, the packed rest of it.
	body  string
	named uint16
	// marked is true when the tracking id names exactly this object: app is then
	// all of it that is kept.
	marked  bool
	id      identity
	version uint64
	// app is the application that the tracking id names.
	app unique.Handle[string]
	// managed is the packed JSON of the object's managedFields without times.
	// Objects that one controller makes alike share it, which is most of what an
	// object weighs.
	managed unique.Handle[string]
	rare    *rarely
}

// rarely is what few of the managed objects have.
type rarely struct {
	// uid and version when they are not as API servers make them.
	uid     types.UID
	version string
	owners  []types.UID
	// tracking is a tracking id that does not name the object itself.
	tracking string
}

func (e *entry) key() manifest.Key {
	gvk := e.gvk.Value()
	return manifest.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: e.namespace.Value(), Name: e.name()}
}

func (e *entry) groupKind() schema.GroupKind { return e.gvk.Value().GroupKind() }

func (e *entry) name() string { return e.body[:e.named] }

func (e *entry) at() spot { return spot{e.namespace, e.name()} }

func (e *entry) uid() types.UID {
	if e.rare != nil && e.rare.uid != "" {
		return e.rare.uid
	}
	if e.id == (identity{}) {
		return ""
	}
	return e.id.uid()
}

func (e *entry) rv() resourceVersion {
	if e.version == 0 && e.rare != nil {
		return resourceVersion{odd: e.rare.version}
	}
	return resourceVersion{number: e.version}
}

func (e *entry) owners() []types.UID {
	if e.rare == nil {
		return nil
	}
	return e.rare.owners
}

func (e *entry) tracking() string {
	switch {
	case e.marked:
		return manifest.TrackingID{App: e.app.Value(), Key: e.key()}.String()
	case e.rare != nil:
		return e.rare.tracking
	default:
		return ""
	}
}

func (e *entry) selfTracked() bool {
	return e.marked || e.rare != nil && e.rare.tracking != "" && inventory.SelfTracked(e.app.Value(), e.rare.tracking, e.key())
}

// object decodes the entry.
func (e *entry) object() *unstructured.Unstructured {
	obj, err := e.codec.unpackObject([]byte(e.body[e.named:]))
	if err != nil {
		// We packed it ourselves: nothing but broken memory comes to this.
		panic(fmt.Sprintf("cluster: unpack %s: %v", e.key(), err))
	}
	gvk := e.gvk.Value()
	obj["apiVersion"], obj["kind"] = gvk.GroupVersion().String(), gvk.Kind
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	for field, value := range map[string]string{
		"name": e.name(), "namespace": e.namespace.Value(), "uid": string(e.uid()), "resourceVersion": e.rv().String(),
	} {
		if value != "" {
			meta[field] = value
		}
	}
	if e.marked {
		annotations, ok := meta["annotations"].(map[string]any)
		if !ok {
			annotations = map[string]any{}
			meta["annotations"] = annotations
		}
		annotations[manifest.AnnotationTrackingID] = e.tracking()
	}
	return &unstructured.Unstructured{Object: obj}
}

// managedFields decodes who owns what.
func (e *entry) managedFields() []metav1.ManagedFieldsEntry {
	packed := e.managed.Value()
	if packed == "" {
		return nil
	}
	var entries []metav1.ManagedFieldsEntry
	text, err := e.codec.unpack([]byte(packed))
	if err != nil || json.Unmarshal(text, &entries) != nil {
		// Without owners the object is compared by the server.
		return nil
	}
	return entries
}

// GetObjectMeta lets the reflector tell entries apart.
func (e *entry) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: e.namespace.Value(), Name: e.name()}
}

// GetObjectKind implements runtime.Object, as what a list is made of.
func (e *entry) GetObjectKind() schema.ObjectKind {
	return &metav1.TypeMeta{APIVersion: e.gvk.Value().GroupVersion().String(), Kind: e.gvk.Value().Kind}
}

// DeepCopyObject implements runtime.Object; entries do not change.
func (e *entry) DeepCopyObject() runtime.Object { return e }

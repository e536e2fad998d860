// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
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

// newEntry makes an entry of what a read or a write returned; u stays as it is.
func (c *Codec) newEntry(u *unstructured.Unstructured) (*entry, error) {
	key := manifest.KeyOf(u)
	e := &entry{
		codec: c, gvk: unique.Make(u.GroupVersionKind()), namespace: unique.Make(key.Namespace),
		named: uint16(len(key.Name)), //nolint:gosec // the API server allows 253 characters
	}
	if len(key.Name) > 1<<15 {
		return nil, fmt.Errorf("the name of %s %.50s… is too long", key.Kind, key.Name)
	}
	e.keepIdentity(u)
	tracking := u.GetAnnotations()[manifest.AnnotationTrackingID]
	if tracking != "" {
		e.keepTracking(tracking, key)
	}
	obj := maps.Clone(u.Object)
	delete(obj, "apiVersion")
	delete(obj, "kind")
	if meta, ok := obj["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		obj["metadata"] = meta
		for _, kept := range []string{"name", "namespace", "uid", "resourceVersion", "managedFields"} {
			delete(meta, kept)
		}
		if annotations, ok := meta["annotations"].(map[string]any); ok && e.marked {
			annotations = maps.Clone(annotations)
			delete(annotations, manifest.AnnotationTrackingID)
			if meta["annotations"] = annotations; len(annotations) == 0 {
				delete(meta, "annotations")
			}
		}
	}
	body, err := c.packObject([]byte(key.Name), obj)
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", key, err)
	}
	e.body = string(body)
	e.managed, err = c.keepManagedFields(u)
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", key, err)
	}
	return e, nil
}

func (e *entry) keepIdentity(u *unstructured.Unstructured) {
	var rare rarely
	if uid := u.GetUID(); uid != "" {
		id, exact := identify(uid)
		if e.id = id; !exact {
			rare.uid = uid
		}
	}
	version := parseVersion(u.GetResourceVersion())
	e.version, rare.version = version.number, version.odd
	for _, ref := range u.GetOwnerReferences() {
		rare.owners = append(rare.owners, ref.UID)
	}
	if rare.uid != "" || rare.version != "" || len(rare.owners) > 0 {
		e.rare = &rare
	}
}

func (e *entry) keepTracking(tracking string, key manifest.Key) {
	app, _, _ := strings.Cut(tracking, ":")
	e.app = unique.Make(app)
	if e.marked = tracking == (manifest.TrackingID{App: app, Key: key}).String(); e.marked {
		return
	}
	if e.rare == nil {
		e.rare = &rarely{}
	}
	e.rare.tracking = tracking
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

func (c *Codec) keepManagedFields(u *unstructured.Unstructured) (unique.Handle[string], error) {
	meta, _ := u.Object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	timeless := make([]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			m = maps.Clone(m)
			delete(m, "time")
			timeless = append(timeless, m)
		}
	}
	if len(timeless) == 0 {
		return unique.Make(""), nil
	}
	text, err := json.Marshal(timeless)
	if err != nil {
		return unique.Handle[string]{}, err
	}
	return unique.Make(string(c.pack(nil, text))), nil
}

// managedFields decodes what keepManagedFields keeps.
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

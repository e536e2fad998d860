// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/unstable"
)

// A rendered set may hold values that come out differently each time: passwords,
// certificates, checksums of them. As long as every object that carries one exists,
// all of them keep the values they have; as soon as one is missing, all come from
// one rendering. So a certificate and those who trust it never part, and neither a
// restart nor a lost cache rotates anything.

// carrier is an object with unstable fields.
type carrier struct {
	index  int
	key    manifest.Key
	fields []unstable.Field
	live   *unstructured.Unstructured
}

// held is a live carrier as it was read last.
type held struct {
	uid, version string
	object       *unstructured.Unstructured
}

// settle decides what becomes of the unstable fields. The second result identifies
// the decision, for those who remember what follows from the objects.
func (c *Comparer) settle(ctx context.Context, dest Destination, s Subject, objects []manifest.Object) ([]manifest.Object, string, error) {
	fields, identity := s.Desired.unstable()
	if len(fields) == 0 {
		return objects, identity, nil
	}
	if s.Renew {
		return objects, identity, nil
	}
	carriers := carriersOf(objects, fields, dest, s.Namespace)
	if err := c.readCarriers(ctx, dest, s.App, carriers); err != nil {
		return nil, "", err
	}
	settled := slices.Clone(objects)
	// What only the cluster decides carries nothing now, but may bear the mark of
	// when it did.
	carriers = slices.DeleteFunc(carriers, func(c *carrier) bool {
		if len(c.fields) > 0 {
			return false
		}
		settled[c.index] = c.kept(objects[c.index])
		return true
	})
	if keepable(carriers) {
		for _, carrier := range carriers {
			settled[carrier.index] = carrier.kept(objects[carrier.index])
		}
		return settled, identity + " kept", nil
	}
	if len(carriers) > 1 {
		// The mark tells, should this be interrupted, that some are not written yet.
		mark := markOf(carriers, objects)
		for _, carrier := range carriers {
			settled[carrier.index] = changed(objects[carrier.index], annotationPath(), mark)
		}
	}
	return settled, identity + " new", nil
}

// unstable returns the unstable fields, by the index of their object, and what
// identifies the rendering exactly.
func (d *Desired) unstable() ([]unstable.Field, string) {
	var all []unstable.Field
	var identity strings.Builder
	offset := 0
	for _, p := range d.parts {
		for _, field := range p.remarks.Unstable.Fields {
			if len(field.Path) == 0 {
				continue
			}
			field.Object += offset
			all = append(all, field)
		}
		offset += p.set.Len()
		identity.WriteString(p.remarks.Raw)
	}
	return all, identity.String()
}

// Stable is a digest of the rendered set without the fields that come out
// differently each time: two renderings of one input have the same.
func (d *Desired) Stable() (string, error) {
	objects, err := d.Objects()
	if err != nil {
		return "", err
	}
	fields, _ := d.unstable()
	objects = slices.Clone(objects)
	for _, field := range fields {
		objects[field.Object] = changed(objects[field.Object], field.Path, nil)
	}
	return manifest.Digest(objects), nil
}

// Restless are the fields that come out differently each time, as people read
// them.
func (d *Desired) Restless() []render.Restless {
	var all []render.Restless
	for _, p := range d.parts {
		all = append(all, p.remarks.Restless...)
	}
	return all
}

// spared are objects that are not rendered only because the cluster has them: a
// template that asks for them leaves them out then.
func (d *Desired) spared() []manifest.Key {
	var keys []manifest.Key
	for _, p := range d.parts {
		keys = append(keys, p.remarks.Unstable.Absent...)
	}
	return keys
}

// carriersOf gathers the objects with unstable fields. Hooks are none: they are
// made and deleted again, and take what is rendered.
func carriersOf(objects []manifest.Object, fields []unstable.Field, dest Destination, namespace string) []*carrier {
	var list []*carrier
	byIndex := map[int]*carrier{}
	for _, field := range fields {
		obj := objects[field.Object]
		annotations := obj.GetAnnotations()
		if annotations[manifest.AnnotationHook] != "" || annotations[manifest.AnnotationHelmHook] != "" || obj.GetName() == "" {
			continue
		}
		at, ok := byIndex[field.Object]
		if !ok {
			at = &carrier{index: field.Object, key: liveKey(obj.Key(), dest, namespace)}
			byIndex[field.Object] = at
			list = append(list, at)
		}
		if field.Looked {
			continue
		}
		// A field that this rendering lacks keeps nothing.
		if _, rendered := unstable.Get(obj.Object, field.Path); rendered {
			at.fields = append(at.fields, field)
		}
	}
	return list
}

// liveKey is the key that an object has in the cluster.
func liveKey(key manifest.Key, dest Destination, namespace string) manifest.Key {
	switch namespaced, known := dest.Scope(key.GroupKind()); {
	case known && !namespaced:
		key.Namespace = ""
	case key.Namespace == "":
		key.Namespace = namespace
	}
	return key
}

// readCarriers reads the live carriers whole: what is watched may be kept without
// the values of Secrets.
func (c *Comparer) readCarriers(ctx context.Context, dest Destination, app string, carriers []*carrier) error {
	c.mu.Lock()
	known := c.held[app]
	c.mu.Unlock()
	next := make(map[manifest.Key]held, len(carriers))
	for _, carrier := range carriers {
		seen, exists := dest.Get(carrier.key)
		if !exists {
			continue
		}
		h := known[carrier.key]
		if h.object == nil || h.uid != string(seen.GetUID()) || h.version != seen.GetResourceVersion() {
			object, err := dest.Fetch(ctx, carrier.key, seen.GroupVersionKind().Version)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read the values that %s keeps: %w", carrier.key, err)
			}
			h = held{uid: string(object.GetUID()), version: object.GetResourceVersion(), object: object}
		}
		next[carrier.key] = h
		carrier.live = h.object
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[app] = next
	return nil
}

// keepable tells whether all carriers exist with values that the fields could
// have, and were written together.
func keepable(carriers []*carrier) bool {
	marks := map[string]bool{}
	for _, carrier := range carriers {
		if carrier.live == nil {
			return false
		}
		marks[carrier.live.GetAnnotations()[manifest.AnnotationRendering]] = true
		for _, field := range carrier.fields {
			value, ok := carrier.value(field)
			if !ok && !slices.Contains(field.Path, "annotations") {
				return false
			}
			if ok && !field.Fits(value) {
				return false
			}
		}
	}
	return len(carriers) == 1 || len(marks) == 1
}

// value is the live value of a field, in the form in which it is rendered.
func (c *carrier) value(field unstable.Field) (any, bool) {
	path := field.Path
	if c.key.Kind == "Secret" && c.key.Group == "" && len(path) == 2 && path[0] == "stringData" {
		encoded, ok := unstable.Get(c.live.Object, []string{"data", path[1]})
		text, _ := encoded.(string)
		plain, err := base64.StdEncoding.DecodeString(text)
		return string(plain), ok && err == nil
	}
	return unstable.Get(c.live.Object, path)
}

// kept returns the object with the values that it has in the cluster.
func (c *carrier) kept(obj manifest.Object) manifest.Object {
	for _, field := range c.fields {
		if value, ok := c.value(field); ok {
			obj = changed(obj, field.Path, value)
		}
	}
	if c.live == nil {
		return obj
	}
	if mark := c.live.GetAnnotations()[manifest.AnnotationRendering]; mark != "" {
		obj = changed(obj, annotationPath(), mark)
	}
	return obj
}

func annotationPath() []string {
	return []string{"metadata", "annotations", manifest.AnnotationRendering}
}

// changed returns a copy of an object with another value at a path.
func changed(obj manifest.Object, path []string, value any) manifest.Object {
	content, _ := unstable.With(obj.Object, path, value).(map[string]any)
	obj.Unstructured = &unstructured.Unstructured{Object: content}
	return obj
}

// markOf identifies the rendering that the values of carriers come from. It is
// made of digests and tells nothing of the values.
func markOf(carriers []*carrier, objects []manifest.Object) string {
	list := make([]manifest.Object, len(carriers))
	for i, carrier := range carriers {
		list[i] = objects[carrier.index]
	}
	digest := manifest.Digest(list)
	return digest[len(digest)-16:]
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/packed"
	"github.com/wavetrain/wavetrain/internal/render/unstable"
)

// shelf is a cluster that is only read, by key.
type shelf struct {
	Destination
	objects map[manifest.Key]*unstructured.Unstructured
}

func (s shelf) Scope(schema.GroupKind) (namespaced, known bool) { return true, true }

func (s shelf) Get(key manifest.Key) (*unstructured.Unstructured, bool) {
	obj, ok := s.objects[key]
	return obj, ok
}

func (s shelf) Fetch(_ context.Context, key manifest.Key, _ string) (*unstructured.Unstructured, error) {
	if obj, ok := s.objects[key]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// put writes rendered objects, as a sync does.
func (s shelf) put(objects ...manifest.Object) {
	for _, obj := range objects {
		live := obj.DeepCopy()
		live.SetNamespace("ns")
		live.SetResourceVersion(fmt.Sprint(len(s.objects), live.Object["data"], live.GetAnnotations()))
		s.objects[manifest.KeyOf(live)] = live
	}
}

const pair = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {v: RAND}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {v: RAND, plain: TEXT}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {v: TEXT}\n"

// rendering is a set in which two objects share a random value.
func rendering(t *testing.T, random, text string) *Desired {
	t.Helper()
	decode := func(random string) []manifest.Object {
		objects, err := manifest.Decode("a.yaml", []byte(strings.NewReplacer("RAND", random, "TEXT", text).Replace(pair)))
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	objects := decode(random)
	var fields unstable.Fields
	fields.Compare(unstable.Rendering{Objects: objects}, unstable.Rendering{Objects: decode("another")}, false)
	codec, err := packed.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	set, err := codec.Pack(objects)
	if err != nil {
		t.Fatal(err)
	}
	return &Desired{parts: []placed{{part: &part{set: set, remarks: render.Remarks{Unstable: fields, Raw: manifest.Digest(objects)}}}}}
}

func settled(t *testing.T, c *Comparer, s shelf, d *Desired) []manifest.Object {
	t.Helper()
	objects, err := d.Objects()
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := c.settle(t.Context(), s, Subject{App: "app", Namespace: "ns", Desired: d}, objects)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func value(obj manifest.Object) string {
	v, _, _ := unstructured.NestedString(obj.Object, "data", "v")
	return v
}

func TestUnstableValuesStayTogether(t *testing.T) {
	s, c := shelf{objects: map[manifest.Key]*unstructured.Unstructured{}}, NewComparer()
	expect := func(why string, got []manifest.Object, want string) {
		t.Helper()
		if value(got[0]) != want || value(got[1]) != want {
			t.Fatalf("%s: got %s and %s, want %s", why, value(got[0]), value(got[1]), want)
		}
	}
	first := settled(t, c, s, rendering(t, "one", "x"))
	expect("nothing exists", first, "one")
	s.put(first[0])
	expect("one of two exists, and a cache was lost", settled(t, c, s, rendering(t, "two", "x")), "two")
	s.put(settled(t, c, s, rendering(t, "two", "x"))...)
	expect("all exist", settled(t, c, s, rendering(t, "three", "x")), "two")
	delete(s.objects, manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "b"})
	anew := settled(t, c, s, rendering(t, "three", "x"))
	expect("one was deleted", anew, "three")
	s.put(anew[1])
	expect("interrupted after the first of two was written", settled(t, c, s, rendering(t, "four", "x")), "four")
	s.put(settled(t, c, s, rendering(t, "four", "x"))...)
	last := settled(t, c, s, rendering(t, "five", "new"))
	expect("a commit changes something else", last, "four")
	if plain, _, _ := unstructured.NestedString(last[1].Object, "data", "plain"); plain != "new" || value(last[2]) != "new" {
		t.Error("the commit's own change is lost")
	}
	if again := settled(t, c, s, rendering(t, "six", "new")); manifest.Digest(again) != manifest.Digest(last) {
		t.Error("each look gives another set")
	}
}

func TestRenderedObjectsAreNotChanged(t *testing.T) {
	s, c := shelf{objects: map[manifest.Key]*unstructured.Unstructured{}}, NewComparer()
	d := rendering(t, "one", "x")
	before, err := d.Objects()
	if err != nil {
		t.Fatal(err)
	}
	digest := manifest.Digest(before)
	s.put(settled(t, c, s, rendering(t, "live", "x"))...)
	settled(t, c, s, d)
	if manifest.Digest(before) != digest {
		t.Error("the shared objects were written to")
	}
}

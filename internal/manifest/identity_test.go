// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
)

func TestTrackingID(t *testing.T) {
	tests := map[string]struct {
		reason  string
		app, ns string
		key     Key
		want    string
	}{
		"Core":          {"The core group is the empty string.", "guestbook", "default", Key{Kind: "Service", Namespace: "default", Name: "guestbook-ui"}, "guestbook:/Service:default/guestbook-ui"},
		"Group":         {"Other groups are written without version.", "team-a_guestbook", "x", Key{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "ui"}, "team-a_guestbook:apps/Deployment:default/ui"},
		"ClusterScoped": {"A cluster-scoped object carries the destination namespace.", "a", "dest", Key{Kind: "Namespace", Name: "n"}, "a:/Namespace:dest/n"},
		"Colon":         {"Names of RBAC objects may hold colons.", "a", "dest", Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:x:y"}, "a:rbac.authorization.k8s.io/ClusterRole:dest/system:x:y"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := FormatTrackingID(tt.app, tt.ns, tt.key)
			if text != tt.want {
				t.Errorf("FormatTrackingID = %q, want %q: %s", text, tt.want, tt.reason)
			}
			id, err := ParseTrackingID(text)
			if err != nil {
				t.Fatalf("ParseTrackingID(%q): %v", text, err)
			}
			if id.App != tt.app || !id.Names(tt.key) {
				t.Errorf("ParseTrackingID(%q) = %+v, does not name %v of %s", text, id, tt.key, tt.app)
			}
			other := tt.key
			other.Name += "-copy"
			if id.Names(other) {
				t.Errorf("%q names %v: a copy must not pass for the original", text, other)
			}
		})
	}
	for _, bad := range []string{"", "a", "a:b/C", "a:bC:d/e", "a:b/C:de", "a:b/c/D:e/f", "a:b/C:d/e/f"} {
		if _, err := ParseTrackingID(bad); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("ParseTrackingID(%q) = %v, want an error that quotes the input", bad, err)
		}
	}
}

func FuzzParseTrackingID(f *testing.F) {
	f.Add("a:apps/Deployment:ns/name")
	f.Add("a:/Service:/n:x")
	f.Add("::/")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseTrackingID(s)
		if err == nil && id.String() != s {
			t.Errorf("ParseTrackingID(%q).String() = %q", s, id.String())
		}
	})
}

func TestDigest(t *testing.T) {
	a := Object{Unstructured: annotated("k", "v")}
	b := Object{Unstructured: annotated("k", "w")}
	base := Digest([]Object{a, b})
	moved := a
	moved.Provenance = Provenance{File: "other.yaml", Line: 3}
	for name, tt := range map[string]struct {
		objs []Object
		same bool
	}{
		"Order":      {[]Object{b, a}, true},
		"Repetition": {[]Object{a, b, a}, true},
		"Provenance": {[]Object{moved, b}, true},
		"Missing":    {[]Object{a}, false},
		"Empty":      {nil, false},
		"Changed":    {[]Object{a, {Unstructured: annotated("k", "x")}}, false},
	} {
		if got := Digest(tt.objs); (got == base) != tt.same {
			t.Errorf("%s: digest %s, base %s, want equal: %v", name, got, base, tt.same)
		}
	}
}

// Two values that print alike but differ in structure have different digests.
func TestDigestTellsStructuresApart(t *testing.T) {
	values := []any{
		nil, "", "1", int64(1), true, "true",
		[]any{},
		map[string]any{},
		[]any{nil},
		[]any{"a", "b"},
		[]any{"ab"},
		[]any{[]any{"a"}, "b"},
		map[string]any{"a": "b"},
		map[string]any{"a": nil},
		[]any{map[string]any{"a": "b"}},
		1.5,
	}
	seen := map[string]any{}
	for _, v := range values {
		d := Digest([]Object{{Unstructured: &unstructured.Unstructured{Object: map[string]any{"v": v}}}})
		if other, ok := seen[d]; ok {
			t.Errorf("%#v and %#v have the same digest", v, other)
		}
		seen[d] = v
	}
	one := Digest([]Object{{Unstructured: &unstructured.Unstructured{Object: map[string]any{"v": int64(1)}}}})
	if float := Digest([]Object{{Unstructured: &unstructured.Unstructured{Object: map[string]any{"v": 1.0}}}}); float != one {
		t.Errorf("1 and 1.0 have different digests")
	}
}

func TestDigestIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.StringMatching(`[a-c]{0,2}`)).Draw(t, "values")
		var objs []Object
		for _, v := range values {
			objs = append(objs, Object{Unstructured: annotated("k", v)})
		}
		if a, b := Digest(objs), Digest(rapid.Permutation(objs).Draw(t, "permuted")); a != b {
			t.Fatalf("digest depends on the order: %s, %s", a, b)
		}
	})
}

func TestDefinesKind(t *testing.T) {
	crd := object(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: w.x.y}, spec: {group: x.y, names: {kind: W}}}`)
	got, ok := DefinesKind(crd)
	if want := (schema.GroupKind{Group: "x.y", Kind: "W"}); !ok || got != want {
		t.Errorf("DefinesKind = %v, %v, want %v", got, ok, want)
	}
	if _, ok := DefinesKind(annotated()); ok {
		t.Errorf("DefinesKind(ConfigMap) = true")
	}
}

func TestMalformedMetadata(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"Fine":      {`{metadata: {annotations: {a: "1"}, labels: {b: x}}}`, nil},
		"None":      {`{kind: X}`, nil},
		"Numbers":   {`{metadata: {annotations: {argocd.argoproj.io/sync-wave: 5, b: true}, labels: {v: 1.5}}}`, []string{"metadata.annotations[argocd.argoproj.io/sync-wave]", "metadata.annotations[b]", "metadata.labels[v]"}},
		"NotAMap":   {`{metadata: {annotations: [a]}}`, []string{"metadata.annotations"}},
		"NullValue": {`{metadata: {annotations: {a: null}, labels: null}}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: looseObject(t, tt.text)}
			if diff := cmp.Diff(tt.want, MalformedMetadata(u)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func live(apiVersion, kind, namespace, name string, annotations ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(types.UID("uid-" + name))
	m := map[string]string{}
	for i := 0; i < len(annotations); i += 2 {
		m[annotations[i]] = annotations[i+1]
	}
	u.SetAnnotations(m)
	return u
}

func scopes(gk schema.GroupKind) (namespaced, known bool) {
	switch gk.Kind {
	case "ConfigMap", "Secret":
		return true, true
	case "ClusterRole", "CustomResourceDefinition":
		return false, true
	default:
		return false, false
	}
}

func TestPrunable(t *testing.T) {
	const id = manifest.AnnotationTrackingID
	owned := live("v1", "ConfigMap", "ns", "child", id, "shop:/ConfigMap:ns/child")
	owned.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Operator", Name: "o", UID: "u"}})
	terminating := live("v1", "ConfigMap", "ns", "going", id, "shop:/ConfigMap:ns/going")
	terminating.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	crd := live("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "a.b.c")
	crdKey := manifest.KeyOf(crd)

	type result struct {
		Key         string
		Keep        string
		Terminating bool
	}
	cases := map[string]struct {
		reason string
		in     Input
		want   []result
	}{
		"Superfluous": {
			reason: "tracked, self-named and not rendered",
			in:     Input{Live: []*unstructured.Unstructured{live("v1", "ConfigMap", "ns", "old", id, "shop:/ConfigMap:ns/old")}},
			want:   []result{{Key: "ConfigMap/ns/old"}},
		},
		"Rendered": {
			reason: "what is rendered stays",
			in: Input{
				Rendered: []manifest.Key{{Kind: "ConfigMap", Namespace: "ns", Name: "a"}},
				Live:     []*unstructured.Unstructured{live("v1", "ConfigMap", "ns", "a", id, "shop:/ConfigMap:ns/a")},
			},
		},
		"OtherApplication": {
			reason: "the id names another application",
			in:     Input{Live: []*unstructured.Unstructured{live("v1", "ConfigMap", "ns", "a", id, "other:/ConfigMap:ns/a")}},
		},
		"Copy": {
			reason: "the id names another object: copied by a person or an operator",
			in: Input{Live: []*unstructured.Unstructured{
				live("v1", "ConfigMap", "ns", "copy", id, "shop:/ConfigMap:ns/a"),
				live("v1", "ConfigMap", "elsewhere", "a", id, "shop:/ConfigMap:ns/a"),
				live("v1", "Secret", "ns", "a", id, "shop:/ConfigMap:ns/a"),
			}},
		},
		"Child": {
			reason: "an object with an owner is its owner's business",
			in:     Input{Live: []*unstructured.Unstructured{owned}},
		},
		"Untracked": {
			reason: "labels alone prove nothing",
			in:     Input{Live: []*unstructured.Unstructured{live("v1", "ConfigMap", "ns", "a")}},
		},
		"BrokenID": {
			reason: "an id that cannot be read names nothing",
			in:     Input{Live: []*unstructured.Unstructured{live("v1", "ConfigMap", "ns", "a", id, "shop")}},
		},
		"ClusterScoped": {
			reason: "the id of a cluster-scoped object carries the destination namespace",
			in:     Input{Live: []*unstructured.Unstructured{live("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r", id, "shop:rbac.authorization.k8s.io/ClusterRole:ns/r")}},
			want:   []result{{Key: "rbac.authorization.k8s.io/ClusterRole/r"}},
		},
		"RecordedCRD": {
			reason: "a CRD has no id; our record lists it",
			in:     Input{Live: []*unstructured.Unstructured{crd}, Record: []Entry{{Key: crdKey, UID: "uid-a.b.c"}}},
			want:   []result{{Key: "apiextensions.k8s.io/CustomResourceDefinition/a.b.c"}},
		},
		"RecreatedCRD": {
			reason: "another UID is another object, made by somebody else",
			in:     Input{Live: []*unstructured.Unstructured{crd}, Record: []Entry{{Key: crdKey, UID: "older"}}},
		},
		"RecordedButTrackedByOther": {
			reason: "a tracking id outweighs the record",
			in: Input{
				Live:   []*unstructured.Unstructured{live("v1", "ConfigMap", "ns", "a", id, "other:/ConfigMap:ns/a")},
				Record: []Entry{{Key: manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "a"}, UID: "uid-a"}},
			},
		},
		"Hook": {
			reason: "hooks have delete policies",
			in: Input{Live: []*unstructured.Unstructured{
				live("v1", "ConfigMap", "ns", "h", id, "shop:/ConfigMap:ns/h", manifest.AnnotationHook, "PreSync"),
				live("v1", "ConfigMap", "ns", "s", id, "shop:/ConfigMap:ns/s", manifest.AnnotationHook, "Skip"),
				live("v1", "ConfigMap", "ns", "t", id, "shop:/ConfigMap:ns/t", manifest.AnnotationHelmHook, "test"),
			}},
		},
		"Guards": {
			reason: "what says that it must stay is listed with the reason",
			in: Input{Live: []*unstructured.Unstructured{
				live("v1", "ConfigMap", "ns", "b", id, "shop:/ConfigMap:ns/b", manifest.AnnotationHelmResourcePolicy, "keep"),
				live("v1", "ConfigMap", "ns", "a", id, "shop:/ConfigMap:ns/a", manifest.AnnotationSyncOptions, "Replace=true, Prune=false"),
				terminating,
				terminating,
			}},
			want: []result{
				{Key: "ConfigMap/ns/a", Keep: "Prune=false on the live object"},
				{Key: "ConfigMap/ns/b", Keep: "helm.sh/resource-policy: keep on the live object"},
				{Key: "ConfigMap/ns/going", Terminating: true},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.App, tc.in.Namespaced = "shop", scopes
			var got []result
			for _, c := range Prunable(tc.in) {
				got = append(got, result{c.Key.String(), c.Keep, c.Terminating})
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, d)
			}
		})
	}
}

func TestPrunableProperties(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		in := Input{App: "shop", Namespaced: scopes}
		for range rapid.IntRange(0, 6).Draw(t, "live") {
			app := rapid.SampledFrom([]string{"shop", "other"}).Draw(t, "app")
			u := live("v1", "ConfigMap", "ns", names.Draw(t, "name"), manifest.AnnotationTrackingID, app+":/ConfigMap:ns/"+names.Draw(t, "tracked"))
			in.Live = append(in.Live, u)
		}
		for _, n := range rapid.SliceOf(names).Draw(t, "rendered") {
			in.Rendered = append(in.Rendered, manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: n})
		}
		got := Prunable(in)
		for _, c := range got {
			if slices.Contains(in.Rendered, c.Key) {
				t.Errorf("%s is rendered and would be pruned", c.Key)
			}
			if want := "shop:/ConfigMap:ns/" + c.Key.Name; c.Object.GetAnnotations()[manifest.AnnotationTrackingID] != want {
				t.Errorf("%s is not ours", c.Key)
			}
		}
		in.Live = rapid.Permutation(in.Live).Draw(t, "shuffled")
		in.Rendered = rapid.Permutation(in.Rendered).Draw(t, "shuffled keys")
		keys := func(list []Candidate) (keys []manifest.Key) {
			for _, c := range list {
				keys = append(keys, c.Key)
			}
			return keys
		}
		if d := cmp.Diff(keys(got), keys(Prunable(in))); d != "" {
			t.Errorf("the order of the input shows:\n%s", d)
		}
	})
}

func TestEntries(t *testing.T) {
	got := Entries([]*unstructured.Unstructured{live("v1", "Secret", "n", "b"), live("v1", "ConfigMap", "n", "a"), live("v1", "Secret", "n", "b")})
	want := []Entry{
		{Key: manifest.Key{Kind: "ConfigMap", Namespace: "n", Name: "a"}, UID: "uid-a"},
		{Key: manifest.Key{Kind: "Secret", Namespace: "n", Name: "b"}, UID: "uid-b"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

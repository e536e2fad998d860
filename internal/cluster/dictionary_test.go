// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

var update = flag.Bool("update", false, "make dictionary.zstd anew")

// typical returns what an API server makes of the typical manifests, for an
// application of the given name; kinds that it does not serve stay as written.
func typical(t testing.TB, b *bench, app string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile("testdata/typical.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var live []*unstructured.Unstructured
	for text := range bytes.SplitSeq(data, []byte("\n---\n")) {
		u := b.object(string(text))
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[manifest.AnnotationTrackingID] = manifest.FormatTrackingID(app, b.namespace, manifest.KeyOf(u))
		u.SetAnnotations(annotations)
		if _, known := b.Scope(u.GroupVersionKind().GroupKind()); !known {
			u.SetCreationTimestamp(metav1.Now())
			live = append(live, u)
			continue
		}
		live = append(live, b.apply(u))
	}
	return live
}

// TestDictionary demands that the objects that the dictionary is made of, which
// share nothing but their kinds' fields with what a test makes, are small. With
// -update it makes the dictionary anew, of what the API server and its controllers
// made of them.
func TestDictionary(t *testing.T) {
	b := benchOn(t, sandboxtest.Start(t, sandboxtest.Options{Nodes: 1, RuleSets: []string{"external-secrets"}}))
	live := typical(t, b, "web")
	if *update {
		watched := []schema.GroupKind{deployments(), {Group: "apps", Kind: "ReplicaSet"}, {Kind: "Pod"}, {Group: "apps", Kind: "StatefulSet"}, jobs()}
		b.watch(watched...)
		b.eventually("the Deployment is ready", func() bool {
			u, _ := b.Get(manifest.Key{Group: "apps", Kind: "Deployment", Namespace: b.namespace, Name: "web"})
			ready, _, _ := unstructured.NestedInt64(u.Object, "status", "readyReplicas")
			return ready == 1
		})
		for _, gk := range watched {
			for _, u := range b.List(gk) {
				full, err := b.Fetch(b.ctx(), manifest.KeyOf(u), "")
				if err != nil {
					t.Fatal(err)
				}
				live = append(live, full)
			}
		}
		writeDictionary(t, live)
	}
	codec := sharedCodec()
	for _, u := range live {
		e, err := codec.newEntry(u)
		if err != nil {
			t.Fatal(err)
		}
		if size := len(e.body) + len(e.managed.Value()); size > 600 {
			t.Errorf("%s takes %d bytes, and %d for its owners: make the dictionary anew with -update", u.GetKind(), len(e.body), len(e.managed.Value()))
		}
	}
}

func writeDictionary(t *testing.T, live []*unstructured.Unstructured) {
	t.Helper()
	var texts [][]byte
	for _, u := range live {
		fields := u.GetManagedFields()
		for i := range fields {
			fields[i].Time = nil
		}
		e, err := sharedCodec().newEntry(u)
		if err != nil {
			t.Fatal(err)
		}
		body, err := e.codec.unpack([]byte(e.body[e.named:]))
		if err != nil {
			t.Fatal(err)
		}
		owners, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, body, owners)
	}
	// What is last is found best: small objects are the many.
	slices.SortStableFunc(texts, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	made, err := zstd.BuildDict(zstd.BuildDictOptions{
		ID: 1, Contents: texts, History: bytes.Join(texts, nil), Offsets: [3]int{1, 4, 8}, Level: zstd.SpeedFastest,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("dictionary.zstd", made, 0o600); err != nil {
		t.Fatal(err)
	}
}

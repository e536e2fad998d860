// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// decoding counts the ConfigMaps that are decoded.
type decoding struct {
	*cluster.Cluster
	n int
}

func (d *decoding) count(key manifest.Key) {
	if key.Kind == "ConfigMap" {
		d.n++
	}
}

func (d *decoding) Get(key manifest.Key) (*unstructured.Unstructured, bool) {
	d.count(key)
	return d.Cluster.Get(key)
}

func (d *decoding) GetOwned(key manifest.Key) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool) {
	d.count(key)
	return d.Cluster.GetOwned(key)
}

// A change of one object has that one decoded and compared.
func TestOnlyWhatHasChangedIsDecoded(t *testing.T) {
	const objects = 12
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	dest := &decoding{Cluster: connect(t, env)}
	namespace := env.Namespace(t)
	desired := &Desired{Revisions: []string{"r1"}, Digest: "d"}
	for i := range objects {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"v": "one"}}}
		u.SetName(fmt.Sprintf("c%d", i))
		u.SetNamespace(namespace)
		desired.objects = append(desired.objects, manifest.Object{Unstructured: u})
	}
	c := NewComparer()
	compare := func(why string, decoded int) *Comparison {
		t.Helper()
		dest.n = 0
		got, err := c.Compare(t.Context(), dest, Subject{App: "shop", Server: "s", Namespace: namespace, Desired: desired})
		if err != nil {
			t.Fatal(err)
		}
		if dest.n != decoded {
			t.Errorf("%s: %d objects were decoded, want %d", why, dest.n, decoded)
		}
		return got
	}
	draft := func() *plan.Plan { return c.recent.last("shop").draft }

	missing := compare("nothing is there", 0)
	for _, step := range named(missing.Plan) {
		if _, err := dest.Apply(t.Context(), step.Object.Unstructured, cluster.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before := draft()
	compare("everything is new", objects)
	compare("nothing has changed", 0)

	other, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	key := manifest.Key{Kind: "ConfigMap", Namespace: namespace, Name: "c3"}
	edited, err := other.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace).
		Patch(t.Context(), key.Name, "application/merge-patch+json", []byte(`{"data":{"v":"two"}}`), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if head, _ := dest.Head(key); head.Version == edited.GetResourceVersion() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the edit is not seen")
		}
	}
	drifted := compare("one was edited", 1)
	for _, step := range named(drifted.Plan) {
		want := plan.None
		if step.Key == key {
			want = plan.Update
		}
		if step.Action != want {
			t.Errorf("%s: %s, want %s", step.Key, step.Action, want)
		}
	}
	if changes := drifted.Verdicts[key].Changes; len(changes) != 1 || changes[0].Path != "data.v" {
		t.Errorf("the edited object differs in %+v", changes)
	}
	if draft() != before {
		t.Error("the same rendered set was planned from scratch again")
	}
	c.Rest()
	compare("what was kept was given back", objects)
	compare("it is kept again", 0)
	c.Delivers("shop")
	compare("all of it was about to change", objects)
}

func TestRecentIsBounded(t *testing.T) {
	r := newRecent()
	of := func(n int) *recently {
		now := &recently{draft: &plan.Plan{}, live: map[manifest.Key]decoded{}}
		for i := range n {
			now.live[manifest.Key{Name: fmt.Sprint(i)}] = decoded{}
		}
		return now
	}
	known := func(app string) bool { return r.last(app).draft != nil }
	const each = maxRecent / 4
	for _, app := range []string{"a", "b", "c", "d"} {
		r.keep(app, of(each))
	}
	r.keep("a", of(each))
	r.keep("e", of(each))
	if !known("a") || known("b") || !known("c") || !known("e") {
		t.Error("what was compared longest ago must make room, and nothing else")
	}
	r.keep("whale", of(maxRecent))
	if known("whale") || !known("a") {
		t.Error("an application that fills the whole room takes none")
	}
	// An application whose objects do not exist yet has none but those of the draft.
	r.keep("c", &recently{draft: &plan.Plan{Groups: []plan.Group{{Steps: make([]plan.Step, each)}}}})
	if !known("c") || r.objects != 4*each {
		t.Errorf("%d objects of %v are counted, want those of the draft, too", r.objects, r.order)
	}
	r.keep("new", &recently{draft: &plan.Plan{InSync: make([]plan.Step, each)}})
	if known("d") || !known("new") {
		t.Error("a draft takes room")
	}
	r.forget("a")
	if r.objects != 3*each || len(r.order) != 3 {
		t.Errorf("%d objects of %v are counted", r.objects, r.order)
	}
}

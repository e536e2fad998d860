// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestPolicyFor(t *testing.T) {
	carrying := func(options string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		if options != "" {
			u.SetAnnotations(map[string]string{manifest.AnnotationSyncOptions: options})
		}
		return u
	}
	cases := map[string]struct {
		app, object, live string
		force             bool
		want              ApplyOptions
	}{
		"nothing said is server-side":               {},
		"Argo's option for it changes nothing":      {app: "ServerSideApply=true"},
		"the application wants client-side":         {app: "ServerSideApply=false", want: ApplyOptions{Method: ClientSide}},
		"the object wants client-side":              {app: "ServerSideApply=true", object: "ServerSideApply=false", want: ApplyOptions{Method: ClientSide}},
		"an object wins over the application":       {app: "ServerSideApply=false", object: "ServerSideApply=true"},
		"false wins on one object":                  {object: "ServerSideApply=true,ServerSideApply=false", want: ApplyOptions{Method: ClientSide}},
		"replace beats server-side":                 {app: "Replace=true", object: "ServerSideApply=true", want: ApplyOptions{Method: Replace}},
		"replace beats client-side":                 {app: "ServerSideApply=false", object: "Replace=true", want: ApplyOptions{Method: Replace}},
		"replace and force may be on live":          {live: "Replace=true, Force=true", want: ApplyOptions{Method: Replace, Force: true}},
		"other options of the live object are deaf": {live: "ServerSideApply=false,Validate=false"},
		"force of the operation":                    {force: true, want: ApplyOptions{Force: true}},
		"no validation, no migration":               {app: "ClientSideApplyMigration=false", object: "Validate=false", want: ApplyOptions{NoValidation: true, KeepOwners: true}},
		"options are case-sensitive":                {app: "replace=true", object: "force=true"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			policy := PolicyOf(manifest.ParseOptions(c.app))
			policy.Force = c.force
			for _, live := range []*unstructured.Unstructured{carrying(c.live), nil} {
				if live == nil && c.live != "" {
					continue
				}
				got := policy.For(carrying(c.object), live)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("options (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// operations returns "manager/operation" of the entries of an object.
func operations(u *unstructured.Unstructured) []string {
	var out []string
	for _, e := range u.GetManagedFields() {
		if e.Subresource == "" {
			out = append(out, e.Manager+"/"+string(e.Operation))
		}
	}
	return out
}

func (b *bench) applyWith(u *unstructured.Unstructured, o ApplyOptions) *unstructured.Unstructured {
	b.t.Helper()
	out, err := b.Apply(b.ctx(), u, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// TestClientSide follows one Deployment and one custom kind through the life of
// something that is applied client-side.
func TestClientSide(t *testing.T) {
	b := newBench(t)
	b.watch(deployments())
	first := b.object(web)
	live := b.applyWith(first, ApplyOptions{Method: ClientSide})
	if got := operations(live); !cmp.Equal(got, []string{"wavetrain/Update"}) {
		t.Errorf("managers = %v", got)
	}
	if text := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; !strings.Contains(text, `"image":"web:1"`) || strings.Contains(text, "last-applied") {
		t.Errorf("last applied = %q", text)
	}

	deploys := b.other.Resource(resource("apps", "v1", "deployments")).Namespace(b.namespace)
	edit := []byte(`{"metadata":{"labels":{"foreign":"x"}},"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"s:1"}]}}}}`)
	if _, err := deploys.Patch(b.ctx(), "web", types.StrategicMergePatchType, edit, metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		t.Fatal(err)
	}
	second := b.object(strings.NewReplacer("labels: {app: web}}\nspec:\n  replicas", "labels: {tier: front}}\nspec:\n  replicas",
		`{name: A, value: "1"}, `, "", "image: web:1", "image: web:2").Replace(web))
	live = b.applyWith(second, ApplyOptions{Method: ClientSide})
	if diff := cmp.Diff(map[string]string{"tier": "front", "foreign": "x"}, live.GetLabels()); diff != "" {
		t.Errorf("a dropped label goes, a foreign one stays (-want +got):\n%s", diff)
	}
	containers, _, _ := unstructured.NestedSlice(live.Object, "spec", "template", "spec", "containers")
	names := map[string]any{}
	for _, item := range containers {
		container := item.(map[string]any)
		env, _ := container["env"].([]any)
		names[container["name"].(string)] = []any{container["image"], len(env)}
	}
	if diff := cmp.Diff(map[string]any{"app": []any{"web:2", 1}, "sidecar": []any{"s:1", 0}}, names); diff != "" {
		t.Errorf("lists are merged by their keys (-want +got):\n%s", diff)
	}
	settings := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}")
	once, again := b.applyWith(settings, ApplyOptions{Method: ClientSide}), b.applyWith(settings, ApplyOptions{Method: ClientSide})
	if again.GetResourceVersion() != once.GetResourceVersion() {
		t.Error("an unchanged object was written")
	}

	// Back to server-side apply: what only the annotation knew about is ours.
	third := b.object(strings.Replace(web, "labels: {app: web}}\nspec:\n  replicas", "labels: {}}\nspec:\n  replicas", 1))
	live = b.applyWith(third, ApplyOptions{})
	if diff := cmp.Diff(map[string]string{"foreign": "x"}, live.GetLabels()); diff != "" {
		t.Errorf("labels after server-side apply (-want +got):\n%s", diff)
	}
}

func TestClientSideDryRunAndSize(t *testing.T) {
	b := newBench(t)
	settings := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}")
	if _, err := b.Apply(b.ctx(), settings, ApplyOptions{Method: ClientSide, DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Fetch(b.ctx(), manifest.KeyOf(settings), "v1"); err == nil {
		t.Error("a dry run created the object")
	}
	if err := unstructured.SetNestedField(settings.Object, strings.Repeat("x", 270_000), "data", "a"); err != nil {
		t.Fatal(err)
	}
	_, err := b.Apply(b.ctx(), settings, ApplyOptions{Method: ClientSide})
	if err == nil || !strings.Contains(err.Error(), "leave ServerSideApply=false out") {
		t.Errorf("error of an object too large = %v, want advice", err)
	}
}

func TestReplace(t *testing.T) {
	b := newBench(t)
	desired := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {a: b}}, data: {x: '1'}}")
	live := b.applyWith(desired, ApplyOptions{Method: Replace})
	uid := live.GetUID()
	maps := b.other.Resource(resource("", "v1", "configmaps")).Namespace(b.namespace)
	edit := []byte(`{"metadata":{"labels":{"foreign":"x"},"finalizers":["example.test/held"]},"data":{"foreign":"x"}}`)
	if _, err := maps.Patch(b.ctx(), "c", types.MergePatchType, edit, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	overlaid := b.applyWith(desired, ApplyOptions{Method: Overlay, DryRun: true})
	if data, _, _ := unstructured.NestedStringMap(overlaid.Object, "data"); !cmp.Equal(data, map[string]string{"x": "1", "foreign": "x"}) {
		t.Errorf("overlaid data = %v, want the foreign key kept", data)
	}
	live = b.applyWith(desired, ApplyOptions{Method: Replace})
	data, _, _ := unstructured.NestedStringMap(live.Object, "data")
	if live.GetUID() != uid || !cmp.Equal(data, map[string]string{"x": "1"}) || !cmp.Equal(live.GetLabels(), map[string]string{"a": "b"}) {
		t.Errorf("replaced: uid %s (was %s), data %v, labels %v", live.GetUID(), uid, data, live.GetLabels())
	}
	if got := live.GetFinalizers(); !cmp.Equal(got, []string{"example.test/held"}) {
		t.Errorf("finalizers = %v: somebody relies on theirs", got)
	}
	if err := b.RemoveFinalizer(b.ctx(), manifest.KeyOf(live), "example.test/held"); err != nil {
		t.Fatal(err)
	}
}

func TestForcedReplace(t *testing.T) {
	b := newBench(t)
	service := func(ip string) *unstructured.Unstructured {
		return b.object("{apiVersion: v1, kind: Secret, metadata: {name: s}, immutable: true, stringData: {a: '" + ip + "'}}")
	}
	before := b.applyWith(service("1"), ApplyOptions{Method: Replace})
	if _, err := b.Apply(b.ctx(), service("2"), ApplyOptions{Method: Replace}); !IsImmutable(err) {
		t.Errorf("replace of an immutable object: %v", err)
	}
	after := b.applyWith(service("2"), ApplyOptions{Method: Replace, Force: true})
	if after.GetUID() == before.GetUID() {
		t.Error("the object was not made anew")
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func TestCompare(t *testing.T) {
	cases := map[string]struct {
		reason                   string
		desired, live, predicted string
		opts                     Options
		want                     []Change
	}{
		"Missing": {
			reason:  "an object that is not there is one change",
			desired: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}",
			want: []Change{{Desired: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"},
			}}},
		},
		"Superfluous": {
			reason: "an object to prune is one change; a Secret's values stay hidden",
			live:   "{apiVersion: v1, kind: Secret, metadata: {name: a, resourceVersion: '7'}, data: {k: djE=}}",
			want: []Change{{Live: map[string]any{
				"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": Hidden},
			}}},
		},
		"Predicted": {
			reason:    "live and prediction are compared in full, by key and without status",
			desired:   "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}",
			live:      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {c: [{name: x, image: '1'}, {name: v}], l: [1, 2]}, status: {n: 1}}",
			predicted: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2, labels: {a.b/c: z}}, spec: {c: [{name: x, image: '2'}, {name: w}], l: [1]}, status: {n: 2}}",
			want: []Change{
				{Path: `metadata.labels`, Desired: map[string]any{"a.b/c": "z"}},
				{Path: `spec.c[name=x].image`, Desired: "2", Live: "1"},
				{Path: `spec.c[name=v]`, Live: map[string]any{"name": "v"}},
				{Path: `spec.c[name=w]`, Desired: map[string]any{"name": "w"}},
				{Path: `spec.l`, Desired: []any{int64(1)}, Live: []any{int64(1), int64(2)}},
			},
		},
		"OddFieldName": {
			reason:    "a name with dots or slashes is quoted",
			desired:   "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
			live:      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a.b/c: x}}}",
			predicted: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a.b/c: z}}}",
			want:      []Change{{Path: `metadata.labels["a.b/c"]`, Desired: "z", Live: "x"}},
		},
		"Order": {
			reason:    "a changed order of equal items is a change of the list",
			desired:   "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
			live:      "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {init: [{name: x}, {name: z}]}}",
			predicted: "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {init: [{name: z}, {name: x}]}}",
			want: []Change{{
				Path:    "spec.init",
				Desired: []any{map[string]any{"name": "z"}, map[string]any{"name": "x"}},
				Live:    []any{map[string]any{"name": "x"}, map[string]any{"name": "z"}},
			}},
		},
		"DuplicateKeys": {
			reason:    "items that no key tells apart are compared by position",
			desired:   "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
			live:      "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {env: [{name: x, value: '1'}, {name: x, value: '2'}]}}",
			predicted: "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {env: [{name: x, value: '1'}, {name: x, value: '3'}]}}",
			want:      []Change{{Path: "spec.env[1].value", Desired: "3", Live: "2"}},
		},
		"Ignored": {
			reason:    "pointers and globs select what is left out; ~1 is a slash",
			desired:   "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}",
			live:      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {a/b: x}}, spec: {replicas: 1, c: [{image: '1'}, {image: '2'}]}}",
			predicted: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {a/b: z}}, spec: {replicas: 2, c: [{image: '9'}, {image: '3'}]}}",
			opts: Options{Ignore: []v1alpha1.ResourceIgnoreDifferences{
				{Group: "*", Kind: "Dep*", JSONPointers: []string{"/metadata/annotations/a~1b", "/spec/c/0/image", "/no/such"}},
				{Group: "apps", Kind: "Deployment", Name: "other", JSONPointers: []string{"/spec"}},
			}},
			want: []Change{
				{Path: "spec.c[1].image", Desired: "3", Live: "2"},
				{Path: "spec.replicas", Desired: int64(2), Live: int64(1)},
			},
		},
		"SecretValues": {
			reason:    "a changed value is reported, not shown",
			desired:   "{apiVersion: v1, kind: Secret, metadata: {name: a}}",
			live:      "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {k: djE=, same: djE=, gone: djE=}}",
			predicted: "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {k: djI=, same: djE=, new: djE=}}",
			want: []Change{
				{Path: "data.gone", Live: Hidden},
				{Path: "data.k", Desired: HiddenChanged, Live: Hidden},
				{Path: "data.new", Desired: Hidden},
			},
		},
		"LocalPrediction": {
			reason:  "without a dry run: what desired sets counts, values the server leaves out do not",
			desired: "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {}}, spec: {hostNetwork: false, c: [{name: x, image: '2', resources: {limits: {cpu: '1'}}}]}}",
			live:    "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {dns: d, c: [{name: x, image: '1', policy: Always, resources: {limits: {cpu: 1000m}}}, {name: side}]}}",
			want:    []Change{{Path: "spec.c[name=x].image", Desired: "2", Live: "1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			read := func(text string) *unstructured.Unstructured {
				if text == "" {
					return nil
				}
				return object(t, text)
			}
			got := Compare(read(tc.desired), read(tc.live), read(tc.predicted), tc.opts)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, d)
			}
		})
	}
}

func TestCompareOwners(t *testing.T) {
	desired := object(t, deployment)
	s := newServer(t, desired).apply(desired)
	s.edit("hpa", set(t, int64(9), "spec", "replicas"))
	s.edit("kubectl-edit", func(u *unstructured.Unstructured) {
		c := containers(t, u)
		c[0].(map[string]any)["image"] = "web:hacked"
		set(t, c, "spec", "template", "spec", "containers")(u)
	})
	live := s.live()
	want := []Change{
		{Path: "spec.replicas", Desired: int64(3), Live: int64(9), Manager: "hpa"},
		{Path: "spec.template.spec.containers[name=app].image", Desired: "web:1", Live: "web:hacked", Manager: "kubectl-edit"},
	}
	predicted := s.apply(desired).live()
	for name, p := range map[string]*unstructured.Unstructured{"dry run": predicted, "local": nil} {
		if d := cmp.Diff(want, Compare(desired, live, p, Options{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	ignore := Options{Ignore: []v1alpha1.ResourceIgnoreDifferences{{Group: "apps", Kind: "Deployment", ManagedFieldsManagers: []string{"hpa"}}}}
	if d := cmp.Diff(want[1:], Compare(desired, live, predicted, ignore)); d != "" {
		t.Errorf("fields of an ignored manager (-want +got):\n%s", d)
	}
}

func TestCompareLeavesMutationsOut(t *testing.T) {
	desired := object(t, deployment)
	s := newServer(t, desired).apply(desired)
	live := s.live()
	predicted := s.edit("webhook", set(t, "now", "metadata", "annotations", "injected")).live()
	if changes := Compare(desired, live, predicted, Options{}); len(changes) > 0 {
		t.Errorf("what admission adds in fields of others is no drift: %v", changes)
	}
	want := []Change{{Path: "metadata.annotations.injected", Desired: "now"}}
	if d := cmp.Diff(want, Compare(desired, live, predicted, Options{Mutations: true})); d != "" {
		t.Errorf("with Mutations (-want +got):\n%s", d)
	}
}

func TestCompareDroppedFields(t *testing.T) {
	desired := object(t, deployment)
	s := newServer(t, desired).apply(desired)
	s.edit("kubectl-label", set(t, "x", "metadata", "labels", "foreign"))
	live := s.live()
	unstructured.RemoveNestedField(desired.Object, "metadata", "labels")
	unstructured.RemoveNestedField(desired.Object, "spec", "replicas")
	c := containers(t, desired)
	set(t, c[:1], "spec", "template", "spec", "containers")(desired)
	want := []string{"metadata.labels.app", "spec.replicas", "spec.template.spec.containers[name=proxy]"}
	predicted := s.apply(desired).live()
	for name, p := range map[string]*unstructured.Unstructured{"dry run": predicted, "local": nil} {
		var got []string
		for _, change := range Compare(desired, live, p, Options{}) {
			got = append(got, change.Path)
			if change.Manager != "wavetrain" || change.Desired != nil {
				t.Errorf("%s: %+v: a dropped field was ours and is wanted no more", name, change)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestMerge(t *testing.T) {
	live := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: a, resourceVersion: '5'}, spec: {node: n1, volumes: [{name: v}], env: [{name: x, value: '1', extra: d}, {name: x, value: '2'}]}}")
	desired := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {volumes: [{name: v, emptyDir: {}}], env: [{name: x, value: '1'}, {name: x, value: '3'}]}}")
	want := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: a, resourceVersion: '5'}, spec: {node: n1, volumes: [{name: v, emptyDir: {}}], env: [{name: x, value: '1', extra: d}, {name: x, value: '3'}]}}")
	if d := cmp.Diff(want.Object, Merge(desired, live, Options{}).Object); d != "" {
		t.Errorf("update body (-want +got):\n%s", d)
	}
}

func TestUnified(t *testing.T) {
	live := object(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: djE=, b: djE=}}")
	want := object(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: v2, b: v1}}")
	got, err := Unified(live, want)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"-  a: <hidden>", "+  a: <hidden, changed>", "   b: <hidden>", "--- live/Secret/s", "+++ desired/Secret/s"} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("missing line %q in\n%s", line, got)
		}
	}
}

func TestCompareTakesOver(t *testing.T) {
	fields := func(manager string, op metav1.ManagedFieldsOperationType, set string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(set)}
	}
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	const both, mark = `{"f:data":{"f:a":{},"f:dropped":{}}}`, "metadata: {name: a}"
	tests := map[string]struct {
		reason   string
		metadata string
		owners   []metav1.ManagedFieldsEntry
		off      bool
		want     []string
	}{
		"Argo":       {"what only Argo CD owns and Git no longer has will go", mark, []metav1.ManagedFieldsEntry{fields("argocd-controller", update, both)}, false, []string{"data.dropped"}},
		"ArgoApply":  {"however it wrote it", mark, []metav1.ManagedFieldsEntry{fields("argocd-controller", apply, both)}, false, []string{"data.dropped"}},
		"Off":        {"unless nothing is taken over", mark, []metav1.ManagedFieldsEntry{fields("argocd-controller", update, both)}, true, nil},
		"Shared":     {"what others own too stays", mark, []metav1.ManagedFieldsEntry{fields("helm", update, both), fields("someone", update, `{"f:data":{"f:dropped":{}}}`)}, false, nil},
		"Foreign":    {"what others own is theirs", mark, []metav1.ManagedFieldsEntry{fields("someone", update, both)}, false, nil},
		"OwnUpdate":  {"our own updates are kept apart", mark, []metav1.ManagedFieldsEntry{fields("wavetrain", update, both)}, false, nil},
		"ClientSide": {"unless they come from client-side apply", "metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}", []metav1.ManagedFieldsEntry{fields("wavetrain", update, both)}, false, []string{"data.dropped"}},
		"Label":      {"the label by which Argo CD marks objects is no difference", "metadata: {name: a, labels: {app.kubernetes.io/instance: x}}", []metav1.ManagedFieldsEntry{fields("argocd-controller", update, `{"f:metadata":{"f:labels":{"f:app.kubernetes.io/instance":{}}},"f:data":{"f:a":{}}}`)}, false, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			desired := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: x}}")
			live := object(t, "{apiVersion: v1, kind: ConfigMap, "+tt.metadata+", data: {a: x, dropped: y}}")
			// The dry run takes only our own fields into account.
			predicted := live.DeepCopy()
			predicted.SetManagedFields(append([]metav1.ManagedFieldsEntry{fields("wavetrain", apply, `{"f:data":{"f:a":{}}}`)}, tt.owners...))
			var got []string
			for _, c := range Compare(desired, live, predicted, Options{ManagedFields: tt.owners, TakesOver: !tt.off}) {
				got = append(got, c.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestMergeSaysNullAsItIsWritten: what null means in a custom resource depends on the field, and the server knows.
func TestMergeSaysNullAsItIsWritten(t *testing.T) {
	live := object(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: x}, data: {a: "", b: x}}`)
	want := object(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: x}, data: {a: null, b: x}}`)
	data, _, _ := unstructured.NestedMap(Merge(want, live, Options{}).Object, "data")
	if value, there := data["a"]; !there || value != nil {
		t.Errorf("data.a is %v (there: %t), want null", value, there)
	}
}

// TestMergeKeepsInheritedLabels: a Job without labels is given those of its Pods when it is created, and an update by us
// then owns them.
func TestMergeKeepsInheritedLabels(t *testing.T) {
	live := object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: x, labels: {app: x}, managedFields: [{manager: wavetrain, operation: Update,
		apiVersion: batch/v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}}]}}`)
	for name, row := range map[string]struct {
		desired string
		want    map[string]string
	}{
		"without labels": {"{apiVersion: batch/v1, kind: Job, metadata: {name: x}}", map[string]string{"app": "x"}},
		"with others":    {"{apiVersion: batch/v1, kind: Job, metadata: {name: x, labels: {b: c}}}", map[string]string{"b": "c"}},
	} {
		if got := Merge(object(t, row.desired), live, Options{}).GetLabels(); !maps.Equal(got, row.want) {
			t.Errorf("%s: labels are %v, want %v", name, got, row.want)
		}
	}
}

// TestNormalizeCompletes: an empty protocol is no key of its own, and null says nothing.
func TestNormalizeCompletes(t *testing.T) {
	for name, row := range map[string]struct{ object, want string }{
		"empty":      {`{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: ""}]}}`, `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`},
		"null":       {`{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: null}]}}`, `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`},
		"of Pods":    {`{apiVersion: apps/v1, kind: Deployment, spec: {containers: [{ports: [{protocol: ""}]}]}}`, `{apiVersion: apps/v1, kind: Deployment, spec: {containers: [{ports: [{}]}]}}`},
		"a null":     {`{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: null}}`, `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}}`},
		"their null": {`{apiVersion: example.com/v1, kind: Widget, spec: {a: null}}`, `{apiVersion: example.com/v1, kind: Widget, spec: {a: null}}`},
		"another":    {`{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: UDP}]}}`, `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: UDP}]}}`},
		"not theirs": {`{apiVersion: example.com/v1, kind: Widget, spec: {ports: [{protocol: ""}]}}`, `{apiVersion: example.com/v1, kind: Widget, spec: {ports: [{protocol: ""}]}}`},
	} {
		if got, want := Normalize(object(t, row.object)).Object, object(t, row.want).Object; !same(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

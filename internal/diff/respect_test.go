// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/jq"
)

func TestRespect(t *testing.T) {
	read := func(text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: "+text+"}"), &u.Object); err != nil {
			t.Fatal(err)
		}
		return u
	}
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	ours := entry("wavetrain", metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:replicas":{},"f:paused":{}}}`)
	scaler := entry("scaler", metav1.ManagedFieldsOperationUpdate, `{"f:spec":{"f:replicas":{}}}`)
	pointer := v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}
	proxy := v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "*", JQPathExpressions: []string{`.spec.containers[] | select(.name == "proxy")`}}
	image := v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "*", JQPathExpressions: []string{".spec.containers[].image"}}
	byManager := v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "*", ManagedFieldsManagers: []string{"scaler"}}
	tests := map[string]struct {
		reason              string
		rule                v1alpha1.ResourceIgnoreDifferences
		desired, live, want string
		owners              []metav1.ManagedFieldsEntry
		shared              bool
	}{
		"Ours":        {"A field that is ours alone is sent as it is.", pointer, "{replicas: 1, paused: true}", "{replicas: 5, paused: false}", "{replicas: 5, paused: true}", []metav1.ManagedFieldsEntry{ours}, true},
		"Theirs":      {"A field of others is left to them.", pointer, "{replicas: 1, paused: true}", "{replicas: 5}", "{paused: true}", []metav1.ManagedFieldsEntry{scaler}, true},
		"NotShared":   {"Without ownership it has to be sent.", pointer, "{replicas: 1}", "{replicas: 5}", "{replicas: 5}", []metav1.ManagedFieldsEntry{scaler}, false},
		"TakenOver":   {"What is taken over from another tool counts as ours.", pointer, "{replicas: 1}", "{replicas: 5}", "{replicas: 5}", []metav1.ManagedFieldsEntry{entry("argocd-controller", metav1.ManagedFieldsOperationUpdate, `{"f:spec":{"f:replicas":{}}}`)}, true},
		"NotThere":    {"A field that live lacks is not brought in.", pointer, "{replicas: 1, paused: true}", "{paused: true}", "{paused: true}", nil, false},
		"Other":       {"A rule for another kind changes nothing.", v1alpha1.ResourceIgnoreDifferences{Kind: "Job", JSONPointers: []string{"/spec/replicas"}}, "{replicas: 1}", "{replicas: 5}", "{replicas: 1}", nil, false},
		"Item":        {"An ignored item of a list stays.", proxy, "{containers: [{name: app, image: a2}]}", "{containers: [{name: app, image: a1}, {name: proxy, image: p}]}", "{containers: [{name: app, image: a2}, {name: proxy, image: p}]}", nil, false},
		"ItemTheirs":  {"Unless others see to it.", proxy, "{containers: [{name: app, image: a2}]}", "{containers: [{name: app, image: a1}, {name: proxy, image: p}]}", "{containers: [{name: app, image: a2}]}", nil, true},
		"InItems":     {"A field inside items is matched by the items' names.", image, "{containers: [{name: b, image: b2}, {name: a, image: a2, tty: true}]}", "{containers: [{name: a, image: a1}, {name: b, image: b1}]}", "{containers: [{name: b, image: b1}, {name: a, image: a1, tty: true}]}", nil, false},
		"Manager":     {"Fields of a named manager are left to it.", byManager, "{replicas: 1, paused: true}", "{replicas: 5, paused: false}", "{paused: true}", []metav1.ManagedFieldsEntry{scaler}, true},
		"ManagerSent": {"Without ownership their value is sent.", byManager, "{replicas: 1, paused: true}", "{replicas: 5, paused: false}", "{replicas: 5, paused: true}", []metav1.ManagedFieldsEntry{scaler}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			opts := Options{Ignore: []v1alpha1.ResourceIgnoreDifferences{tt.rule}, ManagedFields: tt.owners, Deletions: map[string]Deletion{}}
			for _, expression := range tt.rule.JQPathExpressions {
				d, err := jq.Delete(expression)
				if err != nil {
					t.Fatal(err)
				}
				opts.Deletions[expression] = d
			}
			desired := read(tt.desired)
			got := Respect(desired, read(tt.live), opts, tt.shared)
			if diff := cmp.Diff(read(tt.want).Object, got.Object); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(read(tt.desired).Object, desired.Object); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
		})
	}
	if got := Respect(read("{replicas: 1}"), nil, Options{Ignore: []v1alpha1.ResourceIgnoreDifferences{pointer}}, true); !cmp.Equal(got.Object, read("{replicas: 1}").Object) {
		t.Errorf("a new object has Git's value: %v", got.Object)
	}
}

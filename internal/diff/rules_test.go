// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func TestRulesOfAggregatedRolesAreNobodysDrift(t *testing.T) {
	const head = "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}"
	const selector, pods = "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}", "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"
	tests := map[string]struct {
		reason, want, live string
		changes            []string
	}{
		"Filled":     {"the controller fills the rules in", selector + ", rules: []", selector + ", " + pods, nil},
		"Other":      {"rules in Git count for nothing", selector + ", rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]", selector + ", " + pods, nil},
		"Selector":   {"what is selected is Git's", selector, "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: c}}]}, " + pods, []string{"aggregationRule.clusterRoleSelectors[0].matchLabels.a"}},
		"Plain":      {"without a selector the rules are Git's", pods, "rules: []", []string{"rules"}},
		"NotAnymore": {"a role that stops collecting is compared", pods, selector + ", rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]", []string{"aggregationRule", "rules[0].resources"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want, live := object(t, "{"+head+", "+tt.want+"}"), object(t, "{"+head+", "+tt.live+"}")
			var got []string
			for _, c := range Compare(want, live, want, Options{Mutations: true}) {
				got = append(got, c.Path)
			}
			if !slices.Equal(got, tt.changes) {
				t.Errorf("%s: changes %q, want %q", tt.reason, got, tt.changes)
			}
			_, collects := want.Object["aggregationRule"]
			if _, sent := Normalize(want).Object["rules"]; sent == collects {
				t.Errorf("the rules are applied: %t", sent)
			}
		})
	}
}

func TestStatusCountsWhereTheRulesSaySo(t *testing.T) {
	widget := func(status string) string {
		return "{apiVersion: x.example.test/v1, kind: Widget, metadata: {name: w}, status: {phase: " + status + "}}"
	}
	const definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: w}, status: {acceptedNames: {kind: "
	tests := map[string]struct {
		reason     string
		field      StatusField
		want, live string
		differs    bool
	}{
		"Default":    {"status is the cluster's", IgnoredForAll, widget("a"), widget("b"), false},
		"None":       {"unless it is compared", IgnoredForNone, widget("a"), widget("b"), true},
		"Custom":     {"only that of definitions is left out", IgnoredForDefinitions, widget("a"), widget("b"), true},
		"Definition": {"that of a definition", IgnoredForDefinitions, definition + "A}}}", definition + "B}}}", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := object(t, tt.want)
			got := Compare(want, object(t, tt.live), want, Options{Status: tt.field, Mutations: true})
			if differs := len(got) > 0; differs != tt.differs {
				t.Errorf("%s: %v", tt.reason, got)
			}
		})
	}
}

func TestFieldsOfNamedManagersAreIgnoredWhoeverElseOwnsThem(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource,
			APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	want := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: git, b: git}}")
	live := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: live, b: live}}")
	rule := []v1alpha1.ResourceIgnoreDifferences{{Kind: "ConfigMap", ManagedFieldsManagers: []string{"tuner"}}}
	tests := map[string]struct {
		reason string
		owners []metav1.ManagedFieldsEntry
		want   []string
	}{
		"Sole":        {"what it owns alone", []metav1.ManagedFieldsEntry{entry("tuner", "", `{"f:data":{"f:a":{}}}`)}, []string{"data.b"}},
		"Shared":      {"what somebody else owns too", []metav1.ManagedFieldsEntry{entry("aaa", "", `{"f:data":{"f:a":{},"f:b":{}}}`), entry("tuner", "", `{"f:data":{"f:a":{}}}`)}, []string{"data.b"}},
		"Ours":        {"what we own too", []metav1.ManagedFieldsEntry{entry("wavetrain", "", `{"f:data":{"f:a":{},"f:b":{}}}`), entry("tuner", "", `{"f:data":{"f:a":{}}}`)}, []string{"data.b"}},
		"Subresource": {"by way of a subresource", []metav1.ManagedFieldsEntry{entry("tuner", "scale", `{"f:data":{"f:b":{}}}`)}, []string{"data.a"}},
		"Other":       {"another manager's fields are compared", []metav1.ManagedFieldsEntry{entry("aaa", "", `{"f:data":{"f:a":{},"f:b":{}}}`)}, []string{"data.a", "data.b"}},
		"Nobody":      {"and so are nobody's", nil, []string{"data.a", "data.b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Compare(want, live, want, Options{Ignore: rule, ManagedFields: append([]metav1.ManagedFieldsEntry{}, tt.owners...), Mutations: true}) {
				got = append(got, c.Path)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: changes %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}

func TestMaterial(t *testing.T) {
	opts := Options{Ignore: []v1alpha1.ResourceIgnoreDifferences{{Kind: "ConfigMap", JSONPointers: []string{"/data/noise"}}}}
	base := "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '1', generation: 1}, data: {noise: a, signal: a}}"
	tests := map[string]struct {
		reason, other string
		equal         bool
	}{
		"Counted":  {"what the API server counts", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '2', generation: 7}, data: {noise: a, signal: a}}", true},
		"Ignored":  {"what a rule ignores", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {noise: b, signal: a}}", true},
		"Signal":   {"anything else matters", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {noise: a, signal: b}}", false},
		"Status":   {"status too", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {noise: a, signal: a}, status: {x: y}}", false},
		"Deletion": {"and that it is being deleted", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, deletionTimestamp: '2026-01-01T00:00:00Z'}, data: {noise: a, signal: a}}", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before, err := Material(object(t, base), opts)
			if err != nil {
				t.Fatal(err)
			}
			after, err := Material(object(t, tt.other), opts)
			if err != nil {
				t.Fatal(err)
			}
			if (before == after) != tt.equal {
				t.Errorf("%s: equal = %t, want %t", tt.reason, before == after, tt.equal)
			}
		})
	}
}

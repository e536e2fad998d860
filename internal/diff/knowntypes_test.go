// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"
	"testing"
)

func TestKnownTypes(t *testing.T) {
	widget := func(spec string) string {
		return "{apiVersion: x.example.test/v1, kind: Widget, metadata: {name: w}, spec: " + spec + "}"
	}
	rollout := func(spec string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: r}, spec: {template: {spec: " + spec + "}}}"
	}
	quantity := []KnownType{{Group: "x.example.test", Kind: "Widget", Field: "spec.size", Type: "core/Quantity"}}
	tests := map[string]struct {
		reason     string
		types      []KnownType
		want, live string
		changes    []string
	}{
		"Unknown":       {"without a type, texts are texts", nil, widget("{size: 1000m}"), widget("{size: '1'}"), []string{"spec.size"}},
		"Quantity":      {"equal amounts", quantity, widget("{size: 1000m}"), widget("{size: '1'}"), nil},
		"QuantityOther": {"other amounts", quantity, widget("{size: 1000m}"), widget("{size: '2'}"), []string{"spec.size"}},
		"NotAQuantity":  {"what is no quantity stays as it is", quantity, widget("{size: large}"), widget("{size: small}"), []string{"spec.size"}},
		"OtherKind":     {"another kind has no such type", []KnownType{{Group: "x.example.test", Kind: "Gadget", Field: "spec.size", Type: "core/Quantity"}}, widget("{size: 1000m}"), widget("{size: '1'}"), []string{"spec.size"}},
		"Duration":      {"equal durations", []KnownType{{Group: "*", Kind: "Widget", Field: "spec.every", Type: "meta/v1/Duration"}}, widget("{every: 90m}"), widget("{every: 1h30m0s}"), nil},
		"InLists": {
			"in every item of a list",
			[]KnownType{{Group: "*", Kind: "*", Field: "spec.parts.resources", Type: "core/v1/ResourceRequirements"}},
			widget("{parts: [{name: a, resources: {limits: {cpu: 0.5}}}, {name: b, resources: {limits: {memory: 1024Mi}}}]}"),
			widget("{parts: [{name: a, resources: {limits: {cpu: 500m}}}, {name: b, resources: {limits: {memory: 1Gi}}}]}"), nil,
		},
		"PodSpec": {
			"defaults that a typed value leaves out, quantities",
			[]KnownType{{Group: "x.example.test", Kind: "Widget", Field: "spec.pod", Type: "core/v1/PodSpec"}},
			widget("{pod: {containers: [{name: c, image: i, env: [], resources: {requests: {memory: 1000Ki}}}], nodeSelector: {}}}"),
			widget("{pod: {containers: [{name: c, image: i, resources: {requests: {memory: 1000Ki}}}]}}"), nil,
		},
		"PodSpecOther": {
			"a real difference",
			[]KnownType{{Group: "x.example.test", Kind: "Widget", Field: "spec.pod", Type: "core/v1/PodSpec"}},
			widget("{pod: {containers: [{name: c, image: i}]}}"), widget("{pod: {containers: [{name: c, image: j}]}}"),
			[]string{"spec.pod.containers[name=c].image"},
		},
		"List": {
			"a field that is a list of values of the type",
			[]KnownType{{Group: "*", Kind: "*", Field: "spec.sizes", Type: "core/Quantity"}},
			widget("{sizes: [1000m, 1024Ki]}"), widget("{sizes: ['1', 1Mi]}"), nil,
		},
		"Rollout": {
			"Argo Rollouts need no settings", nil,
			rollout("{containers: [{name: c, resources: {limits: {cpu: 1000m}}}]}"), rollout("{containers: [{name: c, resources: {limits: {cpu: '1'}}}]}"), nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want, live := object(t, tt.want), object(t, tt.live)
			var got []string
			for _, c := range Compare(want, live, want, Options{KnownTypes: tt.types, Mutations: true}) {
				got = append(got, c.Path)
			}
			if !slices.Equal(got, tt.changes) {
				t.Errorf("%s: changes %q, want %q", tt.reason, got, tt.changes)
			}
		})
	}
}

func TestCheckKnownType(t *testing.T) {
	for name, known := range map[string]bool{
		"core/Quantity": true, "meta/v1/Duration": true, "core/v1/PodSpec": true, "core/v1/Container": true, "core/v1/EnvVar": true,
		"core/v1/ResourceRequirements": true, "core/v1/PersistentVolumeClaimSpec": true, "core/v1/ServicePort": true, "core/v1/Affinity": true,
		"core/v1/Nonsense": false, "apps/v1/DeploymentSpec": false, "Quantity": false, "": false,
	} {
		if problem := CheckKnownType(name); (problem == "") != known {
			t.Errorf("%q is known: %t, want %t (%s)", name, !known, known, problem)
		} else if !known && !strings.Contains(problem, "use core/Quantity") {
			t.Errorf("%q does not say what to do", problem)
		}
	}
}

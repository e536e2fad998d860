// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestCheckedWhenItsTurnComes(t *testing.T) {
	definition := object("apiextensions.k8s.io/v1 CustomResourceDefinition widgets.example.test", defines("example.test", "Widget"))
	widget := object("example.test/v1 Widget shop/w")
	pod := object("v1 Pod shop/p", set("runner", "spec", "serviceAccountName"), set("high", "spec", "priorityClassName"))
	account := object("v1 ServiceAccount shop/runner")
	class := object("scheduling.k8s.io/v1 PriorityClass high")
	service := object("v1 Service shop/admission")
	guarded := object("v1 ConfigMap shop/guarded")
	tests := map[string]struct {
		objects []manifest.Object
		live    []Live
		step    string
		want    string
	}{
		"a kind that the plan defines": {
			objects: []manifest.Object{definition, widget}, step: "Sync/0/example.test/Widget/shop/w",
			want: "this sync brings the definition of Widget.example.test",
		},
		"a kind whose definition stays as it is": {
			objects: []manifest.Object{definition, widget}, live: []Live{live(definition)}, step: "Sync/0/example.test/Widget/shop/w",
		},
		"a Pod whose account the plan makes": {
			objects: []manifest.Object{pod, account}, step: "Sync/0/Pod/shop/p",
			want: "this sync brings ServiceAccount/runner, which the Pod needs to be admitted",
		},
		"a Pod whose priority class the plan makes": {
			objects: []manifest.Object{pod, class}, step: "Sync/0/Pod/shop/p",
			want: "this sync brings PriorityClass/high, which the Pod needs to be admitted",
		},
		"a Pod whose account is there": {objects: []manifest.Object{pod, account}, live: []Live{live(account)}, step: "Sync/0/Pod/shop/p"},
		"an object whose webhook's Service the plan makes": {
			objects: []manifest.Object{service, guarded}, step: "Sync/0/ConfigMap/shop/guarded",
			want: "this sync brings Service/admission, which its admission webhook is served by",
		},
		"an object whose webhook's Service is there": {
			objects: []manifest.Object{service, guarded}, live: []Live{live(service)}, step: "Sync/0/ConfigMap/shop/guarded",
		},
		"the Service itself": {objects: []manifest.Object{service, guarded}, step: "Sync/0/Service/shop/admission"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(test.objects...)
			in.Live = map[manifest.Key]Live{}
			for _, l := range test.live {
				l.InSync = true
				in.Live[l.Key()] = l
			}
			in.Guards = func(key manifest.Key, _ *unstructured.Unstructured) []manifest.Key {
				return []manifest.Key{{Kind: "Service", Namespace: key.Namespace, Name: "admission"}}
			}
			if got := findStep(t, Build(in), test.step).Later; got != test.want {
				t.Errorf("later: %q, want %q", got, test.want)
			}
		})
	}
}

// gadgets defines a kind with a schema that has a bit of everything.
func gadgets() manifest.Object {
	return object("apiextensions.k8s.io/v1 CustomResourceDefinition gadgets.example.test", defines("example.test", "Gadget"), set([]any{
		map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "required": []any{"spec"},
			"properties": map[string]any{
				"spec": map[string]any{
					"type": "object", "required": []any{"size", "color"},
					"properties": map[string]any{
						"size":  map[string]any{"type": "integer", "maximum": int64(5)},
						"color": map[string]any{"type": "string", "default": "red", "enum": []any{"red", "blue"}},
						"port":  map[string]any{"x-kubernetes-int-or-string": true},
						"tags":  map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
						"extra": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
						"parts": map[string]any{"type": "array", "items": map[string]any{
							"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
						}},
					},
				},
				"status": map[string]any{"type": "object", "required": []any{"phase"}},
			},
		}}},
	}, "spec", "versions"))
}

func TestSchemasOfThePlan(t *testing.T) {
	tests := map[string]struct {
		spec     map[string]any
		tolerant bool
		want     []string
	}{
		"as it should be":         {spec: map[string]any{"size": int64(3), "port": "http", "tags": map[string]any{"a": "b"}, "extra": map[string]any{"any": int64(1)}}},
		"a default fills in":      {spec: map[string]any{"size": int64(3)}},
		"too large":               {spec: map[string]any{"size": int64(6)}, want: []string{"spec.size should be less than or equal to 5"}},
		"of the wrong type":       {spec: map[string]any{"size": "big"}, want: []string{`spec.size must be of type integer: "string"`}},
		"not in the list":         {spec: map[string]any{"size": int64(1), "color": "green"}, want: []string{"spec.color should be one of [red blue]"}},
		"missing":                 {spec: map[string]any{}, want: []string{"spec.size is required"}},
		"an unknown field":        {spec: map[string]any{"size": int64(1), "parts": []any{map[string]any{"nam": "x"}}}, want: []string{`unknown field "spec.parts[0].nam"`}},
		"tolerated with Validate": {spec: map[string]any{"size": int64(1), "sise": int64(1)}, tolerant: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(gadgets(), object("example.test/v1 Gadget shop/g", set(test.spec, "spec"), in("gadget.yaml", 3)))
			found := CheckSchemas(Build(in), test.tolerant)
			var got []string
			for _, f := range found {
				got = append(got, strings.TrimPrefix(f.Message, "Gadget/g in gadget.yaml:3: "))
			}
			if strings.Join(got, "; ") != strings.Join(test.want, "; ") {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// A definition that is in force already is the API server's to apply.
func TestSchemasInForceAreNotChecked(t *testing.T) {
	crd := gadgets()
	in := input(crd, object("example.test/v1 Gadget shop/g", set(map[string]any{"size": int64(9)}, "spec")))
	there := live(crd)
	there.InSync = true
	in.Live = map[manifest.Key]Live{crd.Key(): there}
	if found := CheckSchemas(Build(in), false); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// FuzzSelectors has selectors select what Kubernetes' own do: those of webhooks, with
// labels and expressions, and those of Services.
func FuzzSelectors(f *testing.F) {
	f.Add("app", "shop", "app", "shop", "tier", uint8(3), "a", "b")
	f.Add("app", "shop", "", "", "app", uint8(0), "shop", "cart")
	f.Add("app", "shop", "", "", "app", uint8(1), "shop", "")
	f.Add("app.kubernetes.io/name", "", "app.kubernetes.io/name", "", "other", uint8(1), "x", "y")
	f.Add("a", "1", "a", "1", "a", uint8(2), "", "")
	f.Add("a", "1", "b", "1", "a", uint8(4), "0", "")
	f.Add("", "", "", "", "", uint8(0), "", "")
	objects := []byte(guard("{}", "{}") + "---\n" + server)
	f.Fuzz(func(t *testing.T, key, value, wantedKey, wantedValue, expressionKey string, operator uint8, a, b string) {
		operators := []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Between"}
		expression := metav1.LabelSelectorRequirement{Key: expressionKey, Operator: metav1.LabelSelectorOperator(operators[int(operator)%len(operators)])}
		if expression.Operator != metav1.LabelSelectorOpExists && expression.Operator != metav1.LabelSelectorOpDoesNotExist {
			expression.Values = []string{a, b}
		}
		selector := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression}}
		wanted := map[string]any{}
		if wantedKey != "" {
			selector.MatchLabels = map[string]string{wantedKey: wantedValue}
			wanted[wantedKey] = wantedValue
		}
		has := map[string]string{key: value}

		decoded, err := manifest.Decode("shop.yaml", objects)
		if err != nil {
			t.Fatal(err)
		}
		webhook, service, workload := decoded[0], decoded[1], decoded[2]
		set(t, webhook, writtenSelector(selector, wanted), "webhooks", "0", "objectSelector")
		set(t, service, wanted, "spec", "selector")
		set(t, workload, map[string]any{key: value}, "metadata", "labels")
		set(t, workload, map[string]any{key: value}, "spec", "template", "metadata", "labels")
		// The webhook's own Service selects its server, whatever the other one does.
		other := manifest.Object{Unstructured: service.DeepCopy()}
		other.SetName("other")
		set(t, service, map[string]any{key: value}, "spec", "selector")
		found := verify.Run(verify.Input{Plan: plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: append(decoded, other)})})
		about := func(code, name string) bool {
			return slices.ContainsFunc(found, func(f verify.Finding) bool { return f.Code == code && f.Subject.Name == name })
		}

		// What the API server refuses only must not hurt.
		if judge, err := metav1.LabelSelectorAsSelector(&selector); err == nil {
			if want := judge.Matches(labels.Set(has)); about("webhook-not-ready", "guard") != want {
				t.Errorf("%s selects %v: %v, want %v", judge, has, !want, want)
			}
		}
		if judge := labels.SelectorFromSet(selector.MatchLabels); len(wanted) > 0 {
			if want := !judge.Matches(labels.Set(has)); about("dangling-reference", "other") != want {
				t.Errorf("the Service with %s selects nothing of %v: %v, want %v", judge, has, !want, want)
			}
		}
	})
}

// writtenSelector is a label selector as a manifest has it.
func writtenSelector(s metav1.LabelSelector, matchLabels map[string]any) map[string]any {
	var expressions []any
	for _, e := range s.MatchExpressions {
		written := map[string]any{"key": e.Key, "operator": string(e.Operator)}
		if e.Values != nil {
			var values []any
			for _, v := range e.Values {
				values = append(values, v)
			}
			written["values"] = values
		}
		expressions = append(expressions, written)
	}
	return map[string]any{"matchLabels": matchLabels, "matchExpressions": expressions}
}

// set puts a value into an object; "0" is the first item of a list.
func set(t *testing.T, o manifest.Object, value any, path ...string) {
	t.Helper()
	if len(path) > 2 && path[1] == "0" {
		list, _, err := unstructured.NestedSlice(o.Object, path[0])
		if err != nil {
			t.Fatal(err)
		}
		item, ok := list[0].(map[string]any)
		if !ok {
			t.Fatalf("%s is no list of objects", path[0])
		}
		item[path[2]] = value
		o.Object[path[0]] = list
		return
	}
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, text string) List {
	t.Helper()
	list, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// webPod is the second Pod of generation 2 of Deployment shop/web.
func webPod() *Pod {
	images := []string{"registry.test/web:2.0", "proxy:1"}
	return &Pod{
		Object: Object{Kind: "Pod", Namespace: "shop", Name: "web-abc-1", Occurrence: 1, Images: images},
		Owners: []Owner{
			{Object: Object{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "web-abc", Generation: 1, Occurrence: 1, Images: images}, PodOccurrence: 1},
			{Object: Object{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web", Generation: 2, Occurrence: 1, Images: images}, PodOccurrence: 2},
		},
	}
}

func TestMatchPod(t *testing.T) {
	cases := map[string]struct {
		reason string
		match  string
		want   bool
	}{
		"Workload":          {"effects on Pods of a workload reach its Pods", "{kind: Deployment, name: web}", true},
		"OtherWorkload":     {"the name counts", "{kind: Deployment, name: db}", false},
		"NamePrefix":        {"a name may end in a star", "{kind: Deployment, name: w*}", true},
		"KindWithGroup":     {"the kind may carry its group", "{kind: Deployment.apps}", true},
		"KindOfOtherGroup":  {"and then the group counts", "{kind: Deployment.acme.test}", false},
		"Namespace":         {"namespace", "{kind: Deployment, namespace: shop}", true},
		"OtherNamespace":    {"namespace", "{kind: Deployment, namespace: bank}", false},
		"Owner":             {"Pods below an owner", "{kind: Pod, owner: Deployment/web}", true},
		"OwnerInBetween":    {"the ReplicaSet is an owner too", "{kind: Pod, owner: ReplicaSet/web-abc}", true},
		"OwnerGeneration":   {"generation beside owner is the owner's", "{kind: Pod, owner: Deployment/web, generation: 2}", true},
		"OldGeneration":     {"a Pod of the other template is not meant", "{kind: Pod, owner: Deployment/web, generation: 1}", false},
		"OwnerOccurrence":   {"the second Pod of that owner", "{kind: Pod, owner: Deployment/web, occurrence: 2}", true},
		"NotTheFirst":       {"not the first", "{kind: Pod, owner: Deployment/web, occurrence: 1}", false},
		"WorkloadImage":     {"the image is that of the Pod, not of the workload today", "{kind: Deployment, name: web, image: \"*:2.0\"}", true},
		"AnyContainer":      {"any container counts", "{kind: Deployment, image: \"proxy:*\"}", true},
		"OtherImage":        {"no container has it", "{kind: Deployment, image: \"*:3.0\"}", false},
		"StarInTheMiddle":   {"a star stands anywhere", "{kind: Deployment, image: \"registry*web*0\"}", true},
		"OwnerAndOtherKind": {"Pods are no Jobs", "{kind: Job, owner: Deployment/web}", false},
		"PodName":           {"a Pod by its name", "{kind: Pod, name: web-abc-*}", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			list := mustParse(t, "rules: [{match: "+tc.match+", readyAfter: 9s}]")
			if got := list.ForPod(webPod()).Outcome != nil; got != tc.want {
				t.Errorf("%s: matches %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestFirstMatchWinsPerEffect(t *testing.T) {
	list := mustParse(t, `
rules:
  - match: {kind: Deployment, name: web, image: "*:1.0"}
    neverReady: true
  - match: {kind: Deployment, name: web}
    readyAfter: 5s
  - match: {kind: Deployment}
    neverReady: true
    deletionTakes: 3s
`)
	got := list.ForPod(webPod())
	want := &Rule{Outcome: &Outcome{ReadyAfter: new(5 * time.Second)}, DeletionTakes: new(3 * time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys about one question come from one rule, other effects from the next: -want +got\n%s", diff)
	}
}

func TestForObject(t *testing.T) {
	shipped := mustParse(t, "rules: [{match: {kind: ExternalSecret.external-secrets.io}, behaves: external-secret}]")
	object := &Object{Group: "external-secrets.io", Kind: "ExternalSecret", Namespace: "n", Name: "db", Generation: 1, Occurrence: 1}
	cases := map[string]struct {
		reason, rules string
		behaves       string
		statuses      int
	}{
		"NoRule": {"without a rule the shipped behaviour acts", "rules: []", "external-secret", 0},
		"ObjectEffect": {
			"any effect on the object replaces the shipped behaviour",
			"rules: [{match: {kind: ExternalSecret}, setStatus: [{status: {a: b}}]}]", "", 1,
		},
		"OtherName":       {"of that object only", "rules: [{match: {kind: ExternalSecret, name: x}, setStatus: [{status: {a: b}}]}]", "external-secret", 0},
		"OtherGeneration": {"while it matches", "rules: [{match: {kind: ExternalSecret, generation: 2}, setStatus: [{status: {a: b}}]}]", "external-secret", 0},
		"PodEffect":       {"an effect on Pods leaves it alone", "rules: [{match: {kind: ExternalSecret}, readyAfter: 1s}]", "external-secret", 0},
		"None":            {"it can be switched off", "rules: [{match: {kind: ExternalSecret}, behaves: none}]", "none", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := mustParse(t, tc.rules).ForObject(object, shipped)
			if got.Behaves != tc.behaves || len(got.SetStatus) != tc.statuses {
				t.Errorf("%s: behaves %q with %d statuses, want %q with %d", tc.reason, got.Behaves, len(got.SetStatus), tc.behaves, tc.statuses)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"name": "web", "namespace": "shop", "generation": int64(4), "labels": map[string]any{"a": "b"}},
		"spec":     map[string]any{"hosts": []any{"h0", "h1"}, "tls": true},
	}
	in := map[string]any{
		"text": "${name}.${namespace}", "number": "${generation}", "path": "${spec.hosts.1}", "bool": "${spec.tls}",
		"unknown": "${spec.none} ${UID:Kind/name} $name", "list": []any{"${metadata.labels.a}", int64(1)}, "${name}-key": "v",
	}
	want := map[string]any{
		"text": "web.shop", "number": int64(4), "path": "h1", "bool": true,
		"unknown": "${spec.none} ${UID:Kind/name} $name", "list": []any{"b", int64(1)}, "web-key": "v",
	}
	if diff := cmp.Diff(want, Expand(in, object)); diff != "" {
		t.Errorf("Expand: -want +got\n%s", diff)
	}
}

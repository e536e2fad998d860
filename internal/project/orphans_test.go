// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"testing"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestOrphans(t *testing.T) {
	yes, no := true, false
	if r := rules(v1alpha1.AppProjectSpec{}); r.WarnOfOrphans() {
		t.Error("a project that says nothing warns")
	} else if _, ok := r.Orphans(); ok {
		t.Error("a project that says nothing wants to be told")
	}
	for warn, want := range map[*bool]bool{nil: false, &yes: true, &no: false} {
		if got := rules(v1alpha1.AppProjectSpec{OrphanedResources: &v1alpha1.OrphanedResources{Warn: warn}}).WarnOfOrphans(); got != want {
			t.Errorf("warns is %t, want %t", got, want)
		}
	}
	key := func(group, kind, namespace, name string) manifest.Key {
		return manifest.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}
	}
	orphan := key("", "ConfigMap", "team", "left-behind")
	for name, c := range map[string]struct {
		reason string
		ignore []v1alpha1.OrphanedResourceKey
		key    manifest.Key
		want   bool
	}{
		"ordinary":         {"what nobody manages is reported", nil, orphan, true},
		"account":          {"every namespace has one", nil, key("", "ServiceAccount", "team", "default"), false},
		"other account":    {"but not this", nil, key("", "ServiceAccount", "team", "builder"), true},
		"root certificate": {"nor can anybody help this", nil, key("", "ConfigMap", "team", "kube-root-ca.crt"), false},
		"api":              {"the API server makes it", nil, key("", "Service", "default", "kubernetes"), false},
		"not the api":      {"in one namespace alone", nil, key("", "Service", "team", "kubernetes"), true},
		"other group":      {"names count for their group", nil, key("serving.knative.dev", "Service", "default", "kubernetes"), true},
		"forbidden kind":   {"what the project may not have is not its business", nil, key("", "Secret", "team", "a"), false},
		"by name":          {"an entry that matches", []v1alpha1.OrphanedResourceKey{{Kind: "ConfigMap", Name: "left-*"}}, orphan, false},
		"by kind":          {"without a name all names", []v1alpha1.OrphanedResourceKey{{Kind: "Config*"}}, orphan, false},
		"by group":         {"without a kind all kinds", []v1alpha1.OrphanedResourceKey{{Group: "*"}}, orphan, false},
		"wrong group":      {"without a group the core group", []v1alpha1.OrphanedResourceKey{{Kind: "Deployment"}}, key("apps", "Deployment", "team", "a"), true},
		"wrong name":       {"one that does not match", []v1alpha1.OrphanedResourceKey{{Kind: "ConfigMap", Name: "kept-*"}}, orphan, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := rules(v1alpha1.AppProjectSpec{
				NamespaceResourceBlacklist: []v1alpha1.GroupKind{{Kind: "Secret"}},
				OrphanedResources:          &v1alpha1.OrphanedResources{Ignore: c.ignore},
			}).Orphans()
			if got := o.Reports(c.key); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

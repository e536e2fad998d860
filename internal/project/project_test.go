// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/project"
)

func rules(spec v1alpha1.AppProjectSpec) *project.Rules {
	return project.New(&v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: spec})
}

func TestSource(t *testing.T) {
	const repo = "https://git.example.test/team/shop.git"
	for name, c := range map[string]struct {
		reason   string
		patterns []string
		repo     string
		want     bool
	}{
		"nothing":         {"without a pattern nothing is permitted", nil, repo, false},
		"star":            {"a star alone permits everything", []string{"*"}, repo, true},
		"exact":           {"the address itself", []string{repo}, repo, true},
		"without .git":    {"one repository has several spellings", []string{"https://git.example.test/team/shop"}, repo, true},
		"upper case":      {"case is no difference", []string{"https://GIT.example.test/Team/shop"}, repo, true},
		"short ssh":       {"nor is the form of an SSH address", []string{"ssh://git@git.example.test/team/*"}, "git@git.example.test:team/shop.git", true},
		"segment":         {"a star stands for one segment", []string{"https://git.example.test/*/shop"}, repo, true},
		"not two":         {"and not for two", []string{"https://git.example.test/*"}, repo, false},
		"two":             {"two stars cross slashes", []string{"https://git.example.test/**"}, repo, true},
		"other":           {"another repository", []string{"https://git.example.test/team/other"}, repo, false},
		"denied":          {"a denial wins, wherever it stands", []string{"!https://git.example.test/team/shop", "*"}, repo, false},
		"denied other":    {"what it does not name is not touched", []string{"*", "!https://git.example.test/team/other"}, repo, true},
		"only denied":     {"a denial alone permits nothing", []string{"!https://git.example.test/team/other"}, repo, false},
		"malformed":       {"a malformed pattern matches nothing", []string{"https://git.example.test/[team/shop"}, repo, false},
		"malformed other": {"and does not spoil the others", []string{"[", repo}, repo, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rules(v1alpha1.AppProjectSpec{SourceRepos: c.patterns}).Source(c.repo); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func TestDestination(t *testing.T) {
	here := project.Destination{Server: "https://one.example.test:6443", Name: "one", Namespace: "team-a"}
	at := func(server, name, namespace string) v1alpha1.ApplicationDestination {
		return v1alpha1.ApplicationDestination{Server: server, Name: name, Namespace: namespace}
	}
	for name, c := range map[string]struct {
		reason string
		list   []v1alpha1.ApplicationDestination
		want   bool
	}{
		"nothing":            {"without an entry nothing is permitted", nil, false},
		"everything":         {"stars cross slashes and dots", []v1alpha1.ApplicationDestination{at("*", "", "*")}, true},
		"by server":          {"the server matches", []v1alpha1.ApplicationDestination{at("https://*.example.test:6443", "", "team-*")}, true},
		"by name":            {"the name is as good", []v1alpha1.ApplicationDestination{at("", "on?", "team-a")}, true},
		"other name":         {"server or name, one is enough", []v1alpha1.ApplicationDestination{at("*", "two", "*")}, true},
		"other namespace":    {"the namespace must match, too", []v1alpha1.ApplicationDestination{at("*", "", "team-b")}, false},
		"no namespace":       {"an entry without namespace is for none", []v1alpha1.ApplicationDestination{at("*", "", "")}, false},
		"denied namespace":   {"a denied namespace stays denied", []v1alpha1.ApplicationDestination{at("*", "", "*"), at("*", "", "!team-a")}, false},
		"denied elsewhere":   {"on another cluster it says nothing", []v1alpha1.ApplicationDestination{at("*", "", "*"), at("https://two.example.test", "", "!team-a")}, true},
		"not the denied":     {"a denial permits what it does not name", []v1alpha1.ApplicationDestination{at("*", "", "!kube-system")}, true},
		"denied server":      {"a denied server stays denied", []v1alpha1.ApplicationDestination{at("!https://one.example.test:6443", "", "*"), at("*", "", "*")}, false},
		"denied name":        {"so does a denied name", []v1alpha1.ApplicationDestination{at("*", "", "*"), at("", "!one", "*")}, false},
		"denied name, other": {"in its namespaces only", []v1alpha1.ApplicationDestination{at("*", "", "*"), at("", "!one", "team-b")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rules(v1alpha1.AppProjectSpec{Destinations: c.list}).Destination(here); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func TestClustersOfOneProject(t *testing.T) {
	everywhere := []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "*"}}
	for name, c := range map[string]struct {
		reason  string
		only    bool
		project string
		want    bool
	}{
		"free":  {"a cluster for all is for all", false, "", true},
		"other": {"a project that does not insist takes any", false, "other", true},
		"own":   {"one that insists takes its own", true, "team", true},
		"not":   {"and no other", true, "other", false},
		"all":   {"not even one for all", true, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules(v1alpha1.AppProjectSpec{Destinations: everywhere, PermitOnlyProjectScopedClusters: c.only})
			if got := r.Destination(project.Destination{Server: "https://one.example.test", Project: c.project}); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func TestKind(t *testing.T) {
	deployment, namespace := schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Kind: "Namespace"}
	kinds := func(pairs ...string) []v1alpha1.GroupKind {
		list := []v1alpha1.GroupKind{}
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, v1alpha1.GroupKind{Group: pairs[i], Kind: pairs[i+1]})
		}
		return list
	}
	cluster := func(group, kind, name string) []v1alpha1.ClusterResourceRestriction {
		return []v1alpha1.ClusterResourceRestriction{{Group: group, Kind: kind, Name: name}}
	}
	for name, c := range map[string]struct {
		reason     string
		spec       v1alpha1.AppProjectSpec
		gk         schema.GroupKind
		namespaced bool
		want       bool
	}{
		"namespaced, no list":    {"namespaced kinds are permitted", v1alpha1.AppProjectSpec{}, deployment, true, true},
		"namespaced, empty list": {"an empty list permits none", v1alpha1.AppProjectSpec{NamespaceResourceWhitelist: kinds()}, deployment, true, false},
		"namespaced, listed":     {"a list permits what it names", v1alpha1.AppProjectSpec{NamespaceResourceWhitelist: kinds("apps", "*")}, deployment, true, true},
		"namespaced, unlisted":   {"and nothing else", v1alpha1.AppProjectSpec{NamespaceResourceWhitelist: kinds("", "*")}, deployment, true, false},
		"namespaced, black":      {"a black list wins", v1alpha1.AppProjectSpec{NamespaceResourceWhitelist: kinds("*", "*"), NamespaceResourceBlacklist: kinds("apps", "Deploy*")}, deployment, true, false},
		"cluster, no list":       {"cluster-scoped kinds must be listed", v1alpha1.AppProjectSpec{NamespaceResourceWhitelist: kinds("*", "*")}, namespace, false, false},
		"cluster, listed":        {"then they are permitted", v1alpha1.AppProjectSpec{ClusterResourceWhitelist: cluster("", "Namespace", "")}, namespace, false, true},
		"cluster, name":          {"maybe some names only", v1alpha1.AppProjectSpec{ClusterResourceWhitelist: cluster("*", "*", "team-*")}, namespace, false, true},
		"cluster, other name":    {"not the others", v1alpha1.AppProjectSpec{ClusterResourceWhitelist: cluster("*", "*", "ops-*")}, namespace, false, false},
		"cluster, black":         {"a black list wins", v1alpha1.AppProjectSpec{ClusterResourceWhitelist: cluster("*", "*", ""), ClusterResourceBlacklist: cluster("", "Namespace", "team-a")}, namespace, false, false},
		"malformed":              {"a malformed pattern covers nothing", v1alpha1.AppProjectSpec{ClusterResourceWhitelist: cluster("[", "*", "")}, namespace, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rules(c.spec).Kind(c.gk, "team-a", c.namespaced); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	r := rules(v1alpha1.AppProjectSpec{
		SourceRepos:  []string{"https://git.example.test/team/*"},
		Destinations: []v1alpha1.ApplicationDestination{{Server: "https://one.example.test", Namespace: "team-a"}},
	})
	cluster := project.Destination{Server: "https://one.example.test", Namespace: "team-b"}
	want := []string{
		"application repo https://elsewhere.example.test/x is not permitted in project 'team'",
		"application destination server 'https://one.example.test' and namespace 'team-b' do not match any of the allowed destinations in project 'team'",
	}
	got := r.CheckApplication([]v1alpha1.ApplicationSource{{RepoURL: "https://git.example.test/team/a"}, {RepoURL: "https://elsewhere.example.test/x"}}, cluster)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		key        manifest.Key
		namespaced bool
		want       string
	}{
		{manifest.Key{Kind: "Namespace", Name: "x"}, false, "resource :Namespace is not permitted in project team"},
		{manifest.Key{Group: "apps", Kind: "Deployment", Namespace: "team-b", Name: "x"}, true, "namespace team-b is not permitted in project 'team'"},
		{manifest.Key{Group: "apps", Kind: "Deployment", Namespace: "team-a", Name: "x"}, true, ""},
	} {
		if got := r.CheckObject(c.key, c.namespaced, cluster); got != c.want {
			t.Errorf("%v: got %q, want %q", c.key, got, c.want)
		}
	}
}

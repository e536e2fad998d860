// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/project"
)

func TestGlobalProjectsAreAdded(t *testing.T) {
	lists := func(mark string) v1alpha1.AppProjectSpec {
		kinds := []v1alpha1.GroupKind{{Kind: mark}}
		restricted := []v1alpha1.ClusterResourceRestriction{{Kind: mark}}
		return v1alpha1.AppProjectSpec{
			SourceRepos: []string{mark}, Destinations: []v1alpha1.ApplicationDestination{{Server: mark}},
			ClusterResourceWhitelist: restricted, ClusterResourceBlacklist: restricted,
			NamespaceResourceWhitelist: kinds, NamespaceResourceBlacklist: kinds,
			SyncWindows:                []v1alpha1.SyncWindow{{Kind: mark}},
			DestinationServiceAccounts: []v1alpha1.DestinationServiceAccount{{Server: mark}},
			// These are a project's own.
			Description: mark, SourceNamespaces: []string{mark}, Roles: []v1alpha1.ProjectRole{{Name: mark}},
			SignatureKeys: []v1alpha1.SignatureKey{{KeyID: mark}}, PermitOnlyProjectScopedClusters: mark != "own",
			OrphanedResources: &v1alpha1.OrphanedResources{Ignore: []v1alpha1.OrphanedResourceKey{{Kind: mark}}},
		}
	}
	own := &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "own", Labels: map[string]string{"a": "b"}}, Spec: lists("own")}
	before := own.DeepCopy()
	got := project.WithGlobals(own, []*v1alpha1.AppProject{{Spec: lists("one")}, {Spec: lists("two")}})
	if diff := cmp.Diff(before, own); diff != "" {
		t.Errorf("the project itself was changed:\n%s", diff)
	}
	want := own.DeepCopy()
	for _, mark := range []string{"one", "two"} {
		more, s := lists(mark), &want.Spec
		s.SourceRepos = append(s.SourceRepos, more.SourceRepos...)
		s.Destinations = append(s.Destinations, more.Destinations...)
		s.ClusterResourceWhitelist = append(s.ClusterResourceWhitelist, more.ClusterResourceWhitelist...)
		s.ClusterResourceBlacklist = append(s.ClusterResourceBlacklist, more.ClusterResourceBlacklist...)
		s.NamespaceResourceWhitelist = append(s.NamespaceResourceWhitelist, more.NamespaceResourceWhitelist...)
		s.NamespaceResourceBlacklist = append(s.NamespaceResourceBlacklist, more.NamespaceResourceBlacklist...)
		s.SyncWindows = append(s.SyncWindows, more.SyncWindows...)
		s.DestinationServiceAccounts = append(s.DestinationServiceAccounts, more.DestinationServiceAccounts...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if project.WithGlobals(own, nil) != own {
		t.Error("a project without global ones was copied")
	}
}

// A project without a list of namespaced kinds permits all of them; a global
// project's list then is the only one.
func TestAGlobalListOfKindsNarrows(t *testing.T) {
	global := &v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{NamespaceResourceWhitelist: []v1alpha1.GroupKind{{Group: "apps", Kind: "*"}}}}
	r := project.New(project.WithGlobals(&v1alpha1.AppProject{}, []*v1alpha1.AppProject{global}))
	if !r.Kind(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "x", true) || r.Kind(schema.GroupKind{Kind: "Secret"}, "x", true) {
		t.Error("the list of the global project is not in force")
	}
}

func TestDigest(t *testing.T) {
	base := &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{UID: "1"}, Spec: v1alpha1.AppProjectSpec{SourceRepos: []string{"a"}}}
	for name, c := range map[string]struct {
		reason string
		change func(*v1alpha1.AppProject)
		same   bool
	}{
		"description": {"words permit nothing", func(p *v1alpha1.AppProject) { p.Spec.Description = "x" }, true},
		"roles":       {"people are another matter", func(p *v1alpha1.AppProject) { p.Spec.Roles = []v1alpha1.ProjectRole{{Name: "x"}} }, true},
		"status":      {"so are tokens", func(p *v1alpha1.AppProject) { p.ResourceVersion = "2" }, true},
		"sources":     {"a source more", func(p *v1alpha1.AppProject) { p.Spec.SourceRepos = []string{"a", "b"} }, false},
		"no kinds":    {"an empty list of kinds is none at all", func(p *v1alpha1.AppProject) { p.Spec.NamespaceResourceWhitelist = []v1alpha1.GroupKind{} }, false},
		"another":     {"a project made anew", func(p *v1alpha1.AppProject) { p.UID = "2" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := base.DeepCopy()
			c.change(changed)
			if got := project.Digest(changed) == project.Digest(base); got != c.same {
				t.Errorf("%s: same is %t", c.reason, got)
			}
		})
	}
}

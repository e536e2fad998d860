// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/project"
)

func TestNamespaces(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		patterns []string
		names    map[string]bool
	}{
		"nothing":    {"without a pattern there is none", nil, map[string]bool{"a": false, "": false}},
		"empty":      {"an empty entry is no pattern", []string{"", " "}, map[string]bool{"": false, "a": false}},
		"name":       {"a name is itself and no part of a longer one", []string{"team-a"}, map[string]bool{"team-a": true, "team-ab": false}},
		"blanks":     {"lists are written with blanks after the comma", []string{" team-a "}, map[string]bool{"team-a": true}},
		"glob":       {"a star stands for anything", []string{"team-*"}, map[string]bool{"team-a": true, "team-": true, "other": false}},
		"braces":     {"so do alternatives", []string{"{red,blue}-apps"}, map[string]bool{"red-apps": true, "green-apps": false}},
		"expression": {"between slashes it is a regular expression", []string{"/^team-[0-9]+$/"}, map[string]bool{"team-12": true, "team-x": false}},
		"unanchored": {"which finds its match anywhere", []string{"/apps/"}, map[string]bool{"red-apps-1": true, "red": false}},
		"look-ahead": {"and may look ahead, as Argo CD's documentation does", []string{"/^((?!kube-system).)*$/"}, map[string]bool{"team": true, "kube-system": false}},
		"malformed":  {"what is malformed matches nothing, the others count", []string{"/[/", "[", "good"}, map[string]bool{"[": false, "good": true}},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := project.ReadNamespaces(c.patterns)
			for ns, want := range c.names {
				if got := n.Match(ns); got != want {
					t.Errorf("%s: %q: got %t", c.reason, ns, got)
				}
			}
		})
	}
}

func TestNamespacesByName(t *testing.T) {
	n, err := project.ReadNamespaces([]string{"a", "b"})
	if names, all := n.Names(); err != nil || !all || strings.Join(names, " ") != "a b" || n.Empty() {
		t.Errorf("%v: names are %v, all %t, empty %t", err, names, all, n.Empty())
	}
	n, err = project.ReadNamespaces([]string{"a", "b*", "/c/"})
	if _, all := n.Names(); err != nil || all {
		t.Errorf("%v: patterns are taken for names", err)
	}
	n, err = project.ReadNamespaces([]string{"/[/", "a["})
	if err == nil || !strings.Contains(err.Error(), `"/[/" is no regular expression`) || !strings.Contains(err.Error(), `"a[" is no pattern`) || !n.Empty() {
		t.Errorf("the error is %v", err)
	}
}

func TestSourceNamespaces(t *testing.T) {
	for name, c := range map[string]struct {
		reason    string
		patterns  []string
		namespace string
		want      string
	}{
		"control":   {"the control namespace needs no permission", nil, "argocd", ""},
		"permitted": {"a pattern permits", []string{"team-*"}, "team-a", ""},
		"not":       {"nothing else does", []string{"other"}, "team-a", "application 'shop' in namespace 'team-a' is not allowed to use project team: add the namespace to spec.sourceNamespaces of AppProject argocd/team"},
		"by none":   {"a project is for the control namespace alone unless it says more", nil, "team-a", "application 'shop' in namespace 'team-a' is not allowed to use project team: add the namespace to spec.sourceNamespaces of AppProject argocd/team"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules(v1alpha1.AppProjectSpec{SourceNamespaces: c.patterns})
			if got := r.CheckNamespace("shop", c.namespace, "argocd"); got != c.want {
				t.Errorf("%s: got %q", c.reason, got)
			}
		})
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func TestPollsAskOnceForAll(t *testing.T) {
	heads := map[string]string{"main": "m1", "release": "r1"}
	var asked, moved []string
	p := newPolls(func(_ context.Context, of followed) (string, error) {
		asked = append(asked, of.RepoURL+" "+of.Revision)
		if heads[of.Revision] == "" {
			return "", errors.New("no such revision")
		}
		return heads[of.Revision], nil
	}, func(_ context.Context, name types.NamespacedName) { moved = append(moved, name.Name) })
	follow := func(name, repo, revision string) {
		p.follow(types.NamespacedName{Name: name}, "default", []v1alpha1.ApplicationSource{{RepoURL: repo, TargetRevision: revision, Path: name}}, []string{heads[revision]})
	}
	for i := range 1000 {
		follow(fmt.Sprint("app", i), "https://a/repo", "main")
	}
	follow("frozen", "https://a/repo", "release")
	follow("other", "https://b/repo", "main")
	check := func(why string, in func(string) bool, wantAsked, wantMoved []string) {
		t.Helper()
		asked, moved = nil, nil
		p.poll(t.Context(), in)
		if d := cmp.Diff(wantAsked, asked); d != "" {
			t.Errorf("%s: asked (-want +got):\n%s", why, d)
		}
		if d := cmp.Diff(wantMoved, moved); d != "" {
			t.Errorf("%s: moved (-want +got):\n%s", why, d)
		}
	}
	all := func(string) bool { return true }
	each := []string{"https://a/repo main", "https://a/repo release", "https://b/repo main"}
	check("nothing has moved", all, each, nil)
	heads["release"] = "r2"
	check("only who follows the branch that moved is told", all, each, []string{"frozen"})
	follow("frozen", "https://a/repo", "release")
	check("who has the new head is left alone", all, each, nil)
	delete(heads, "release")
	check("who follows what cannot be resolved is to say so", all, each, []string{"frozen"})
	p.unfollow(types.NamespacedName{Name: "frozen"})
	p.ask("https://b/repo.git")
	check("only the repository that somebody asks for", p.asked(), []string{"https://b/repo main"}, nil)
}

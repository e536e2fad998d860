// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

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
		for _, repo := range []string{"https://a/repo", "https://b/repo"} {
			if in(repo) {
				p.askRepository(t.Context(), repo)
			}
		}
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

// A repository that does not answer keeps nobody waiting but those who follow it, and
// what is wanted of it meanwhile is done afterwards, once.
func TestPollsOfOneRepositoryAreByThemselves(t *testing.T) {
	answer, asked := make(chan struct{}), make(chan string, 10)
	p := newPolls(func(ctx context.Context, of followed) (string, error) {
		asked <- of.RepoURL
		if of.RepoURL == "https://a/repo" {
			select {
			case <-answer:
			case <-ctx.Done():
			}
		}
		return "1", nil
	}, func(context.Context, types.NamespacedName) {})
	for _, repo := range []string{"https://a/repo", "https://b/repo"} {
		p.follow(types.NamespacedName{Name: repo}, "default", []v1alpha1.ApplicationSource{{RepoURL: repo}}, []string{"1"})
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.every(time.Hour)(ctx) }()
	expect := func(want string) {
		t.Helper()
		if got := <-asked; got != want {
			t.Fatalf("%s was asked, not %s", got, want)
		}
	}
	p.ask("https://a/repo")
	expect("https://a/repo")
	for range 3 {
		p.ask("https://b/repo.git")
		expect("https://b/repo")
	}
	p.poll(ctx, func(repo string) bool { return repo == "https://a/repo" })
	p.poll(ctx, func(repo string) bool { return repo == "https://a/repo" })
	answer <- struct{}{}
	expect("https://a/repo")
	answer <- struct{}{}
	p.ask("https://b/repo")
	expect("https://b/repo")
	p.ask("https://a/repo")
	expect("https://a/repo")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(asked) > 0 {
		t.Errorf("%s was asked although nobody wanted it", <-asked)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCanonicalURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://github.com/acme/shop.git":         "github.com/acme/shop",
		"https://github.com/acme/shop/":            "github.com/acme/shop",
		"https://token@GitHub.com/acme/shop":       "github.com/acme/shop",
		"ssh://git@github.com/acme/shop.git":       "github.com/acme/shop",
		"git@github.com:acme/shop.git":             "github.com/acme/shop",
		"github.com:acme/shop":                     "github.com/acme/shop",
		"https://git.example.com:8443/acme/shop":   "https://git.example.com:8443/acme/shop",
		"http://127.0.0.1:4321/repo.git":           "http://127.0.0.1:4321/repo",
		"/srv/git/shop.git":                        "/srv/git/shop",
		"file:///srv/git/shop.git":                 "file:///srv/git/shop",
		"../relative/dir:with/colon":               "../relative/dir:with/colon",
		"https://github.com/acme/shop.git/":        "github.com/acme/shop",
		"ssh://git@git.example.com:2222/acme/shop": "ssh://git@git.example.com:2222/acme/shop",
	} {
		if got := canonicalURL(raw); got != want {
			t.Errorf("canonicalURL(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestSpellingsAreOfOneRepository(t *testing.T) {
	for _, raw := range []string{"https://user:secret@github.com/acme/shop.git", "git@github.com:acme/shop.git", "ssh://git@github.com/acme/shop"} {
		got := spellings(raw)
		for _, s := range got {
			if canonicalURL(s) != canonicalURL(raw) {
				t.Errorf("spellings(%q) has %q, which is another repository", raw, s)
			}
		}
		for _, want := range []string{"https://github.com/acme/shop", "git@github.com:acme/shop"} {
			if !slices.Contains(got, want) {
				t.Errorf("spellings(%q) = %q, want %q among them", raw, got, want)
			}
		}
		if slices.Contains(got, "https://user:secret@github.com/acme/shop") {
			t.Errorf("spellings(%q) = %q: a credential", raw, got)
		}
	}
	if diff := cmp.Diff([]string{"/srv/git/shop"}, spellings("/srv/git/shop.git")); diff != "" {
		t.Errorf("a local path has one spelling (-want +got):\n%s", diff)
	}
}

func TestGitEnvLeavesGitsOwnVariablesOut(t *testing.T) {
	s := Streams{Environ: []string{"PATH=/bin", "GIT_DIR=/elsewhere", "GIT_INDEX_FILE=x", "SECRET=y", "HTTPS_PROXY=http://proxy"}}
	want := []string{"PATH=/bin", "HTTPS_PROXY=http://proxy"}
	if diff := cmp.Diff(want, s.gitEnv()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

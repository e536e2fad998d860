// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import "testing"

func TestBasesAreReadAsKustomizationsNameThem(t *testing.T) {
	for entry, want := range map[string]Base{
		"https://git.example.com/acme/bases.git//web?ref=v1":         {"https://git.example.com/acme/bases.git", "web", "v1"},
		"https://git.example.com/acme/bases.git/web/x?ref=v1":        {"https://git.example.com/acme/bases.git", "web/x", "v1"},
		"https://git.example.com/acme/bases?ref=v1":                  {"https://git.example.com/acme/bases", ".", "v1"},
		"https://github.com/acme/bases/web/x?ref=v1&timeout=90s":     {"https://github.com/acme/bases", "web/x", "v1"},
		"github.com/acme/bases//web?version=v1":                      {"https://github.com/acme/bases", "web", "v1"},
		"github.com/acme/bases":                                      {"https://github.com/acme/bases", ".", ""},
		"git@git.example.com:acme/bases.git//web":                    {"git@git.example.com:acme/bases.git", "web", ""},
		"ssh://git@git.example.com/acme/bases//web?ref=main":         {"ssh://git@git.example.com/acme/bases", "web", "main"},
		"git::https://git.example.com/acme/bases//web":               {"https://git.example.com/acme/bases", "web", ""},
		"https://git.example.com/acme/bases//../../../etc":           {"https://git.example.com/acme/bases", "etc", ""},
		"https://git.example.com/acme/bases//web?ref=refs%2Fheads/x": {"https://git.example.com/acme/bases", "web", "refs/heads/x"},
	} {
		if got, err := ParseBase(entry); err != nil || got != want {
			t.Errorf("%s: %+v, %v", entry, got, err)
		}
	}
	for _, entry := range []string{"file:///srv/repo//web", "https://git.example.com/allowed/../other//web", "https://", "https://x?ref=%zz"} {
		if got, err := ParseBase(entry); err == nil {
			t.Errorf("%s: %+v", entry, got)
		}
	}
}

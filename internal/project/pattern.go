// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"regexp"
	"strings"

	"github.com/gobwas/glob"
)

// pattern is a glob, or with a leading "!" the denial of what a glob names. It is
// of the library that Argo CD uses, because projects are written for its grammar.
type pattern struct {
	glob glob.Glob
	deny bool
}

// compile reads a pattern; with separators, "*" stops at them.
func compile(text string, separators ...rune) pattern {
	text, deny := strings.CutPrefix(text, "!")
	g, err := glob.Compile(text, separators...)
	if err != nil {
		return pattern{deny: deny}
	}
	return pattern{glob: g, deny: deny}
}

// names reports whether the glob itself names a text.
func (p pattern) names(text string) bool { return p.glob != nil && p.glob.Match(text) }

// matches reports whether the pattern lets a text pass.
func (p pattern) matches(text string) bool { return p.glob != nil && p.names(text) != p.deny }

// denies reports whether the pattern forbids a text.
func (p pattern) denies(text string) bool { return p.deny && p.names(text) }

// repositoryPattern reads a pattern over addresses of repositories, in which "*"
// stops at a slash unless it stands alone.
func repositoryPattern(text string) pattern {
	if text == "*" {
		return compile("**", '/')
	}
	bare, deny := strings.CutPrefix(text, "!")
	p := compile(normalised(bare), '/')
	p.deny = deny
	return p
}

// scpAddress is the short form of an SSH address: user@host:path.
var scpAddress = regexp.MustCompile(`^([^/:]+):([^/].*)$`)

// normalised brings the forms in which one repository can be addressed together.
func normalised(repo string) string {
	repo = strings.ToLower(strings.TrimSpace(repo))
	repo = scpAddress.ReplaceAllString(repo, "$1/$2")
	repo = strings.TrimPrefix(repo, "ssh://")
	return strings.TrimSuffix(strings.TrimSuffix(repo, "/"), ".git")
}

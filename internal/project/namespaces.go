// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/gobwas/glob"
)

// Namespaces are patterns over namespaces in Argo CD's grammar: globs, or regular
// expressions between slashes. The zero value matches none.
type Namespaces struct {
	names    []string
	patterns []func(string) bool
}

// patternTime bounds how long a regular expression may look at one name. They may
// look ahead, as people's do, and so cannot promise to be quick.
const patternTime = 100 * time.Millisecond

// ReadNamespaces reads patterns. The error names those that are malformed; they
// match nothing, the others count.
func ReadNamespaces(texts []string) (Namespaces, error) {
	var n Namespaces
	var faults []error
	for _, text := range texts {
		text = strings.TrimSpace(text)
		switch {
		case text == "":
		case len(text) > 1 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/"):
			re, err := regexp2.Compile(text[1:len(text)-1], regexp2.None)
			if err != nil {
				faults = append(faults, fmt.Errorf("%q is no regular expression: %w", text, err))
				continue
			}
			re.MatchTimeout = patternTime
			n.patterns = append(n.patterns, func(name string) bool {
				ok, err := re.MatchString(name)
				return ok && err == nil
			})
		case strings.ContainsAny(text, `*?[]{}\!`):
			g, err := glob.Compile(text)
			if err != nil {
				faults = append(faults, fmt.Errorf("%q is no pattern: %w", text, err))
				continue
			}
			n.patterns = append(n.patterns, g.Match)
		default:
			n.names = append(n.names, text)
		}
	}
	return n, errors.Join(faults...)
}

// Match reports whether one of the patterns matches a namespace.
func (n Namespaces) Match(namespace string) bool {
	return slices.Contains(n.names, namespace) ||
		slices.ContainsFunc(n.patterns, func(matches func(string) bool) bool { return matches(namespace) })
}

// Names returns the namespaces if they are given by name alone; all is false if
// there are patterns whose namespaces only the cluster knows.
func (n Namespaces) Names() (names []string, all bool) { return n.names, len(n.patterns) == 0 }

// Empty reports whether there are neither names nor patterns.
func (n Namespaces) Empty() bool { return len(n.names)+len(n.patterns) == 0 }

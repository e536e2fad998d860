// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Rule is a check that a repository brings itself.
type Rule struct {
	Name     string
	Severity diag.Severity
	// Match are the objects concerned; the zero pattern stands for all.
	Match manifest.Pattern
	// Path is a pattern over the files that objects come from; empty for all.
	Path    string
	Message string
	// Holds tells whether all is well with an object.
	Holds func(object map[string]any) (bool, error)
}

// applies tells whether a rule is about an object.
func (r Rule) applies(o manifest.Object, k manifest.Key) bool {
	return (r.Match.String() == "" || r.Match.Matches(k)) && (r.Path == "" || MatchPath(r.Path, o.Provenance.File))
}

// rules runs the repository's own checks.
func rules(w *world) {
	for _, rule := range w.in.Rules {
		for _, s := range w.every() {
			if !rule.applies(*s.Object, s.Key) {
				continue
			}
			holds, err := rule.Holds(s.content())
			switch {
			case err != nil:
				w.add(s, problem(rule.Name, rule.Severity, "", fmt.Sprintf("%s: rule %s cannot be evaluated: %v", s.Key.Short(), rule.Name, err), "correct the rule in .wavetrain.yaml"))
			case !holds:
				w.add(s, problem(rule.Name, rule.Severity, "", s.Key.Short()+": "+rule.Message, ""))
			}
		}
	}
}

// Layout restricts the kinds of objects that files may hold.
type Layout struct {
	// Path is a pattern over files.
	Path string
	// Only are the kinds allowed, "Kind" or "Kind.group".
	Only   []string
	Reason string
}

// Check finds objects that do not belong into a file.
func (l Layout) Check(file string, objects []manifest.Object) []Finding {
	if !MatchPath(l.Path, file) {
		return nil
	}
	var found []Finding
	for _, o := range objects {
		k := o.Key()
		if slices.ContainsFunc(l.Only, func(kind string) bool { return kind == k.Kind || kind == k.GroupKind().String() }) {
			continue
		}
		f := problem("layout", diag.Error, "kind", fmt.Sprintf("%s does not belong here: %s holds only %s", k.Short(), l.Path, strings.Join(l.Only, ", ")), l.Reason)
		f.Subject, f.At = k, o.Provenance
		found = append(found, f)
	}
	return found
}

// MatchPath tells whether a pattern stands for a file: * is any text without a
// slash, ** any text.
func MatchPath(pattern, file string) bool {
	for pattern != "" {
		switch {
		case strings.HasPrefix(pattern, "**"):
			return matchAny(strings.TrimPrefix(pattern[2:], "/"), file)
		case pattern[0] == '*':
			return matchName(pattern[1:], file)
		case file == "" || pattern[0] != file[0]:
			return false
		}
		pattern, file = pattern[1:], file[1:]
	}
	return file == ""
}

// matchAny matches what follows ** at the beginning of each part of a path.
func matchAny(rest, file string) bool {
	for i := range len(file) + 1 {
		if (i == 0 || file[i-1] == '/' || rest == "") && MatchPath(rest, file[i:]) {
			return true
		}
	}
	return false
}

// matchName matches what follows * at every place of the present part of a path.
func matchName(rest, file string) bool {
	for i := range len(file) + 1 {
		if MatchPath(rest, file[i:]) {
			return true
		}
		if i < len(file) && file[i] == '/' {
			return false
		}
	}
	return false
}

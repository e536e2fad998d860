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
	for _, s := range w.every() {
		for _, f := range CheckRules(w.in.Rules, *s.Object, s.Key) {
			w.add(s, f)
		}
	}
}

// CheckRules runs rules on an object that is in no plan, such as an Application that
// is applied by hand.
func CheckRules(rules []Rule, o manifest.Object, key manifest.Key) []Finding {
	var found []Finding
	for _, rule := range rules {
		if !rule.applies(o, key) {
			continue
		}
		holds, err := rule.Holds(o.Object)
		var f Finding
		switch {
		case err != nil:
			f = problem(rule.Name, rule.Severity, "", fmt.Sprintf("%s: rule %s cannot be evaluated: %v", key.Short(), rule.Name, err), "correct the rule in .wavetrain.yaml")
		case !holds:
			f = problem(rule.Name, rule.Severity, "", key.Short()+": "+rule.Message, "")
		default:
			continue
		}
		f.Subject, f.At = key, o.Provenance
		found = append(found, f)
	}
	return found
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
// slash, ** any text, and **/ any number of directories.
func MatchPath(pattern, file string) bool {
	// at holds the places in file to which what has been read of the pattern leads.
	at := make([]bool, len(file)+1)
	at[0] = true
	for pattern != "" {
		switch {
		case strings.HasPrefix(pattern, "**"):
			pattern = strings.TrimPrefix(pattern[2:], "/")
			last := pattern == ""
			spread(at, func(i int) bool { return last || file[i-1] == '/' }, func(int) bool { return true })
		case pattern[0] == '*':
			pattern = pattern[1:]
			spread(at, func(int) bool { return true }, func(i int) bool { return file[i] != '/' })
		default:
			for i := len(file); i > 0; i-- {
				at[i] = at[i-1] && file[i-1] == pattern[0]
			}
			at[0] = false
			pattern = pattern[1:]
		}
	}
	return at[len(file)]
}

// spread adds the places that a wildcard reaches from those given: it goes on over
// what passes, and may end where it ends.
func spread(at []bool, ends, passes func(int) bool) {
	open := false
	for i := range at {
		if at[i] {
			open = true
		} else if open && ends(i) {
			at[i] = true
		}
		open = open && (i == len(at)-1 || passes(i))
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// AnnotationIgnore on an object leaves findings about it out:
// "code: reason; code: reason".
const AnnotationIgnore = "wavetrain.dev/verify-ignore"

// Suppression leaves findings out.
type Suppression struct {
	Code string
	// Match are the objects concerned; the zero pattern stands for all.
	Match manifest.Pattern
	// Path is a pattern over the files concerned; empty for all.
	Path   string
	Reason string
	// At is where it was written.
	At manifest.Provenance
	// Subject is set when it stands on an object itself.
	Subject manifest.Key
}

func (s Suppression) covers(f Finding) bool {
	if s.Code != f.Code {
		return false
	}
	if s.Subject != (manifest.Key{}) {
		return s.Subject == f.Subject
	}
	return (s.Match.String() == "" || s.Match.Matches(f.Subject)) && (s.Path == "" || MatchPath(s.Path, f.At.File))
}

// Suppressions returns those that the objects of a plan carry, and findings about
// those that cannot be understood: their codes are those of checks and rules.
func Suppressions(p *plan.Plan, rules []Rule) (list []Suppression, problems []Finding) {
	seen := map[manifest.Key]bool{}
	for _, g := range slices.Concat(p.Groups, p.OnDeletion) {
		for i := range g.Steps {
			s := titled(&g.Steps[i])
			if s.Object == nil || deletes(s.Action) || seen[s.Key] {
				continue
			}
			seen[s.Key] = true
			text := s.Object.GetAnnotations()[AnnotationIgnore]
			for part := range strings.SplitSeq(text, ";") {
				if part = strings.TrimSpace(part); part == "" {
					continue
				}
				code, reason, _ := strings.Cut(part, ":")
				one := Suppression{Code: Alias(strings.TrimSpace(code)), Reason: strings.TrimSpace(reason), Subject: s.Key, At: s.Object.Provenance}
				if fault := one.fault(rules); fault != "" {
					problems = append(problems, Finding{Diagnostic: diag.Diagnostic{
						Code: "invalid-suppression", Severity: diag.Warning, Subject: s.Key, At: s.Object.Provenance, Field: "metadata.annotations[" + AnnotationIgnore + "]",
						Message: fmt.Sprintf("%s: %q %s", s.Key.Short(), part, fault), Hint: "write code: reason",
					}})
					continue
				}
				list = append(list, one)
			}
		}
	}
	return list, problems
}

// fault says what is wrong with a suppression.
func (s Suppression) fault(rules []Rule) string {
	switch {
	case s.Reason == "":
		return "gives no reason"
	case !slices.ContainsFunc(Codes(), func(c Code) bool { return c.Name == s.Code }) &&
		!slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == s.Code }):
		return "is no code of a check"
	}
	return ""
}

// Suppress takes out the findings that suppressions cover. Those that cover
// nothing are left over: unused says which, by their index.
func Suppress(found []Finding, list []Suppression) (kept []Finding, unused []int) {
	used := make([]bool, len(list))
	for _, f := range found {
		hidden := false
		for i, s := range list {
			if s.covers(f) {
				hidden, used[i] = true, true
			}
		}
		if !hidden {
			kept = append(kept, f)
		}
	}
	for i := range list {
		if !used[i] {
			unused = append(unused, i)
		}
	}
	return kept, unused
}

// Unused is the finding about a suppression that covers nothing any more.
func Unused(s Suppression) Finding {
	what := s.Code
	if s.Match.String() != "" {
		what += " for " + s.Match.String()
	}
	if s.Path != "" {
		what += " in " + s.Path
	}
	return Finding{Diagnostic: diag.Diagnostic{
		Code: "unused-suppression", Severity: diag.Info, Subject: s.Subject, At: s.At,
		Message: fmt.Sprintf("nothing is left to suppress: %s (%s)", what, s.Reason), Hint: "remove it",
	}}
}

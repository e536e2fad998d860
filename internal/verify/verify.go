// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Input is all that checks depend on.
type Input struct {
	// Plan of the application. Findings that it carries are part of the result.
	Plan *plan.Plan
	// Live is the cluster before the rollout: nil without one.
	Live Live
	// Base is the rendered set of the release before, by key; nil when there is
	// none to compare with.
	Base map[manifest.Key]manifest.Object
	// Elsewhere names another application that renders an object; nil stands for
	// nobody.
	Elsewhere func(manifest.Key) string
	// Owners names the other applications that an object of the cluster belongs to, as
	// it says itself; nil stands for nobody.
	Owners func(manifest.Key) []string
	// External are objects that somebody has declared to be there although
	// nobody renders them.
	External []manifest.External
	// Table adds to what is known of kinds naming each other.
	Table manifest.Table
	// Rules are the repository's own checks.
	Rules []Rule
	// Nodes are those that the cluster is said to have; nothing is said about nodes
	// if there are none.
	Nodes []Node
	// Definitions are CustomResourceDefinitions that other applications bring, by the
	// kinds that they define.
	Definitions map[schema.GroupKind]*unstructured.Unstructured
	// Ignores tells whether ignoreDifferences leaves a field, given as a JSON
	// pointer, to others and syncs respect it; nil stands for never.
	Ignores func(object manifest.Key, pointer string) bool
	// Unstable are the fields that differ between two renderings of one input.
	Unstable []UnstableField
}

// Live answers what a cluster holds.
type Live interface {
	// Get returns an object; known is false when the cluster could not be asked
	// about its kind.
	Get(manifest.Key) (object *unstructured.Unstructured, known bool)
}

// UnstableField is a field that two renderings of one input give differently.
type UnstableField struct {
	Object manifest.Key
	Field  string
	// Cause is the function behind it, or "derived from Kind/name".
	Cause string
	// GuardedBy is what keeps the value on a cluster, such as "lookup"; empty for
	// nothing.
	GuardedBy string
}

// Finding is a diagnostic with the places in the rollout that it is about.
type Finding struct {
	diag.Diagnostic
	// Place of the subject, as "PreSync/-1".
	Place string
	// Needs is the other object, AvailableAt the place at which it is there.
	Needs       manifest.Key
	AvailableAt string
	// Details name further values that belong to the evidence.
	Details map[string]string
}

// Check is one check of the chain.
type Check struct {
	// Codes that its findings may have, with what each means in a line.
	Codes []Code
	run   func(*world)
}

// Code is a kind of finding.
type Code struct {
	Name string
	// Severity is the worst that a finding of the code has.
	Severity diag.Severity
	// Summary says in a line what is found.
	Summary string
}

// Run runs all checks. Findings are ordered by severity, subject and code; the
// same input gives the same findings.
func Run(in Input) []Finding {
	w := newWorld(in)
	for _, f := range in.Plan.Findings {
		w.found = append(w.found, Finding{Diagnostic: f, Place: w.placeOf(f.Subject)})
	}
	for _, m := range in.Plan.Moved {
		w.moved(m)
	}
	for _, check := range Checks() {
		check.run(w)
	}
	Sort(w.found)
	return slices.CompactFunc(w.found, func(a, b Finding) bool { return compare(a, b) == 0 })
}

// Deadlocks finds, from the plan alone, what waits for something that only comes when
// it is ready itself.
func Deadlocks(p *plan.Plan) []Finding {
	w := newWorld(Input{Plan: p})
	waits(w)
	slices.SortStableFunc(w.found, compare)
	return w.found
}

// Sort brings findings into their order: by severity, subject and code.
func Sort(found []Finding) { slices.SortStableFunc(found, compare) }

func compare(a, b Finding) int {
	return cmp.Or(
		diag.Compare(a.Diagnostic, b.Diagnostic),
		a.Needs.Compare(b.Needs),
		cmp.Compare(a.Field, b.Field),
		cmp.Compare(a.Place, b.Place),
	)
}

// moved tells of an object that stands elsewhere than it asked for.
func (w *world) moved(m plan.Move) {
	s, ok := w.first(m.Key)
	if !ok {
		return
	}
	w.add(s, Finding{
		Diagnostic: diag.Diagnostic{
			Code: "order-moved", Severity: diag.Info,
			Message: m.Key.Short() + " asks for " + m.From + " and stands in " + m.To + ", because " + m.Because.Short() + " needs it there",
		},
		Needs:   m.Because,
		Details: map[string]string{"from": m.From, "to": m.To},
	})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package diag holds the one type in which Wavetrain reports a finding, a
// refusal or the reason of a wait: a stable code, a severity, the object it
// concerns, a message and what to do about it.
//
// The room is pure and knows nothing of who shows a diagnostic.
package diag

import (
	"cmp"
	"slices"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Severity ranks a diagnostic.
type Severity string

// Severities from worst to mildest.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

func (s Severity) rank() int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	default:
		return 2
	}
}

// Diagnostic is one finding or reason.
type Diagnostic struct {
	// Code is stable and documented, for example "duplicate-conflict".
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Subject is the object concerned; zero when the diagnostic concerns the
	// whole application or source.
	Subject manifest.Key `json:"subject"`
	// Field is the path of the field concerned, for example
	// "spec.template.spec.serviceAccountName".
	Field string `json:"field,omitempty"`
	// Message is one line without a trailing period's worth of context: what,
	// where, for which input.
	Message string `json:"message"`
	// Hint says what to change.
	Hint string              `json:"hint,omitempty"`
	At   manifest.Provenance `json:"at,omitzero"`
	// Related are other objects that are part of the evidence.
	Related []manifest.Key `json:"related,omitempty"`
}

// Sort orders diagnostics by severity, subject, code and message, so that a
// list reads the same whatever order the checks ran in.
func Sort(list []Diagnostic) {
	slices.SortStableFunc(list, Compare)
}

// Compare orders diagnostics by severity, subject, code and message.
func Compare(a, b Diagnostic) int {
	return cmp.Or(
		cmp.Compare(a.Severity.rank(), b.Severity.rank()),
		a.Subject.Compare(b.Subject),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Message, b.Message),
	)
}

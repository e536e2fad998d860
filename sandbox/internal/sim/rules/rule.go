// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules is the language that directs the simulation: what Pods do, what third-party controllers
// do, and when. It parses and matches; it knows no cluster, no clock and no files.
package rules

import (
	"strings"
	"time"
)

// Rule says what happens to the objects it matches. Effects that a rule leaves out are nil.
type Rule struct {
	// Source is FILE:LINE of the rule.
	Source string
	Match  Match

	// Effects on Pods of what is matched.

	Needs          *Needs
	NeedsKeys      bool
	NeedsCompleted []Ref
	NeedsBound     []Ref
	Outcome        *Outcome
	InitTakes      *time.Duration
	DeletionTakes  *time.Duration
	AddsNodes      *AddsNodes
	// Logs is what the containers write.
	Logs string

	// Effects on the matched object itself.

	SetStatus        []StatusAt
	Creates          []ObjectAt
	Updates          []ObjectAt
	Patches          []PatchAt
	AddsFinalizer    string
	RemovesFinalizer *RemovesFinalizer
	Scales           []ScaleAt
	Binding          *Binding
	Events           []EventAt
	Then             *Then
	// Behaves names a behaviour that is written in Go (see thirdparty). BehavesNone is none at all.
	Behaves string
}

// BehavesNone switches off what a shipped rule set would do.
const BehavesNone = "none"

// Match selects objects; an empty field selects all.
type Match struct {
	// Kind may carry its group: Cluster.postgresql.cnpg.io.
	Kind      string
	Namespace string
	// Name may end in "*".
	Name string
	// Owner selects the Pods below that workload.
	Owner *Ref
	// Image matches when any container has it; "*" stands for any text.
	Image string
	// Generation is that of the object or, for Pods, of the owner whose template the Pod has.
	Generation int64
	// Occurrence is n for the n-th object of that name or the n-th Pod of that owner.
	Occurrence int
	// StorageClass is that of a claim.
	StorageClass string
}

// Ref is an object, in the namespace of what is matched unless it names another.
type Ref struct{ Kind, Namespace, Name string }

func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}

// Needs lists what must exist before a Pod starts.
type Needs struct {
	Refs        []Ref
	FromPodSpec bool
}

// Outcome is what becomes of a started Pod. Its keys answer one question, so they are one effect: the
// first matching rule that has any of them decides all.
type Outcome struct {
	ReadyAfter, SucceedAfter, FailAfter *time.Duration
	NeverReady, NeverFinish             bool
	Waiting                             *Waiting
	ExitCode                            *int32
}

// Waiting keeps a Pod's containers from starting, for a reason that the kubelet would show.
type Waiting struct{ Reason, Message string }

// AddsNodes is an autoscaler's answer to a Pod that fits nowhere.
type AddsNodes struct {
	// After is the time from when the Pod was found unschedulable to when the nodes are Ready.
	After time.Duration
	Count int
	// Zone and Labels are put on the new nodes; Capacity replaces the usual one.
	Zone     string
	Labels   map[string]string
	Capacity map[string]string
}

// StatusAt is a status that a third-party controller writes.
type StatusAt struct {
	At     time.Duration
	Status map[string]any
}

// ObjectAt is an object that a third-party controller writes.
type ObjectAt struct {
	At time.Duration
	// Object is complete for the long form. For the short form (kind, name, labels, data) it has no
	// apiVersion, which the kind decides.
	Object map[string]any
}

// PatchAt is a change of one field of the matched object.
type PatchAt struct {
	At      time.Duration
	Manager string
	// Path is a JSON pointer, or the same with dots.
	Path  string
	Value any
}

// RemovesFinalizer drops a finalizer some time after deletion was asked for, while other objects exist.
type RemovesFinalizer struct {
	Name  string
	After time.Duration
	While []Ref
}

// ScaleAt is a load under which an autoscaler computes that many replicas.
type ScaleAt struct {
	At       time.Duration
	Target   Ref
	Replicas int32
}

// Binding is when a claim is bound.
type Binding struct {
	Never bool
	// After runs from when the claim is first seen, or from the first Pod that uses it.
	After           time.Duration
	FirstPodUsingIt bool
}

// EventAt is an Event on the matched object.
type EventAt struct {
	At                    time.Duration
	Type, Reason, Message string
}

// Then is what happens after the end of a Job.
type Then struct {
	DeleteObjectAfter time.Duration
	// By is who does it, in the audit log.
	By string
}

// HasObjectEffect reports whether r acts on the matched object itself, as a third-party controller does.
func (r *Rule) HasObjectEffect() bool {
	return len(r.SetStatus) > 0 || len(r.Creates) > 0 || len(r.Updates) > 0 || len(r.Patches) > 0 ||
		r.AddsFinalizer != "" || r.RemovesFinalizer != nil || len(r.Scales) > 0 || len(r.Events) > 0 ||
		r.Then != nil || r.Behaves != ""
}

// Kinds returns the kinds a rule is about or depends on, as often as they occur.
func (r *Rule) Kinds() []string {
	var kinds []string
	if r.HasObjectEffect() {
		kinds = append(kinds, r.Match.objectKind())
	}
	refs := append([]Ref(nil), r.NeedsCompleted...)
	if r.Needs != nil {
		refs = append(refs, r.Needs.Refs...)
	}
	if r.RemovesFinalizer != nil {
		refs = append(refs, r.RemovesFinalizer.While...)
	}
	for _, ref := range refs {
		kinds = append(kinds, ref.Kind)
	}
	return kinds
}

// objectKind is the kind of what is matched; what has an owner is a Pod.
func (m *Match) objectKind() string {
	if m.Kind == "" && m.Owner != nil {
		return "Pod"
	}
	return m.Kind
}

// glob reports whether text is what pattern says; each "*" stands for any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

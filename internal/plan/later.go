// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// arrivals are what the steps of a plan bring that other steps need in order to be
// admitted.
type arrivals struct {
	// written are the objects that steps write, created those that are not there yet.
	written, created map[manifest.Key]bool
	// services tells whether there are Services among the created.
	services bool
	// kinds are those whose definition comes or changes, expected those that
	// something else is said to register.
	kinds, expected map[schema.GroupKind]bool
}

// postpone names the steps that no API server can judge before other steps of the
// plan are done, with the reason.
func (b *builder) postpone() {
	a := b.arrivals()
	for gi := range b.plan.Groups {
		for si := range b.plan.Groups[gi].Steps {
			if s := &b.plan.Groups[gi].Steps[si]; s.Object != nil && !s.Action.deletes() {
				s.Later = a.reason(s, b.in.Guards)
			}
		}
	}
}

func (b *builder) arrivals() arrivals {
	a := arrivals{
		written: map[manifest.Key]bool{}, created: map[manifest.Key]bool{},
		kinds: map[schema.GroupKind]bool{}, expected: map[schema.GroupKind]bool{},
	}
	for _, f := range b.plan.Findings {
		if f.Code == CodeKindNotKnownYet {
			a.expected[f.Subject.GroupKind()] = true
		}
	}
	for _, g := range b.plan.Groups {
		for _, s := range g.Steps {
			if s.Object == nil || s.Action == None || s.Action.deletes() {
				continue
			}
			a.written[s.Key] = true
			if a.created[s.Key] = s.Precondition == "absent"; a.created[s.Key] && s.Key.GroupKind() == (schema.GroupKind{Kind: "Service"}) {
				a.services = true
			}
			if gk, ok := manifest.DefinesKind(s.Object.Unstructured); ok {
				a.kinds[gk] = true
			}
		}
	}
	return a
}

// reason says why a step is checked when its turn comes, empty if it can be checked
// before anything is written.
func (a arrivals) reason(s *Step, guards func(manifest.Key, *unstructured.Unstructured) []manifest.Key) string {
	switch {
	case a.kinds[s.Key.GroupKind()]:
		return fmt.Sprintf("this sync brings the definition of %s", s.Key.GroupKind())
	case a.expected[s.Key.GroupKind()]:
		return fmt.Sprintf("something else is to register %s", s.Key.GroupKind())
	case s.Key.GroupKind() == schema.GroupKind{Kind: "Pod"}:
		return a.admits(s)
	case guards == nil || !a.services:
		return ""
	}
	for _, service := range guards(s.Key, s.Object.Unstructured) {
		if a.created[service] && service != s.Key {
			return fmt.Sprintf("this sync brings %s, which its admission webhook is served by", service.Short())
		}
	}
	return ""
}

// admits says what of the plan a Pod needs to be admitted.
func (a arrivals) admits(pod *Step) string {
	account, _, _ := unstructured.NestedString(pod.Object.Object, "spec", "serviceAccountName")
	class, _, _ := unstructured.NestedString(pod.Object.Object, "spec", "priorityClassName")
	for _, need := range []manifest.Key{
		{Kind: "Namespace", Name: pod.Key.Namespace},
		{Kind: "ServiceAccount", Namespace: pod.Key.Namespace, Name: account},
		{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: class},
	} {
		if a.written[need] {
			return fmt.Sprintf("this sync brings %s, which the Pod needs to be admitted", need.Short())
		}
	}
	return ""
}

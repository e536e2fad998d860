// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// skip is the hook type that takes an object out of the rollout; it is not a
// phase.
const skip = "Skip"

// Class says what part an object takes in a rollout.
type Class struct {
	// Phases are the phases in which the object is applied, in the order in
	// which they run: Sync for an ordinary object, none for one that is skipped,
	// ignored or only meant for the application's deletion.
	Phases []Phase
	// Hook is true for an object that runs as a hook, even if it is Ignored: it
	// is not compared with the cluster and never pruned. It is false for Skip.
	Hook bool
	// Skip is true for an object whose owner took it out of the rollout: neither
	// applied nor pruned.
	Skip bool
	// Ignored is true for a hook none of whose types exists in a rollout, for
	// example a Helm test.
	Ignored bool
	// Reason says why the object is skipped or ignored.
	Reason string
	// DeletePhases are the deletion phases the object is a hook of.
	DeletePhases []Phase
	// Types are the hook values that counted, as they are written ("PreSync",
	// "pre-install", "post-delete"), in the order in which they are written.
	Types []string
}

// OnlyOnDelete reports whether the object runs when its application is deleted
// and at no other time.
func (c Class) OnlyOnDelete() bool {
	return len(c.DeletePhases) > 0 && len(c.Phases) == 0
}

// Classify reads the hook annotations of Argo CD and Helm.
//
// A hook type of Argo CD hides all Helm hook types of the same object, except
// those for deletion, which both annotations give independently of each other.
func Classify(u *unstructured.Unstructured) Class {
	argoText, argo := annotation(u, AnnotationHook)
	helmText, helm := annotation(u, AnnotationHelmHook)
	if !argo && !helm {
		return Class{Phases: []Phase{Sync}}
	}
	argoTypes, helmTypes := splitList(argoText), splitList(helmText)

	var c Class
	seen := phaseSet{}
	skipped := false
	for _, t := range argoTypes {
		switch p, ok := argoPhase(t); {
		case t == skip:
			skipped = true
		case ok:
			seen.add(p)
			c.Types = append(c.Types, t)
		}
	}
	if skipped && len(c.Types) == 0 {
		c.Skip = true
		c.Types = append(c.Types, skip)
		c.Reason = AnnotationHook + ": " + argoText
	}
	if len(c.Types) == 0 {
		for _, t := range helmTypes {
			if p, ok := helmPhase(t); ok {
				seen.add(p)
				c.Types = append(c.Types, t)
			}
		}
	}
	c.Phases = seen.phases(PreSync, Sync, PostSync, SyncFail)

	seen = phaseSet{}
	for _, t := range slices.Concat(argoTypes, helmTypes) {
		if p, ok := deletePhase(t); ok {
			seen.add(p)
			c.Types = append(c.Types, t)
		}
	}
	c.DeletePhases = seen.phases(PreDelete, PostDelete)

	switch {
	case c.Skip:
	case argo || helmText != "crd-install":
		c.Hook = true
		if len(c.Phases)+len(c.DeletePhases) == 0 {
			c.Ignored = true
			c.Reason = ignoredReason(argo, argoText, argoTypes, helmText, helmTypes)
		}
	default:
		c.Phases = []Phase{Sync}
	}
	return c
}

func argoPhase(t string) (Phase, bool) {
	switch p := Phase(t); p {
	case PreSync, Sync, PostSync, SyncFail:
		return p, true
	default:
		return "", false
	}
}

func helmPhase(t string) (Phase, bool) {
	switch t {
	case "pre-install", "pre-upgrade":
		return PreSync, true
	case "post-install", "post-upgrade":
		return PostSync, true
	default:
		return "", false
	}
}

func deletePhase(t string) (Phase, bool) {
	switch t {
	case string(PreDelete), "pre-delete":
		return PreDelete, true
	case string(PostDelete), "post-delete":
		return PostDelete, true
	default:
		return "", false
	}
}

// ignoredReason says why a hook without any phase takes no part.
func ignoredReason(argo bool, argoText string, argoTypes []string, helmText string, helmTypes []string) string {
	for _, t := range helmTypes {
		switch t {
		case "test", "test-success", "test-failure":
			return "Helm test (" + AnnotationHelmHook + ": " + helmText + ")"
		case "pre-rollback", "post-rollback":
			return "Helm rollback hook (" + AnnotationHelmHook + ": " + helmText + "): a rollout goes forward only"
		}
	}
	if argo {
		return AnnotationHook + " " + strconv.Quote(argoText) + " names no known hook type" + caseHint(argoTypes)
	}
	return AnnotationHelmHook + " " + strconv.Quote(helmText) + " names no known hook type"
}

// caseHint names the type that was meant when only its case is wrong.
func caseHint(types []string) string {
	known := []string{string(PreSync), string(Sync), string(PostSync), string(SyncFail), skip, string(PreDelete), string(PostDelete)}
	for _, t := range types {
		for _, k := range known {
			if strings.EqualFold(t, k) {
				return "; it is written " + k
			}
		}
	}
	return ""
}

// DeletePolicies returns when the object, a hook, is deleted: the union of what
// Argo CD's and Helm's annotations say, BeforeHookCreation when they say
// nothing.
func DeletePolicies(u *unstructured.Unstructured) []DeletePolicy {
	argoText, _ := annotation(u, AnnotationHookDeletePolicy)
	helmText, _ := annotation(u, AnnotationHelmHookDeletePolicy)
	argo, helm := splitList(argoText), splitList(helmText)

	var policies []DeletePolicy
	for _, p := range []struct {
		policy DeletePolicy
		helm   string
	}{
		{BeforeHookCreation, "before-hook-creation"},
		{HookSucceeded, "hook-succeeded"},
		{HookFailed, "hook-failed"},
	} {
		if slices.Contains(argo, string(p.policy)) || slices.Contains(helm, p.helm) {
			policies = append(policies, p.policy)
		}
	}
	if len(policies) == 0 {
		return []DeletePolicy{BeforeHookCreation}
	}
	return policies
}

// Wave returns the object's wave: Argo CD's sync-wave if it is an integer, else
// Helm's hook weight if that is one, else 0. The weight counts for ordinary
// objects too.
func Wave(u *unstructured.Unstructured) int {
	for _, key := range []string{AnnotationSyncWave, AnnotationHelmHookWeight} {
		if text, ok := annotation(u, key); ok {
			if wave, err := strconv.Atoi(text); err == nil {
				return wave
			}
		}
	}
	return 0
}

// phaseSet is a set of phases.
type phaseSet map[Phase]bool

func (s phaseSet) add(p Phase) { s[p] = true }

// phases returns the members of s among candidates, in the order of those.
func (s phaseSet) phases(candidates ...Phase) []Phase {
	var list []Phase
	for _, p := range candidates {
		if s[p] {
			list = append(list, p)
		}
	}
	return list
}

// annotation returns one annotation without copying the others. A value that is
// not a string counts as absent; see MalformedMetadata.
func annotation(u *unstructured.Unstructured, key string) (string, bool) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, ok := annotations[key].(string)
	return text, ok
}

// splitList splits a comma-separated list; items are trimmed, empty and repeated
// ones dropped.
func splitList(csv string) []string {
	if csv == "" {
		return nil
	}
	var items []string
	for item := range strings.SplitSeq(csv, ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}

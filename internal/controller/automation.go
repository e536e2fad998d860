// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// automation is all that the decision to sync without a person depends on.
type automation struct {
	// Policy of the Application.
	Enabled, Prune, SelfHeal, AllowEmpty bool
	// Status and Resources are the present comparison.
	Status    v1alpha1.SyncStatusCode
	Resources []v1alpha1.ResourceStatus
	// Foreign are objects that another Application owns and renders too.
	Foreign []manifest.Key
	// HandsOver is true when an object that the Application no longer renders is
	// another's from now on: nothing is left to apply, but the release must end for
	// a later one to take the object back.
	HandsOver bool
	// Namespace is the destination namespace if it lacks metadata that the
	// Application manages.
	Namespace string
	// Release identifies what would be rolled out: the rendered set, hooks
	// included, and the part of the spec that has an influence on the rollout.
	Release string
	// Hooks is true when the rendered set has hooks.
	Hooks bool
	// Completed is the release that was rolled out last, empty when none was.
	Completed string
	// Attempt is the last operation that was for Release; nil when there was
	// none.
	Attempt *attempt
	// HealDue returns when an object that has drifted may be healed, the zero time for
	// at once.
	HealDue func(manifest.Key) time.Time
}

// attempt is an operation that ended.
type attempt struct {
	Phase    v1alpha1.OperationPhase
	Message  string
	Revision string
	// Terminated is true when a person ended it: it is never taken up again.
	Terminated bool
	// CauseChanged is true when an object that made it fail has changed since and
	// that matters: not with Resume=false.
	CauseChanged bool
	// NotBefore spaces attempts that are taken up again.
	NotBefore time.Time
}

// decision is what automation does now.
type decision struct {
	Start bool
	// Only, when not nil, limits the operation to objects that drifted.
	Only []manifest.Key
	// Problem becomes the condition SyncError.
	Problem string
	// After asks to decide again at this time; zero means when something
	// changes.
	After time.Time
}

// decide says whether an automated operation starts now. A release that is not
// the completed one starts once; an attempt that failed is taken up again when
// what made it fail has changed. A completed release that drifted is healed.
func decide(in automation, now time.Time) decision {
	switch {
	case !in.Enabled, in.Status == v1alpha1.SyncStatusUnknown:
		return decision{}
	case in.Release != in.Completed:
		return decideRelease(in, now)
	case in.Status != v1alpha1.SyncStatusOutOfSync:
		return decision{}
	default:
		return decideHeal(in, now)
	}
}

func decideRelease(in automation, now time.Time) decision {
	if a := in.Attempt; a != nil && a.Phase != v1alpha1.OperationSucceeded {
		problem := fmt.Sprintf("Failed last sync attempt to %s: %s", a.Revision, a.Message)
		switch {
		case a.Terminated || !a.CauseChanged:
			return decision{Problem: problem}
		case now.Before(a.NotBefore):
			return decision{Problem: problem, After: a.NotBefore}
		}
		return decision{Start: true}
	}
	if in.Status == v1alpha1.SyncStatusSynced && (in.Completed == "" || !in.Hooks) && !in.HandsOver {
		// Nothing to apply: an application that was there already, or a change
		// that the cluster already shows.
		return decision{}
	}
	if wipesOut(in) {
		return decision{Problem: "Skipping sync attempt: auto-sync will wipe out all resources; set syncPolicy.automated.allowEmpty to allow it, or sync by hand with prune"}
	}
	if onlyPrunesForbidden(in) {
		return decision{}
	}
	return decision{Start: true}
}

func decideHeal(in automation, now time.Time) decision {
	if !in.SelfHeal || wipesOut(in) {
		return decision{}
	}
	var drifted []manifest.Key
	for _, r := range in.Resources {
		key := manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		if r.Status == v1alpha1.SyncStatusOutOfSync && (!r.RequiresPruning || in.Prune) && !slices.Contains(in.Foreign, key) {
			drifted = append(drifted, key)
		}
	}
	if in.Namespace != "" {
		drifted = append(drifted, manifest.Key{Kind: "Namespace", Name: in.Namespace})
	}
	// Nothing that may be touched now: no operation, which would be one of everything.
	var d decision
	for _, key := range drifted {
		switch due := in.HealDue(key); {
		case !due.After(now):
			d.Start, d.Only = true, append(d.Only, key)
		case d.After.IsZero() || due.Before(d.After):
			d.After = due
		}
	}
	return d
}

// wipesOut tells whether a sync with prune would leave nothing.
func wipesOut(in automation) bool {
	if !in.Prune || in.AllowEmpty {
		return false
	}
	for _, r := range in.Resources {
		if !r.RequiresPruning && !r.Hook {
			return false
		}
	}
	return true
}

// onlyPrunesForbidden tells whether all that is out of sync is waiting to be
// pruned while pruning is off.
func onlyPrunesForbidden(in automation) bool {
	if in.Prune {
		return false
	}
	outOfSync := false
	for _, r := range in.Resources {
		if r.Status != v1alpha1.SyncStatusOutOfSync {
			continue
		}
		if !r.RequiresPruning {
			return false
		}
		outOfSync = true
	}
	return outOfSync
}

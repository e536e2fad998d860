// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// verdictOn compares locally — by field ownership, and else by what the API server
// publishes about the kind — and asks the API server about what that leaves
// undecided.
func verdictOn(ctx context.Context, dest Destination, s Subject, step plan.Step, live *unstructured.Unstructured, owners []metav1.ManagedFieldsEntry) (Verdict, error) {
	key, desired := step.Key, step.Object.Unstructured
	if step.Untracked && s.leavesAlone(desired, live) {
		return Verdict{Live: live}, nil
	}
	if live.GetAPIVersion() != desired.GetAPIVersion() {
		// The cache holds the group's preferred version; fields compare only within
		// the version that Git names.
		fetched, err := dest.Fetch(ctx, key, desired.GroupVersionKind().Version)
		if apierrors.IsNotFound(err) {
			return Verdict{}, nil
		}
		if err != nil {
			return undecided(ctx, live, err)
		}
		live, owners = fetched, nil
	}
	if !step.Untracked && inventory.Tracked(key.GroupKind()) {
		desired = s.Tracking.Settled(desired, live, s.App)
	}
	opts := s.compare
	opts.ManagedFields = owners
	// What admission would change only the API server knows.
	if !opts.Mutations && diff.Equalish(desired, live, opts) {
		return Verdict{Live: live}, nil
	}
	trial := foretold(s.Write, step, live)
	shared := trial.Method == cluster.ServerSide
	opts.TakesOver = shared && !trial.KeepOwners
	published := dest.Schema(ctx, desired.GroupVersionKind().GroupVersion())
	if diff.Settled(desired, live, opts, shared, published) {
		return Verdict{Live: live}, nil
	}
	if dest.Repeats(ctx, desired, trial) {
		if predicted, ok := diff.Foresee(desired, live, opts, published); ok {
			return Verdict{Live: live, Changes: diff.Compare(desired, live, predicted, opts)}, nil
		}
	}
	// What is ignored must not keep the API server from judging the rest.
	predicted, err := dest.Apply(ctx, diff.Respect(desired, live, opts, shared), trial)
	if err != nil {
		return undecided(ctx, live, err)
	}
	return Verdict{Live: live, Changes: diff.Compare(desired, live, predicted, opts)}, nil
}

// leavesAlone reports whether all that is wanted of an object which the application
// makes for itself is that it exists: nothing is set, and it bears no mark of the
// application that would have to go.
func (s Subject) leavesAlone(desired, live *unstructured.Unstructured) bool {
	id, err := manifest.ParseTrackingID(live.GetAnnotations()[manifest.AnnotationTrackingID])
	ours := err == nil && id.App == s.App || s.Tracking.Labelled(live, s.App)
	return !ours && len(desired.GetLabels()) == 0 && len(desired.GetAnnotations()) == 0
}

// foretold returns the options of the dry run that tells what a step would make
// of an object.
func foretold(policy cluster.Policy, step plan.Step, live *unstructured.Unstructured) cluster.ApplyOptions {
	if step.Untracked {
		policy = policy.Shared()
	}
	return Foretold(policy, step.Object.Unstructured, live)
}

// Foretold returns the options of the dry run that tells what applying desired
// would make of live. Replacing an object also takes away what others have set;
// that is no difference to Git.
func Foretold(policy cluster.Policy, desired, live *unstructured.Unstructured) cluster.ApplyOptions {
	opts := policy.For(desired, live)
	opts.DryRun = true
	if opts.Method == cluster.Replace {
		opts.Method = cluster.Overlay
	}
	return opts
}

// undecided is the outcome when the API server does not say how an object
// compares: its refusal belongs to the object, no answer to the comparison.
func undecided(ctx context.Context, live *unstructured.Unstructured, err error) (Verdict, error) {
	switch {
	case ctx.Err() != nil:
		return Verdict{}, context.Cause(ctx)
	case cluster.IsUnreachable(err):
		return Verdict{}, err
	default:
		return Verdict{Live: live, Rejected: err.Error()}, nil
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// execute carries out actions, several at a time, and reports each. An action
// that was interrupted is not reported: the machine looks at the live object.
func (r *Run) execute(ctx context.Context, actions []machine.Action) {
	slots := make(chan struct{}, r.driver.opts.Concurrency)
	var wg sync.WaitGroup
	for _, a := range actions {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			result, err := r.perform(ctx, a)
			if errors.Is(err, errInterrupted) {
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.machine.Report(result)
		})
	}
	wg.Wait()
	r.settled()
}

// perform carries out one action.
func (r *Run) perform(ctx context.Context, a machine.Action) (machine.Result, error) {
	result := machine.Result{Action: a}
	err := r.try(ctx, describe(a), func(ctx context.Context) error {
		return r.arriving(a.Key, r.do(ctx, a, &result))
	})
	if errors.Is(err, errInterrupted) {
		return result, err
	}
	if err != nil {
		result.Err, result.Retry = worded(err), retryable(err)
	}
	return result, nil
}

func (r *Run) do(ctx context.Context, a machine.Action, result *machine.Result) error {
	switch a.Kind {
	case machine.Apply:
		return r.apply(ctx, a, result)
	case machine.CreateHook:
		return r.createHook(ctx, a, result)
	case machine.Delete:
		return r.delete(ctx, a)
	default:
		return r.cluster.RemoveFinalizer(ctx, a.Key, manifest.HookFinalizer)
	}
}

// arriving makes the error of a kind that this plan defines, or that something
// else is said to register, a transient one: it takes a moment until a new kind is
// served.
func (r *Run) arriving(key manifest.Key, err error) error {
	if err != nil && cluster.IsUnknownKind(err) && r.index.comes(key.GroupKind()) {
		return errors.New(worded(err))
	}
	return err
}

func describe(a machine.Action) string {
	switch a.Kind {
	case machine.Apply:
		return "apply " + a.Key.Short()
	case machine.CreateHook:
		return "create hook " + a.Key.Short()
	case machine.Delete:
		return "delete " + a.Key.Short()
	default:
		return "release hook " + a.Key.Short()
	}
}

// apply writes an object. Its kind is watched first, so that what becomes of the
// object is seen from the beginning.
func (r *Run) apply(ctx context.Context, a machine.Action, result *machine.Result) error {
	if err := r.cluster.Watch(ctx, a.Key.GroupKind()); err != nil {
		return err
	}
	before, existed := r.cluster.Get(a.Key)
	options := r.applyOptions(a.Key, a.Object, before)
	desired, err := r.respecting(ctx, a.Key, a.Object, options)
	if err != nil {
		return err
	}
	var notices []string
	options.Notice = func(text string) { notices = append(notices, text) }
	live, err := r.cluster.Apply(ctx, desired, options)
	if err != nil {
		return err
	}
	verb := "configured"
	switch {
	case !existed:
		verb = "created"
	case before.GetResourceVersion() == live.GetResourceVersion():
		verb = "unchanged"
	}
	r.accept(result, live, verb)
	if len(notices) > 0 {
		result.Message += " (" + strings.Join(notices, "; ") + ")"
	}
	return nil
}

// applyOptions says how an object is written; live is nil if there is none. A
// namespace that the application makes for itself is shared with others and so
// is always applied server-side, and what they have set is not taken over.
func (r *Run) applyOptions(key manifest.Key, obj, live *unstructured.Unstructured) cluster.ApplyOptions {
	policy := r.op.Write
	if r.index.untracked[key] {
		policy = policy.Shared()
	}
	return policy.For(obj, live)
}

// respecting returns what to apply so that ignored fields stay as they are.
func (r *Run) respecting(ctx context.Context, key manifest.Key, desired *unstructured.Unstructured, o cluster.ApplyOptions) (*unstructured.Unstructured, error) {
	if r.op.Respect == nil {
		return desired, nil
	}
	live, owners, exists := r.cluster.GetOwned(key)
	if exists && live.GetAPIVersion() != desired.GetAPIVersion() {
		// The cache holds another version than Git names.
		fetched, err := r.cluster.Fetch(ctx, key, desired.GroupVersionKind().Version)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		live, owners, exists = fetched, nil, err == nil
	}
	if !exists {
		return desired, nil
	}
	rules := *r.op.Respect
	rules.ManagedFields = owners
	return diff.Respect(desired, live, rules, o.Method == cluster.ServerSide), nil
}

func (r *Run) accept(result *machine.Result, live *unstructured.Unstructured, verb string) {
	result.Live = machine.Observe(live, nil, health.Context{Custom: r.driver.opts.Custom})
	result.Message = machine.Accepted(result.Action.Key, verb)
	if why := r.left(result.Action.Step); why != "" {
		result.Message += " (not tried before: " + why + ")"
	}
	r.interest.adopt(live.GetUID())
}

func (r *Run) createHook(ctx context.Context, a machine.Action, result *machine.Result) error {
	if err := r.cluster.Watch(ctx, a.Key.GroupKind()); err != nil {
		return err
	}
	live, err := r.cluster.Create(ctx, a.Object, r.applyOptions(a.Key, a.Object, nil))
	if apierrors.IsAlreadyExists(err) {
		live, err = r.cluster.Fetch(ctx, a.Key, a.Version)
	}
	if err != nil {
		return err
	}
	r.accept(result, live, "created")
	return nil
}

// delete deletes an object of which only the one with the action's UID is meant:
// that there is another by now is no error, the machine sees it.
func (r *Run) delete(ctx context.Context, a machine.Action) error {
	if live, ok := r.cluster.Get(a.Key); ok && live.GetUID() != a.UID {
		return nil
	}
	if a.Release {
		if err := r.cluster.RemoveFinalizer(ctx, a.Key, manifest.HookFinalizer); err != nil {
			return err
		}
	}
	return r.cluster.Delete(ctx, a.Key, cluster.DeleteOptions{UID: a.UID, Propagation: r.op.Propagation})
}

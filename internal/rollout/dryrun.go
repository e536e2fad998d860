// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// dryRunMark ends the messages of a plan that is only tried.
const dryRunMark = " (dry run)"

// notChecked begins the messages of steps that cannot be tried.
const notChecked = "not checked: "

// DryRun has the API server try every step of a plan and stores nothing, neither
// on the cluster nor in a record. Steps that only another step of the plan makes
// possible are named as not checked. The error is that of ctx, when it ended
// before the answers were there.
func (d *Driver) DryRun(ctx context.Context, op Operation) (machine.Outcome, []machine.StepResult, error) {
	r := d.newRun(op)
	unserved, err := r.watchKinds(ctx)
	if ctx.Err() != nil {
		return machine.Outcome{}, nil, context.Cause(ctx)
	}
	if err != nil {
		return machine.Outcome{Phase: machine.PhaseFailed, Message: "the destination cannot be watched: " + worded(err)}, nil, nil
	}
	if p := r.localProblems(unserved); p != nil {
		return machine.Outcome{Phase: machine.PhaseFailed, Message: p.message}, r.tried(nil, p.steps), nil
	}
	messages, failures := r.tryAll(ctx)
	if ctx.Err() != nil {
		return machine.Outcome{}, nil, context.Cause(ctx)
	}
	outcome := machine.Outcome{Phase: machine.PhaseSucceeded, Message: "successfully synced" + dryRunMark}
	if len(failures) > 0 {
		outcome = machine.Outcome{Phase: machine.PhaseFailed, Message: "one or more objects failed to apply (dry run): " + r.name(failures)}
	}
	return outcome, r.tried(messages, failures), nil
}

// tryAll tries all steps; it returns, by step id, what came out.
func (r *Run) tryAll(ctx context.Context) (messages, failures map[string]string) {
	messages, failures = map[string]string{}, map[string]string{}
	slots := make(chan struct{}, r.driver.opts.Concurrency)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, step := range r.index.steps {
		message, try := r.preview(step)
		if try == nil {
			mu.Lock()
			messages[step.ID] = message
			mu.Unlock()
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			err := r.try(ctx, "dry run of "+step.Key.Short(), try)
			why := r.left(step.ID)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failures[step.ID] = worded(err)
			case why != "":
				messages[step.ID] = notChecked + why
			default:
				messages[step.ID] = message
			}
		})
	}
	wg.Wait()
	return messages, failures
}

// preview says what a step would do and how to find out whether it could; the
// call is nil if that cannot be found out yet, or if the step does nothing.
func (r *Run) preview(step *plan.Step) (message string, try func(context.Context) error) {
	switch step.Action {
	case plan.SkipPrune:
		return step.Reason, nil
	case plan.Prune:
		return "pruned" + dryRunMark, func(ctx context.Context) error {
			return r.cluster.Delete(ctx, step.Key, cluster.DeleteOptions{DryRun: true, Propagation: r.op.Propagation})
		}
	}
	if why := r.premature(step); why != "" {
		return notChecked + why, nil
	}
	key := step.Key
	key.Name = machine.HookName(r.op.ID, step)
	verb := "configured"
	switch step.Action {
	case plan.Hook, plan.Create:
		verb = "created"
	case plan.None:
		verb = "unchanged"
	}
	return machine.Accepted(key, verb) + dryRunMark, r.trial(step)
}

// premature says why the API server cannot judge a step before other steps of
// the plan are done, empty if it can.
func (r *Run) premature(step *plan.Step) string {
	namespace := manifest.Key{Kind: "Namespace", Name: step.Key.Namespace}
	switch {
	case step.Later != "":
		return step.Later
	case step.Key.Namespace != "" && len(r.index.byKey[namespace]) > 0 && !r.exists(namespace):
		return fmt.Sprintf("this sync creates %s", namespace.Short())
	}
	return ""
}

func (r *Run) exists(key manifest.Key) bool {
	_, ok := r.cluster.Get(key)
	return ok
}

// tried turns what came out into results, in the order of the plan.
func (r *Run) tried(messages, failures map[string]string) []machine.StepResult {
	var results []machine.StepResult
	for i := range r.op.Plan.Groups {
		g := &r.op.Plan.Groups[i]
		for j := range g.Steps {
			step := &g.Steps[j]
			result := machine.StepResult{
				Key: step.Key, Version: step.Version, Status: machine.Synced, HookType: step.HookType,
				HookPhase: string(machine.PhaseSucceeded), SyncPhase: g.Phase, Changed: step.Action != plan.None,
			}
			result.Key.Name = machine.HookName(r.op.ID, step)
			if text, failed := failures[step.ID]; failed {
				result.Status, result.HookPhase, result.Message = machine.SyncFailed, string(machine.PhaseFailed), text
			} else if text, ok := messages[step.ID]; ok {
				result.Message = text
			} else {
				continue
			}
			switch {
			case result.Status == machine.SyncFailed:
			case step.Action == plan.Prune:
				result.Status = machine.StatusPruned
			case step.Action == plan.SkipPrune:
				result.Status = machine.PruneSkipped
			}
			results = append(results, result)
		}
	}
	return results
}

// trial returns the dry run of a step that writes, as what it will be. A name that
// is generated is tried under one that is the same every time.
func (r *Run) trial(step *plan.Step) func(context.Context) error {
	obj, key := step.Object.Unstructured, step.Key
	key.Name = machine.HookName("", step)
	live, exists := r.cluster.Get(key)
	options := r.applyOptions(key, obj, live)
	return func(ctx context.Context) error {
		anew := step.Action == plan.Hook
		var err error
		if !anew {
			var desired *unstructured.Unstructured
			if desired, err = r.respecting(ctx, key, obj, options); err == nil {
				err = r.cluster.Try(ctx, desired, false, options)
			}
			anew = exists && options.Force && cluster.IsImmutable(err) && cluster.Recreatable(key)
		}
		if anew {
			err = r.cluster.Try(ctx, throwAway(obj, exists, key.Name), true, options)
		}
		if why := r.untriable(err); why != "" {
			r.leave(step, why)
			return nil
		}
		return err
	}
}

// throwAway returns the object to try a creation with.
func throwAway(obj *unstructured.Unstructured, exists bool, name string) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	if exists {
		name = name[:min(len(name), 63-len(dryRunSuffix))] + dryRunSuffix
	}
	obj.SetName(name)
	obj.SetGenerateName("")
	return obj
}

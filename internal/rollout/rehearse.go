// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// maxNamed bounds how many objects a message names.
const maxNamed = 5

// dryRunSuffix makes the throw-away name under which a creation is tried while
// an object of the real name exists.
const dryRunSuffix = "-dry-run"

// localProblems checks what can be checked without a write: the plan's own
// findings, objects of kinds that the plan defines, and the kinds that nobody serves.
func (r *Run) localProblems(unserved []schema.GroupKind) *problem {
	steps, texts := map[string]string{}, []string{}
	for _, f := range slices.Concat(r.op.Plan.Findings, plan.CheckSchemas(r.op.Plan, r.op.Write.NoValidation)) {
		if f.Severity != diag.Error {
			continue
		}
		text := f.Message
		if f.Hint != "" {
			text += ": " + f.Hint
		}
		texts = append(texts, text)
		for _, step := range r.index.steps {
			if step.Key == f.Subject {
				steps[step.ID] = text
			}
		}
	}
	for _, step := range r.index.steps {
		if _, told := steps[step.ID]; !told && slices.Contains(unserved, step.Key.GroupKind()) && step.Action != plan.SkipPrune {
			text := fmt.Sprintf("the cluster does not serve kind %s", step.Key.GroupKind())
			steps[step.ID] = text
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	return &problem{
		message: "one or more synchronization tasks are not valid: " + strings.Join(slices.Compact(texts), "; "),
		steps:   steps,
	}
}

// rehearse creates the plan's missing namespaces and has the API server try
// everything else without storing it.
func (r *Run) rehearse(ctx context.Context) (*problem, error) {
	if p, err := r.namespaces(ctx); p != nil || err != nil || r.op.Unrehearsed {
		return p, err
	}
	var mu sync.Mutex
	steps, retry, interrupted := map[string]string{}, false, false
	slots := make(chan struct{}, r.driver.opts.Concurrency)
	var wg sync.WaitGroup
	for _, step := range r.index.steps {
		if !r.triable(step) {
			continue
		}
		try := r.trial(step)
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			err := r.try(ctx, "dry run of "+step.Key.Short(), try)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
			case errors.Is(err, errInterrupted):
				interrupted = true
			default:
				steps[step.ID] = worded(err)
				retry = retry || retryable(err)
			}
		})
	}
	wg.Wait()
	r.settled()
	switch {
	case interrupted:
		return nil, errInterrupted
	case len(steps) == 0:
		return nil, nil
	}
	return &problem{message: "one or more objects failed to apply (dry run): " + r.name(steps), steps: steps, retry: retry}, nil
}

// name lists the steps' messages in the order of the plan.
func (r *Run) name(steps map[string]string) string {
	var texts []string
	for _, step := range r.index.steps {
		if text, failed := steps[step.ID]; failed {
			texts = append(texts, step.Key.Short()+": "+text)
		}
	}
	if over := len(texts) - maxNamed; over > 0 {
		return strings.Join(texts[:maxNamed], "; ") + fmt.Sprintf("; and %d more", over)
	}
	return strings.Join(texts, "; ")
}

// namespaces creates the namespaces of the plan that do not exist: nothing else
// could be tried in them.
func (r *Run) namespaces(ctx context.Context) (*problem, error) {
	for _, step := range r.index.steps {
		if step.Key.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) || step.Action != plan.Create || step.Object == nil {
			continue
		}
		if _, exists := r.cluster.Get(step.Key); exists {
			continue
		}
		err := r.try(ctx, "create "+step.Key.Short(), func(ctx context.Context) error {
			_, err := r.cluster.Apply(ctx, step.Object.Unstructured, r.applyOptions(step.Key, step.Object.Unstructured, nil))
			return err
		})
		if errors.Is(err, errInterrupted) {
			return nil, err
		}
		if err != nil {
			return &problem{
				message: fmt.Sprintf("the namespace failed to apply: %s: %s", step.Key.Short(), worded(err)),
				steps:   map[string]string{step.ID: worded(err)},
				retry:   retryable(err),
			}, nil
		}
	}
	return nil, nil
}

// triable reports whether a step is to be tried before anything is written: it
// changes something and the API server can judge it by now.
func (r *Run) triable(step *plan.Step) bool {
	switch step.Action {
	case plan.None, plan.Prune, plan.SkipPrune:
		return false
	}
	return step.Object != nil && r.premature(step) == ""
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// runDeleteHooks runs the hooks of a deletion phase, as an operation with a
// record, so that each runs once per attempt whatever happens to the controller.
// It reports whether all have succeeded.
func (s *session) runDeleteHooks(ctx context.Context, phase manifest.Phase) (done bool, err error) {
	p, err := s.deletionPlan(ctx, phase)
	if run := s.st.run; run != nil {
		if !run.ended() {
			if err == nil && p.RenderDigest != run.plan.RenderDigest {
				run.Supersede("superseded by newer manifests")
			}
			// The repository is not needed to finish what has begun.
			s.deletingHooks(run)
			return false, nil
		}
		if !s.collectHooks(run) {
			return false, nil
		}
	}
	switch {
	case err != nil:
		return false, err
	case len(p.Groups) == 0:
		return true, nil
	}
	s.watchHooks(p)
	if err := s.watchServed(ctx, kindsOf(p)); err != nil {
		return false, err
	}
	attempt, done, err := s.nextAttempt(ctx, p, phase)
	if err != nil || done {
		return done, err
	}
	s.startHooks(p, phase, attempt)
	return false, nil
}

// deletionPlan renders the target revision and returns the part of its plan that
// runs in a phase of the deletion.
func (s *session) deletionPlan(ctx context.Context, phase manifest.Phase) (*plan.Plan, error) {
	desired, err := s.desired(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s hooks cannot be rendered: %w", phase, err)
	}
	objects, err := desired.Objects()
	if err != nil {
		return nil, err
	}
	p := planOfPhase(plan.Build(plan.Input{
		App: s.instance, Namespace: s.app.Spec.Destination.Namespace, Server: s.dest.Server,
		Objects: objects, Scope: s.dest.Scope, Excluded: s.excludes, Tracking: s.settings.Tracking, External: desired.External,
		Options: s.operationOptions(s.plainOperation()),
	}), phase)
	if s.ownOptions().Has("DeleteWaves=false") {
		p.Groups = together(p.Groups)
	}
	s.refuseForbidden(p)
	s.refuseUnidentified(p)
	return p, nil
}

// together makes one group of all, so that their hooks do not wait for each other.
func together(groups []plan.Group) []plan.Group {
	if len(groups) == 0 {
		return groups
	}
	all := plan.Group{Phase: groups[0].Phase, Wave: groups[0].Wave}
	for _, g := range groups {
		all.Steps = append(all.Steps, g.Steps...)
	}
	return []plan.Group{all}
}

// planOfPhase makes a plan of its own from the hooks of a deletion phase. Its
// digest is theirs alone: whatever else changes in Git does not disturb them.
func planOfPhase(whole *plan.Plan, phase manifest.Phase) *plan.Plan {
	p := &plan.Plan{Version: whole.Version, App: whole.App, Namespace: whole.Namespace, Server: whole.Server, Groups: []plan.Group{}}
	var objects []manifest.Object
	concerned := map[manifest.Key]bool{}
	for _, g := range whole.OnDeletion {
		if g.Phase != phase {
			continue
		}
		p.Groups = append(p.Groups, g)
		for _, step := range g.Steps {
			objects = append(objects, *step.Object)
			concerned[step.Key] = true
		}
	}
	p.Findings = slices.DeleteFunc(slices.Clone(whole.Findings), func(d diag.Diagnostic) bool { return !concerned[d.Subject] })
	p.RenderDigest = manifest.Digest(objects)
	p.ID = p.RenderDigest
	return p
}

// deletionID names the operation that runs the hooks of a phase: the same in
// every process.
func deletionID(app *v1alpha1.Application, phase manifest.Phase) string {
	uid := string(app.UID)
	return strings.ToLower(string(phase)) + "-" + uid[:min(len(uid), 8)]
}

func isDeletion(app *v1alpha1.Application, operation string) bool {
	return operation == deletionID(app, manifest.PreDelete) || operation == deletionID(app, manifest.PostDelete)
}

// nextAttempt returns the attempt to begin or to continue now, or that the hooks
// have succeeded. A failed attempt is an error until the next one is due: when
// its time has come, when the manifests have changed, or when somebody has
// removed the object of a failed hook.
func (s *session) nextAttempt(ctx context.Context, p *plan.Plan, phase manifest.Phase) (attempt int, done bool, err error) {
	rec := s.st.memory.Operation
	if rec == nil || rec.Operation != deletionID(s.app, phase) {
		return 1, false, nil
	}
	if !rec.Ended() {
		if rec.Resumable(p) {
			return rec.Attempt, false, nil
		}
		return rec.Attempt + 1, false, s.giveUp(ctx, "superseded by newer manifests")
	}
	if rec.Outcome.Phase == machine.PhaseSucceeded {
		return rec.Attempt, true, nil
	}
	if rec.Render != p.RenderDigest || s.hookRemoved(ctx) {
		return rec.Attempt + 1, false, nil
	}
	delay, err := s.app.Spec.AutomatedRetry().Delay(int64(rec.Attempt - 1))
	if err != nil {
		delay = v1alpha1.DefaultBackoffDuration
	}
	if due := rec.FinishedAt.Add(delay); s.now.Before(due) {
		s.by(due)
		return 0, false, errors.New(failedHooks(rec, phase, due))
	}
	return rec.Attempt + 1, false, nil
}

// startHooks begins or continues an attempt.
func (s *session) startHooks(p *plan.Plan, phase manifest.Phase, attempt int) {
	id := deletionID(s.app, phase)
	run := &operationRun{id: id, plan: p, phase: phase, Run: s.driver().Start(s.life, rollout.Operation{
		App: s.app.Namespace + "/" + s.app.Name, ID: id, Attempt: attempt, Plan: p,
		State: s.st.memory, Store: recordStore{s.st.record}, Partial: true, Explain: s.explainer(p),
	})}
	s.st.run = run
	s.follow(run)
	s.deletingHooks(run)
}

// deletingHooks shows how far the hooks of a phase are.
func (s *session) deletingHooks(run *operationRun) {
	s.deleting(fmt.Sprintf("running %s hooks: %s", run.phase, run.Snapshot().Message))
	s.by(s.now.Add(progressEvery))
}

// collectHooks takes over what an ended run leaves behind; it reports whether the
// record is still ours.
func (s *session) collectHooks(run *operationRun) bool {
	s.st.run, s.st.memory = nil, run.State()
	if run.Outcome().Abandoned {
		s.st.record = nil
		s.by(s.now.Add(time.Second))
		return false
	}
	return true
}

// hookRemoved tells whether the object of a failed hook, which was there when the
// attempt had ended, is gone.
func (s *session) hookRemoved(ctx context.Context) bool {
	n := len(s.st.memory.Attempts)
	rec := s.st.memory.Operation
	if n == 0 || s.st.memory.Attempts[n-1].Operation != rec.Operation {
		return false
	}
	last := &s.st.memory.Attempts[n-1]
	present := map[string]string{}
	for _, step := range failedSteps(rec) {
		if live, ok := s.dest.Get(step.Key); ok && live.GetUID() == step.UID && live.GetDeletionTimestamp() == nil {
			present[step.Key.String()] = string(step.UID)
		}
	}
	if last.Seen == nil {
		last.Seen = present
		// When it cannot be saved, what is there at the next look counts.
		_ = recordStore{s.st.record}.Save(ctx, s.st.memory)
		return false
	}
	for key := range last.Seen {
		if present[key] == "" {
			return true
		}
	}
	return false
}

// failedSteps returns the hooks that failed, in the order of their steps.
func failedSteps(rec *machine.Record) []*machine.StepRecord {
	var failed []*machine.StepRecord
	for _, id := range slices.Sorted(maps.Keys(rec.Steps)) {
		if step := rec.Steps[id]; step.State == machine.Failed {
			failed = append(failed, step)
		}
	}
	return failed
}

// failedHooks says which hooks keep the Application from being deleted, why, and
// what brings the next attempt.
func failedHooks(rec *machine.Record, phase manifest.Phase, due time.Time) string {
	var reasons []string
	for _, step := range failedSteps(rec) {
		reasons = append(reasons, step.Key.Short()+": "+step.Message)
	}
	what := fmt.Sprintf("%s hook failed: %s", phase, bounded(reasons))
	if len(reasons) == 0 {
		what = fmt.Sprintf("%s hooks failed: %s", phase, rec.Outcome.Message)
	}
	if phase == manifest.PreDelete {
		what += "; nothing was deleted"
	}
	return fmt.Sprintf("%s; attempt %d follows at %s, or as soon as the manifest changes or the hook is removed",
		what, rec.Attempt+1, due.UTC().Format(time.RFC3339))
}

// watchHooks has the Application looked at when one of the hooks changes.
func (s *session) watchHooks(p *plan.Plan) {
	var keys []manifest.Key
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			keys = append(keys, step.Key)
		}
	}
	s.watchlist.set(nameOf(s.app), s.instance, s.dest.Server, keys)
}

func kindsOf(p *plan.Plan) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			if gk := step.Key.GroupKind(); !slices.Contains(kinds, gk) {
				kinds = append(kinds, gk)
			}
		}
	}
	return kinds
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/status"
)

// operationRun is a rollout in progress and the request it carries out.
type operationRun struct {
	*rollout.Run
	id      string
	request v1alpha1.Operation
	// desired is what it rolls out, release identifies that.
	desired *pipeline.Desired
	sources []v1alpha1.ApplicationSource
	plan    *plan.Plan
	release string
	// heals are the fields that a self-heal repairs.
	heals drift
	// phase is set for a run of delete hooks, which has nothing but id and plan
	// besides.
	phase manifest.Phase
}

func (r *operationRun) ended() bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

// advance moves the operation on: finish the one that ended, resume one that a
// restart interrupted, begin what a person or the policy asks for.
func (s *session) advance(ctx context.Context) error {
	if err := s.noteCauses(ctx); err != nil || s.st.record == nil {
		return err
	}
	state := s.app.Status.OperationState
	open := state != nil && !state.Phase.Completed()
	if unshown := s.unshown(); unshown != nil && !open {
		s.app.Status.OperationState = unshown
		return s.conclude(ctx, unshown)
	}
	switch {
	case open && s.unfinished(state):
		return s.resume(ctx, state)
	case open && s.recorded(state):
		return s.conclude(ctx, state)
	case s.app.Operation != nil:
		return s.startRequested(ctx)
	}
	return s.automate(ctx)
}

// unfinished tells whether the record holds an attempt of this operation that
// has no outcome, or has not tidied up after it.
func (s *session) unfinished(state *v1alpha1.OperationState) bool {
	rec := s.st.memory.Operation
	return rec != nil && !rec.Ended() && rec.Operation == operationID(state.Operation)
}

// recorded tells whether the record holds the outcome of this operation.
func (s *session) recorded(state *v1alpha1.OperationState) bool {
	rec := s.st.memory.Operation
	return rec != nil && rec.Ended() && rec.Operation == operationID(state.Operation)
}

// collect takes over what an ended run leaves behind, if there is one.
func (s *session) collect() {
	run := s.st.run
	if run == nil {
		return
	}
	outcome := run.Outcome()
	s.st.run = nil
	s.st.running.Store(nil)
	s.st.memory = run.State()
	if outcome.Abandoned {
		// Somebody else owns the record, or the controller stops: read it again.
		s.st.record = nil
		s.by(s.now.Add(time.Second))
		return
	}
	s.ended = run
	if len(run.heals) > 0 {
		s.st.healing.note(run.heals, s.now)
	}
	s.describeRun(run)
}

// conclude writes how an operation ended, or arranges its next attempt.
func (s *session) conclude(ctx context.Context, state *v1alpha1.OperationState) error {
	rec := s.st.memory.Operation
	outcome := rec.Outcome
	terminating := state.Phase == v1alpha1.OperationTerminating
	retry := state.Operation.Retry
	newer := s.newerRelease(state.Operation)
	if outcome.Retry && !terminating && newer == "" && retry.Allows(int64(rec.Attempt-1)) {
		delay, err := retry.Delay(int64(rec.Attempt - 1))
		if err != nil {
			s.problem(v1alpha1.ConditionInvalidSpecError, err)
			delay = v1alpha1.DefaultBackoffDuration
		}
		due := rec.FinishedAt.Add(delay)
		if s.now.Before(due) {
			state.Phase = v1alpha1.OperationRunning
			state.RetryCount = int64(rec.Attempt)
			state.Message = status.Retrying(outcome.Message, int64(rec.Attempt), due)
			s.by(due)
			return nil
		}
		return s.start(ctx, state.Operation, rec.Operation, rec.Attempt+1)
	}
	state.Phase, state.Message = v1alpha1.OperationPhase(outcome.Phase), outcome.Message
	if terminating && outcome.Retry {
		state.Phase, state.Message = v1alpha1.OperationFailed, "Operation terminated"
	}
	if newer != "" && outcome.Retry {
		state.Message += "; superseded by " + newer
	}
	state.Message = status.Retried(state.Message, int64(rec.Attempt-1))
	finished := metav1.NewTime(rec.FinishedAt)
	state.FinishedAt, state.Operation = &finished, withBriefPlan(state.Operation)
	asked := s.askedMeanwhile(state.Operation)
	if !asked {
		s.app.Operation = nil
	}
	if state.Phase == v1alpha1.OperationSucceeded && !partial(state.Operation) {
		s.app.Status.History = status.AddHistory(s.app.Status.History, state, s.app.Spec.HistoryLimit())
		changed, err := s.repin(ctx, state)
		if err != nil {
			return err
		}
		if changed {
			s.observe(ctx)
		}
	}
	if asked {
		s.by(s.now)
		return nil
	}
	return s.automate(ctx)
}

// askedMeanwhile tells whether a person has asked for an operation while an
// automated one was running, which makes no request.
func (s *session) askedMeanwhile(ended v1alpha1.Operation) bool {
	return ended.InitiatedBy.Automated && s.app.Operation != nil && !s.app.Operation.InitiatedBy.Automated
}

// newerRelease returns the revisions of a release that has taken the place of the
// one that an automated operation last tried, or "": a fix does not wait for the
// retries of what it fixes.
func (s *session) newerRelease(op v1alpha1.Operation) string {
	n := len(s.st.memory.Attempts)
	if !op.InitiatedBy.Automated || n == 0 || s.comparison == nil || s.unknownSources() || s.ownOptions().Has(noSupersede) {
		return ""
	}
	if s.release(s.compared) == s.st.memory.Attempts[n-1].Spec {
		return ""
	}
	return strings.Join(s.compared.Revisions, ", ")
}

// resume continues the attempt that the record holds. When what it rolled out
// can no longer be made, it is given up and automation decides anew.
func (s *session) resume(ctx context.Context, state *v1alpha1.OperationState) error {
	rec := s.st.memory.Operation
	if s.dest == nil || s.permits == nil || s.invalidSpec() || s.suspended(state) {
		return nil
	}
	desired, err := s.begun(ctx, state.Operation, rec.Revisions)
	if err != nil {
		s.problem(v1alpha1.ConditionComparisonError, err)
		s.by(s.now.Add(retryAfterError))
		return nil
	}
	return s.launch(ctx, state.Operation, desired, rec.Operation, rec.Attempt)
}

// startRequested begins the operation that a person asked for.
func (s *session) startRequested(ctx context.Context) error {
	op := *s.app.Operation
	if s.busy {
		return nil
	}
	if refusal := cmp.Or(refuse(s.app, op), s.unresolved(op)); refusal != "" {
		s.reject(op, refusal)
		return nil
	}
	return s.start(ctx, op, newOperationID(), 1)
}

// reject ends a requested operation before it began.
func (s *session) reject(op v1alpha1.Operation, message string) {
	now := metav1.NewTime(s.now)
	s.app.Status.OperationState = &v1alpha1.OperationState{
		Operation: withBriefPlan(op), Phase: v1alpha1.OperationError, Message: message, StartedAt: now, FinishedAt: &now,
	}
	s.app.Operation = nil
}

// start renders what the operation asks for and launches its rollout.
func (s *session) start(ctx context.Context, op v1alpha1.Operation, id string, attempt int) error {
	if s.dest == nil || !s.admit(op) {
		return nil
	}
	desired, err := s.requested(ctx, op)
	if err != nil {
		s.reject(op, err.Error())
		return nil
	}
	if desired == nil {
		if s.app.Operation != nil && len(s.problems) > 0 {
			s.reject(op, s.problems[0].Message)
		}
		return nil
	}
	if op.Sync.DryRun {
		return s.dryRun(ctx, op, desired)
	}
	if refusal := s.refuseRollback(op, desired); refusal != "" {
		s.reject(op, refusal)
		return nil
	}
	return s.launch(ctx, op, desired, id, attempt)
}

// driver carries out operations on the destination.
func (s *session) driver() *rollout.Driver {
	return rollout.New(s.writer(), rollout.Options{
		Clock: s.opts.Clock, Events: s.opts.Events, Limits: s.opts.Limits.With(s.ownOptions()), Custom: s.installation.judge,
		Queue: s.dest.queue, Pace: s.opts.Pace,
	})
}

// launch plans and starts the rollout, and puts the operation on the status.
func (s *session) launch(ctx context.Context, op v1alpha1.Operation, desired *pipeline.Desired, id string, attempt int) error {
	comparison, err := s.planned(ctx, desired, op)
	if err != nil {
		s.problem(v1alpha1.ConditionComparisonError, err)
		s.by(s.now.Add(retryAfterError))
		return nil
	}
	s.refuseShared(comparison.Plan, op)
	if refusal := s.refuseMoved(op, desired, comparison); refusal != "" && !s.begunBefore(id, attempt) {
		s.reject(op, refusal)
		return nil
	}
	if rec := s.st.memory.Operation; rec != nil && rec.Operation == id && rec.Attempt == attempt && !rec.Ended() {
		if reason := revoked(comparison.Plan); reason != "" {
			s.by(s.now)
			return s.giveUp(ctx, reason)
		}
	}
	op = s.noteLeft(op)
	op.Info = withOperationID(op.Info, id)
	run := &operationRun{
		id: id, request: op, desired: desired, sources: operationSources(s.app, op), plan: comparison.Plan,
		release: s.release(desired),
	}
	run.Run = s.driver().Start(s.life, rollout.Operation{
		App: s.app.Namespace + "/" + s.app.Name, ID: id, Attempt: attempt, Plan: comparison.Plan,
		State: s.st.memory, Store: recordStore{s.st.record}, Spec: run.release, Partial: partial(op), Automated: op.InitiatedBy.Automated,
		Write: s.writePolicy(op), Respect: respected(op, comparison), Propagation: operationPropagation(op),
		Explain:     s.explainer(comparison.Plan),
		Unrehearsed: s.ownOptions().Has("DryRun=client"),
		AsPlanned:   s.asPlanned(op, comparison),
	})
	s.st.run = run
	s.st.running.Store(run)
	if !isHeal(&v1alpha1.OperationState{Operation: op}) {
		s.comparer.Delivers(s.instance)
	}
	s.follow(run)
	s.describeRun(run)
	s.by(s.now.Add(s.opts.Pace.Every))
	return nil
}

// describeRun puts a run's progress on the status.
func (s *session) describeRun(run *operationRun) {
	snap := run.Snapshot()
	state := s.app.Status.OperationState
	if state == nil || operationID(state.Operation) != run.id {
		state = &v1alpha1.OperationState{Operation: run.request, StartedAt: metav1.NewTime(snap.StartedAt), Phase: v1alpha1.OperationRunning}
		s.app.Status.OperationState = state
	}
	if state.Phase != v1alpha1.OperationTerminating {
		state.Phase = v1alpha1.OperationRunning
	}
	state.Message, state.FinishedAt = snap.Message, nil
	state.RetryCount = int64(snap.Attempt - 1)
	rows, dropped := status.Results(run.plan, snap.Results, status.MaxResults)
	s.st.dropped = dropped
	state.SyncResult = s.syncResult(run, rows)
}

// syncResult says what was rolled out, beside the results.
func (s *session) syncResult(run *operationRun, rows []v1alpha1.ResourceResult) *v1alpha1.SyncOperationResult {
	result := &v1alpha1.SyncOperationResult{Resources: rows}
	if s.app.Spec.MultipleSources() {
		result.Sources, result.Revisions = run.sources, run.desired.Revisions
	} else {
		result.Source, result.Revision = run.sources[0], run.desired.Revisions[0]
	}
	if policy := s.app.Spec.SyncPolicy; policy != nil {
		result.ManagedNamespaceMetadata = policy.ManagedNamespaceMetadata
	}
	return result
}

// whileRunning forwards what a person or a newer commit wants of the running
// operation and shows its progress now and then.
func (s *session) whileRunning(ctx context.Context) error {
	run := s.st.run
	// Somebody may have changed a health rule.
	run.Reconsider()
	if operationPhase(s.app) == v1alpha1.OperationTerminating {
		run.Terminate("Operation terminated")
	}
	// A confirmation has whole seconds.
	if state := s.app.Status.OperationState; state != nil && approvedSince(s.app, state.StartedAt.Truncate(time.Second)) {
		run.Confirm()
	}
	dest, err := s.destinations.get(ctx, s.life, s.app.Spec.Destination)
	if err != nil {
		s.by(s.now.Add(retryAfterError))
		return nil //nolint:nilerr // the rollout goes on where it began; the error shows when it has ended
	}
	s.dest = dest
	if s.closedOn(ctx, run) {
		return s.patch(ctx)
	}
	if reason := cmp.Or(s.excluded(run.plan), s.unpermitted(ctx, run)); reason != "" {
		run.Supersede(reason)
	}
	if run.request.InitiatedBy.Automated && !s.ownOptions().Has(noSupersede) {
		s.supersede(ctx, run)
	}
	s.healMeanwhile(ctx, run)
	snap := run.Snapshot()
	if next := s.nextProgress(run, snap); s.now.Before(next) {
		s.by(next)
		// By then it may wait for something.
		s.by(s.now.Add(s.opts.Pace.Every))
		return nil
	}
	if !s.progress.AllowN(s.now, 1) {
		s.by(s.now.Add(s.opts.Pace.Every))
		return nil
	}
	s.describeRun(run)
	s.by(s.now.Add(s.opts.Pace.Every))
	if err := s.lookAt(ctx, run.desired); err != nil {
		// The operation says what is wrong with the cluster; its progress is
		// shown all the same.
		return s.patch(ctx)
	}
	if reason := revoked(s.comparison.Plan); reason != "" {
		run.Supersede(reason)
	}
	return s.writeStatus(ctx)
}

// supersede ends an automated operation in favour of a newer release.
func (s *session) supersede(ctx context.Context, run *operationRun) {
	// A source that cannot be read now is no newer release; the error shows once
	// the operation has ended.
	desired, err := s.desired(ctx)
	if err != nil || desired == nil || s.release(desired) == run.release {
		return
	}
	run.Supersede("superseded by " + strings.Join(desired.Revisions, ", "))
}

// automate lets the policy decide.
func (s *session) automate(ctx context.Context) error {
	if s.comparison == nil || s.st.run != nil || s.unknownSources() {
		return nil
	}
	release := s.release(s.st.desired)
	s.st.healing.forget(s.opts.Heal, s.now, s.ownOptions().Has(healOnApplication))
	in := automation{
		Enabled: s.app.Spec.AutomatedEnabled(), Prune: s.app.Spec.AutomatedPrune(),
		SelfHeal: s.app.Spec.AutomatedSelfHeal(), AllowEmpty: s.app.Spec.AutomatedAllowEmpty(),
		Status: s.syncStatus(), Resources: s.resources(), Foreign: s.foreign(),
		Release: release, Hooks: hasHooks(s.comparison.Plan) && !s.ownOptions().Has("HookChanges=false"), Completed: s.completed(),
		Attempt: s.lastAttempt(release), HealDue: s.healDue,
	}
	in.HandsOver = in.Release != in.Completed && s.handsOver()
	if s.shown().NamespaceOutdated {
		in.Namespace = s.app.Spec.Destination.Namespace
	}
	d := decide(in, s.now)
	if d.Problem != "" {
		s.problems = append(s.problems, v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionSyncError, Message: d.Problem})
	}
	if !d.After.IsZero() {
		s.by(d.After)
	}
	if !d.Start {
		return s.catchUp(ctx)
	}
	op, heals := s.automatedOperation(d.Only), s.driftOn(d.Only)
	if s.automationWaits(op) || len(d.Only) == 0 && !s.takesPlace() {
		return nil
	}
	if err := s.launch(ctx, op, s.st.desired, newOperationID(), 1); err != nil || s.st.run == nil {
		return err
	}
	s.st.run.heals = heals
	return nil
}

// unknownSources tells whether the sources could not be read: then nothing
// starts by itself.
func (s *session) unknownSources() bool {
	return slices.ContainsFunc(s.problems, func(c v1alpha1.ApplicationCondition) bool {
		return c.Type == v1alpha1.ConditionComparisonError || c.Type == v1alpha1.ConditionInvalidSpecError
	})
}

func (s *session) completed() string {
	if s.st.memory.Released == nil {
		return ""
	}
	return s.st.memory.Released.Spec
}

// lastAttempt is the attempt that ended last, if it was for this release.
func (s *session) lastAttempt(release string) *attempt {
	n := len(s.st.memory.Attempts)
	if n == 0 {
		return nil
	}
	last := s.st.memory.Attempts[n-1]
	if last.Spec != release || last.Outcome.Superseded {
		return nil
	}
	return &attempt{
		Phase: v1alpha1.OperationPhase(last.Outcome.Phase), Message: last.Outcome.Message,
		Revision: strings.Join(last.Revisions, ", "), Terminated: last.Outcome.Terminated,
		CauseChanged: !s.ownOptions().Has("Resume=false") && s.causeChanged(last.Outcome.Causes, last.Seen), NotBefore: last.FinishedAt.Add(v1alpha1.DefaultBackoffDuration),
	}
}

// release identifies what is rolled out: the rendered set and the parts of the
// spec that say where and how.
func (s *session) release(desired *pipeline.Desired) string {
	parts := []any{desired.Digest, s.app.Spec.Destination, s.app.Spec.SyncOptionList()}
	if policy := s.app.Spec.SyncPolicy; policy != nil && policy.ManagedNamespaceMetadata != nil {
		parts = append(parts, policy.ManagedNamespaceMetadata)
	}
	data, err := json.Marshal(parts)
	if err != nil {
		return desired.Digest
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

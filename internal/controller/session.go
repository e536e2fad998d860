// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/project"
	"github.com/wavetrain/wavetrain/internal/release"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/status"
)

// retryAfterError is when something that could not be read is tried again.
const retryAfterError = 10 * time.Second

// observeTimeout bounds resolving, rendering and comparing together. Fetching a
// large repository for the first time is the longest part of it.
const observeTimeout = 3 * time.Minute

var errNoAnswer = fmt.Errorf("no answer within %s", observeTimeout)

// appState is what is kept of an Application between two looks at it. All of it
// can be rebuilt.
type appState struct {
	// refresh asks that revisions are resolved anew at the next look.
	refresh atomic.Bool
	// settled is what the last look has seen, nil while there is one or when every
	// change matters.
	settled atomic.Pointer[settled]
	// running is run for those who do not hold mu.
	running atomic.Pointer[operationRun]
	// asksServed is true when what is rendered can depend on what its cluster
	// serves.
	asksServed atomic.Bool
	// unread is the repository that could not be read at the last look.
	unread atomic.Pointer[string]

	mu sync.Mutex
	// written is the resourceVersion of our last write: older copies from the
	// cache are not acted upon.
	written string
	// statusAt is when the status was written last, unwritten is what it has become
	// since if that can wait.
	statusAt  time.Time
	unwritten *v1alpha1.ApplicationStatus
	// healAt is when a heal was written last.
	healAt time.Time
	// queued is since when the Application waits for a place, zero if it does not.
	queued time.Time

	record *release.Record
	memory rollout.State
	// packed is memory between looks.
	packed []byte

	run *operationRun

	// request and head are what was rendered last of the target revision, desired
	// is what it is kept at: the same, unless an earlier release is pinned.
	request [sha256.Size]byte
	head    *pipeline.Desired
	desired *pipeline.Desired
	// outdated is true from when revisions are to be resolved anew until they are.
	outdated bool
	// heard is the request for a sync that the target revision was resolved for.
	heard [sha256.Size]byte

	// dropped is how many results of the last operation its status leaves out.
	dropped int
	// healing remembers self-heals.
	healing healing
}

// ahead tells whether app is an older copy than the one we have written.
func (st *appState) ahead(app *v1alpha1.Application) bool {
	written, errWritten := strconv.ParseUint(st.written, 10, 64)
	got, errGot := strconv.ParseUint(app.ResourceVersion, 10, 64)
	return errWritten == nil && errGot == nil && got < written
}

// session is one look at one Application.
type session struct {
	*applications
	st *appState
	// app is worked on, before is what the cluster holds.
	app, before *v1alpha1.Application
	instance    string
	// settings are the installation's as they were when the look began.
	settings *compiled
	now      time.Time

	dest *destination
	// project is the Application's, permits what it permits.
	project    *v1alpha1.AppProject
	permits    *project.Rules
	comparison *pipeline.Comparison
	compared   *pipeline.Desired
	state      *status.State
	problems   []v1alpha1.ApplicationCondition
	// shared are the objects that other Applications have too.
	shared []sharedObject
	// orphans are the objects in the destination namespace that nobody manages, if
	// the Application shall warn of them.
	orphans []manifest.Key
	// place is the cluster on which the look has a place, postponed is true when an
	// operation does not begin for want of one.
	place     string
	postponed bool
	// busy is true when the target revision could not be asked for yet.
	busy bool
	// ended is the run that has ended since the last look.
	ended *operationRun
	// comparing is true for a look that nobody wants more of than the comparison.
	comparing bool
	// unseen is what Applications render that have not been looked at; nil until
	// somebody asks.
	unseen map[manifest.Key]bool
	wake   time.Time
}

// by asks for another look at the given time at the latest.
func (s *session) by(t time.Time) {
	if s.wake.IsZero() || t.Before(s.wake) {
		s.wake = t
	}
}

// again is when the next look is due; zero when only a change matters.
func (s *session) again(now time.Time) time.Duration {
	if s.wake.IsZero() {
		return 0
	}
	return max(s.wake.Sub(now), time.Millisecond)
}

func (s *session) problem(kind v1alpha1.ConditionType, err error) {
	s.problems = append(s.problems, v1alpha1.ApplicationCondition{Type: kind, Message: err.Error()})
}

// reconcile observes the Application, moves its operation on and writes the
// status.
func (s *session) reconcile(ctx context.Context) error {
	if err := s.remember(ctx); err != nil {
		return err
	}
	if s.st.run != nil && !s.st.run.ended() {
		return s.whileRunning(ctx)
	}
	s.collect()
	if s.comesLater(ctx) {
		return nil
	}
	s.observe(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.advance(ctx); err != nil {
		return err
	}
	s.hearAnew()
	if err := s.writeStatus(ctx); err != nil {
		return err
	}
	s.settle()
	return nil
}

// remember loads the ReleaseRecord once.
func (s *session) remember(ctx context.Context) error {
	if s.st.record != nil {
		return nil
	}
	record, payload, err := release.Load(ctx, s.client, client.ObjectKeyFromObject(s.app), s.app)
	if err != nil {
		return fmt.Errorf("load release record of %s/%s: %w", s.app.Namespace, s.app.Name, err)
	}
	memory, err := rollout.DecodeState(payload)
	if err != nil {
		return err
	}
	record.PackWith(&s.records)
	s.st.record, s.st.memory = record, memory
	return nil
}

// observe resolves, renders and compares. What goes wrong becomes a condition;
// what is known from before stays in force as far as it can.
func (s *session) observe(ctx context.Context) {
	// A cluster or repository that never answers must not keep the worker, and
	// the Application without a word, for ever.
	ctx, cancel := context.WithTimeoutCause(ctx, observeTimeout, errNoAnswer)
	defer cancel()
	dest, err := s.destinations.get(ctx, s.life, s.app.Spec.Destination)
	if err != nil {
		s.problem(v1alpha1.ConditionInvalidSpecError, err)
		s.by(s.now.Add(retryAfterError))
		return
	}
	s.dest = dest
	if err := s.checkProject(ctx); err != nil {
		s.problem(v1alpha1.ConditionInvalidSpecError, err)
		s.by(s.now.Add(retryAfterError))
		return
	}
	access := s.access.Load()
	desired, err := s.desired(ctx)
	if s.busy = errors.Is(err, source.ErrBusy); s.busy && desired != nil {
		// What was seen last stands until the server has time for us.
		s.by(s.now.Add(retryBusy))
		err = nil
	}
	s.noteAccess(err, access)
	if err != nil {
		s.problem(problemType(err), err)
		if desired == nil {
			return
		}
	}
	if err := s.lookAt(ctx, desired); err != nil {
		s.problem(v1alpha1.ConditionComparisonError, err)
		s.by(s.now.Add(retryAfterError))
	}
}

// lookAt compares what is desired with the cluster, for the status.
func (s *session) lookAt(ctx context.Context, desired *pipeline.Desired) error {
	comparison, err := s.compare(ctx, desired, s.plainOperation())
	if err != nil {
		return err
	}
	s.comparison, s.compared, s.state = comparison, desired, nil
	s.findShared(comparison)
	s.watch(comparison)
	s.findOrphans(ctx)
	return nil
}

// problemType tells a spec that can never work from a source that cannot be
// read now.
func problemType(err error) v1alpha1.ConditionType {
	if errors.Is(err, pipeline.ErrNoSources) {
		return v1alpha1.ConditionInvalidSpecError
	}
	return v1alpha1.ConditionComparisonError
}

// desired renders the target revision, anew when it is due. After a failure it
// returns what was rendered before, with the error.
func (s *session) desired(ctx context.Context) (*pipeline.Desired, error) {
	req, err := s.renderRequest(ctx)
	if err != nil {
		return s.st.desired, err
	}
	data, err := json.Marshal(req)
	if err != nil {
		return s.st.desired, err
	}
	_, asked := s.app.Annotations[v1alpha1.AnnotationRefresh]
	asked = s.asksForHead() || asked
	request := sha256.Sum256(data)
	fresh := s.st.desired != nil && s.st.request == request && !s.st.outdated
	if refresh := s.st.refresh.Swap(false); fresh && !refresh && !asked && s.st.desired.StillAnswered(ctx, req.Lookup) {
		s.byLookups()
		return s.st.desired, nil
	}
	s.st.outdated = true
	if s.app.Annotations[v1alpha1.AnnotationRefresh] == v1alpha1.RefreshHard {
		s.renderer.RenderAnew(s.instance)
		s.comparer.Forget(s.instance)
	}
	if asked {
		for _, src := range req.Sources {
			s.opts.Sources.Forget(src.RepoURL)
		}
	}
	head, err := s.render(ctx, req)
	var desired *pipeline.Desired
	if err == nil {
		desired, err = s.keptAt(ctx, req, head)
	}
	if err != nil {
		if s.st.request != request {
			// What was rendered before belongs to another spec.
			s.st.head, s.st.desired = nil, nil
		}
		return s.st.desired, err
	}
	s.st.request, s.st.head, s.st.desired, s.st.outdated = request, head, desired, false
	sources, revisions := head.Followed(req.Sources)
	s.polls.follow(nameOf(s.app), req.Project, sources, revisions)
	s.byLookups()
	s.st.asksServed.Store(slices.Contains(desired.Tools, string(v1alpha1.SourceTypeHelm)))
	return desired, nil
}

// byLookups asks for another look where a chart has asked something of the cluster:
// nobody tells when the answer changes.
func (s *session) byLookups() {
	if s.st.desired.Asks() {
		s.by(s.now.Add(s.opts.PollInterval))
	}
}

func (s *session) render(ctx context.Context, req pipeline.Request) (*pipeline.Desired, error) {
	revisions, err := s.renderer.Resolve(ctx, req.Project, req.Sources)
	if err != nil {
		return nil, err
	}
	return s.rendered(ctx, req, revisions)
}

func (s *session) renderRequest(ctx context.Context) (pipeline.Request, error) {
	sources := s.app.Spec.EffectiveSources()
	if len(sources) == 0 {
		return pipeline.Request{}, pipeline.ErrNoSources
	}
	version, apis, err := s.dest.Version(ctx)
	if err != nil {
		return pipeline.Request{}, fmt.Errorf("ask cluster %s for its version: %w", s.dest.Server, err)
	}
	req := pipeline.Request{
		App: s.instance, Name: s.app.Name, AppNamespace: s.app.Namespace, Project: s.app.Spec.ProjectName(),
		Sources: sources, Namespace: s.app.Spec.Destination.Namespace, KubeVersion: version, APIVersions: apis,
		GeneratePaths: s.app.Annotations[v1alpha1.AnnotationManifestGeneratePaths],
		NoLookup:      s.ownOptions().Has(optionNoLookup),
		KustomizeHelm: s.settings.Rendering.KustomizeHelm, FileSchemes: s.settings.Rendering.FileSchemes,
		RemoteBases: s.settings.Rendering.RemoteBases,
	}
	if !req.NoLookup {
		req.Lookup = s.lookup
	}
	return req, nil
}

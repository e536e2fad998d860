// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cli/live"
	"github.com/wavetrain/wavetrain/internal/gitserver"
)

// standings follows all Applications of a cluster and knows how each stands.
type standings struct {
	board *live.Board
	repo  *upRepository

	mu sync.Mutex
	// commit is the one that Applications of the served repository should be at.
	commit string
	apps   map[string]standing
}

// standing is how one Application stands.
type standing struct {
	app   *v1alpha1.Application
	state live.State
	// failedSince is when it began to be failed; zero when it is not.
	failedSince time.Time
}

func newStandings(board *live.Board, repo *upRepository) *standings {
	return &standings{board: board, repo: repo, commit: repo.commit, apps: map[string]standing{}}
}

// follow keeps the standings up to date until ctx ends. It returns once all
// Applications that exist are known.
func (s *standings) follow(ctx context.Context, cfg *rest.Config) error {
	scheme, err := apiScheme()
	if err != nil {
		return err
	}
	watched, err := cache.New(cfg, cache.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("watch Applications: %w", err)
	}
	informer, err := watched.GetInformer(ctx, &v1alpha1.Application{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Applications: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.observe(obj) },
		UpdateFunc: func(_, obj any) { s.observe(obj) },
		DeleteFunc: func(obj any) { s.forget(obj) },
	})
	if err != nil {
		return fmt.Errorf("watch Applications: %w", err)
	}
	go func() {
		// It ends with ctx; a watch that breaks off is opened again.
		_ = watched.Start(ctx)
	}()
	if !watched.WaitForCacheSync(ctx) {
		return context.Cause(ctx)
	}
	return nil
}

func (s *standings) observe(obj any) {
	app, ok := obj.(*v1alpha1.Application)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judge(app, time.Now())
}

func (s *standings) forget(obj any) {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	app, ok := obj.(*v1alpha1.Application)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.apps, app.Namespace+"/"+app.Name)
	s.board.Remove(app.Namespace + "/" + app.Name)
}

// judge notes how app stands; s.mu is held.
func (s *standings) judge(app *v1alpha1.Application, now time.Time) {
	name := app.Namespace + "/" + app.Name
	next := standing{app: app, state: stateOf(app, s.behind(app))}
	if next.state.Failed {
		next.failedSince = now
		if before := s.apps[name]; before.state.Failed {
			next.failedSince = before.failedSince
		}
	}
	s.apps[name] = next
	s.board.Set(name, next.state, now)
}

// expect sets the commit that Applications of the served repository should be
// at.
func (s *standings) expect(commit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit = commit
	for _, name := range slices.Sorted(maps.Keys(s.apps)) {
		s.judge(s.apps[name].app, time.Now())
	}
}

// behind tells whether a source of app that follows the served branch was
// compared at another commit than the one that is served.
func (s *standings) behind(app *v1alpha1.Application) string {
	compared := app.Status.Sync.Revisions
	if !app.Spec.MultipleSources() {
		compared = []string{app.Status.Sync.Revision}
	}
	for i, src := range app.Spec.EffectiveSources() {
		follows := slices.Contains([]string{"", "HEAD", gitserver.Branch}, src.TargetRevision)
		if follows && s.repo.serves(src.RepoURL) && (i >= len(compared) || compared[i] != s.commit) {
			return s.commit
		}
	}
	return ""
}

// stateOf judges one Application. behind is a commit that it has not been
// compared with yet, or empty.
func stateOf(app *v1alpha1.Application, behind string) live.State {
	operation := app.Status.OperationState
	running := app.Operation != nil || operation != nil && !operation.Phase.Completed()
	switch {
	case running && operation != nil:
		return live.State{Running: true, Text: operation.Message}
	case running:
		return live.State{Running: true, Text: "a sync is about to start"}
	}
	for _, c := range app.Status.Conditions {
		if strings.HasSuffix(string(c.Type), "Error") && c.Type != v1alpha1.ConditionSyncError {
			return live.State{Failed: true, Text: string(c.Type) + ": " + c.Message}
		}
	}
	v := stateVerdict(app, true, true, true)
	switch {
	case behind != "":
		return live.State{Text: "not compared with commit " + shortRevision(behind) + " yet"}
	case v.failed && operation != nil && !operation.Phase.Successful():
		return live.State{Failed: true, Text: operation.Message}
	case v.failed:
		// Degraded after a sync that went well may pass.
		return live.State{Text: v.text}
	case !v.done && !app.Spec.AutomatedEnabled() && app.Status.Sync.Status == v1alpha1.SyncStatusOutOfSync:
		return live.State{Text: v.waiting + "; it has no automated sync policy: `wavetrain app sync " + app.Name + "` syncs it"}
	case !v.done:
		return live.State{Text: v.waiting}
	}
	return live.State{Done: true, Text: v.text}
}

// settled tells whether there are Applications and all of them are done.
func (s *standings) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.apps {
		if !a.state.Done {
			return false
		}
	}
	return len(s.apps) > 0
}

// failed returns what those Applications say that have been failed for at least
// the given time.
func (s *standings) failed(now time.Time, atLeast time.Duration) []string {
	return s.list(func(a standing) bool { return a.state.Failed && now.Sub(a.failedSince) >= atLeast })
}

// waiting returns what those Applications say that are not done.
func (s *standings) waiting() []string {
	return s.list(func(a standing) bool { return !a.state.Done })
}

func (s *standings) list(pick func(standing) bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(s.apps)) {
		if a := s.apps[name]; pick(a) {
			lines = append(lines, a.app.Name+": "+a.state.Text)
		}
	}
	return lines
}

// served returns the URLs, as Applications spell them, that the directory stands
// for.
func (s *standings) served() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	urls := map[string]bool{}
	for _, a := range s.apps {
		for _, src := range a.app.Spec.EffectiveSources() {
			if s.repo.serves(src.RepoURL) {
				urls[src.RepoURL] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(urls))
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// application is the Application of a workload.
func application(w workload, namespace, repoURL string) *v1alpha1.Application {
	yes := true
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name},
		Spec: v1alpha1.ApplicationSpec{
			Project:     v1alpha1.DefaultProject,
			Source:      &v1alpha1.ApplicationSource{RepoURL: repoURL, Path: w.path(), TargetRevision: "main"},
			Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: w.namespace},
			SyncPolicy:  &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{Prune: &yes, SelfHeal: &yes}},
		},
	}
}

// synced tells whether nothing is left to do.
func synced(app *v1alpha1.Application) bool {
	state := app.Status.OperationState
	return app.Status.Sync.Status == v1alpha1.SyncStatusSynced && state != nil && state.Phase == v1alpha1.OperationSucceeded
}

// deliver creates the Applications of the workloads, several side by side, and
// waits until all are synced. It returns how long that took.
func (s *stage) deliver(ctx context.Context, p *process, workloads []workload, repoURL string) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-p.done:
			cancel(p.ended())
		case <-stopped:
		}
	}()
	watcher, err := s.watchApplications(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(s.concurrency)
	go func() {
		for _, w := range workloads {
			group.Go(func() error { return s.client.Create(groupCtx, application(w, s.control, repoURL)) })
		}
		if err := group.Wait(); err != nil {
			cancel(fmt.Errorf("create Applications: %w", err))
		}
	}()
	waiting := map[string]bool{}
	for _, w := range workloads {
		waiting[w.name] = true
	}
	if err := s.awaitSynced(ctx, watcher, waiting); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

const (
	// sayEvery is how often a person is told how far it is.
	sayEvery = 30 * time.Second
	// stuckAfter is how long no further Application may become synced before the
	// bench gives up.
	stuckAfter = 5 * time.Minute
)

// watchApplications watches them from as they are now.
func (s *stage) watchApplications(ctx context.Context) (watch.Interface, error) {
	return s.client.Watch(ctx, &v1alpha1.ApplicationList{}, client.InNamespace(s.control))
}

// awaitSynced waits until the named Applications are synced, and stops watcher.
func (s *stage) awaitSynced(ctx context.Context, watcher watch.Interface, waiting map[string]bool) error {
	defer func() { watcher.Stop() }()
	last, progress := map[string]*v1alpha1.Application{}, time.Now()
	ticker := time.NewTicker(sayEvery)
	defer ticker.Stop()
	for len(waiting) > 0 {
		select {
		case e, ok := <-watcher.ResultChan():
			if !ok {
				// The API server lets go of who does not keep up, as we do beside it.
				again, err := s.watchApplications(ctx)
				if err != nil {
					return errors.Join(context.Cause(ctx), err)
				}
				watcher = again
				continue
			}
			app, ok := e.Object.(*v1alpha1.Application)
			if !ok || !waiting[app.Name] {
				continue
			}
			if last[app.Name] = app; synced(app) {
				delete(waiting, app.Name)
				progress = time.Now()
			}
		case <-ticker.C:
			if time.Since(progress) > stuckAfter {
				return fmt.Errorf("nothing has become synced for %s; %s", stuckAfter, someone(waiting, last))
			}
			s.say("%d Applications are not synced yet", len(waiting))
		case <-ctx.Done():
			return fmt.Errorf("%w; %s", context.Cause(ctx), someone(waiting, last))
		}
	}
	return nil
}

// someone describes one of the Applications that are waited for.
func someone(waiting map[string]bool, last map[string]*v1alpha1.Application) string {
	for name := range waiting {
		app := last[name]
		if app == nil {
			return name + " was not seen"
		}
		text := []string{fmt.Sprintf("%s is %s", name, app.Status.Sync.Status)}
		if state := app.Status.OperationState; state != nil {
			text = append(text, fmt.Sprintf("its operation %s: %s", state.Phase, state.Message))
		}
		for _, c := range app.Status.Conditions {
			text = append(text, fmt.Sprintf("%s: %s", c.Type, c.Message))
		}
		return strings.Join(text, "; ")
	}
	return "all are synced"
}

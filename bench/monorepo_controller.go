// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// monoNamespace is where the services of the monorepo go.
const monoNamespace = "apps"

// runController delivers the repository with the controller and measures what it
// does when one service changes.
func (c mono) runController(ctx context.Context) (err error) {
	bench := *c.bench
	// A commit has to be noticed soon; what polling costs is told beside the rest.
	bench.pollAfter = min(c.pollAfter, 5*time.Second)
	c.bench = &bench
	s, err := c.newStage(ctx, "monorepo")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	services := monoServices(c.services)
	c.say("committing %d services", len(services))
	repo, err := s.serveRepository(ctx, monorepo(services))
	if err != nil {
		return err
	}
	if err := s.namespaces(ctx, monoNamespace); err != nil {
		return err
	}
	p, err := s.startController(ctx)
	if err != nil {
		return err
	}
	c.say("delivering %d Applications", len(services))
	delivered, err := s.measure(ctx, p, func() (time.Duration, error) { return s.deliverServices(ctx, services, repo.url()) })
	if err != nil {
		return err
	}
	c.say("waiting %s, then measuring idleness as long", c.settle)
	if err := s.settled(ctx, c.settle); err != nil {
		return err
	}
	idle, err := s.rest(ctx, p, c.settle, false)
	if err != nil {
		return err
	}
	r := newReport("monorepo --controller", "%d Applications of ten objects from one repository, half charts, half overlays; one service changes", len(services))
	r.add("delivery, wall", seconds(delivered.wall), "s")
	delivered.report(r, len(services))
	if err := c.decisions(ctx, s, p, repo, services, idle, r); err != nil {
		return err
	}
	return c.report(r)
}

// deliverServices creates an Application for each service and waits until all are
// synced.
func (s *stage) deliverServices(ctx context.Context, services []monoService, repoURL string) (time.Duration, error) {
	watcher, err := s.watchApplications(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	waiting := map[string]bool{}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(s.concurrency)
	for _, service := range services {
		waiting[service.name] = true
	}
	created := make(chan error, 1)
	go func() {
		for _, service := range services {
			group.Go(func() error { return s.client.Create(groupCtx, service.application(s.control, repoURL)) })
		}
		created <- group.Wait()
	}()
	err = s.awaitSynced(ctx, watcher, waiting)
	return time.Since(began), errors.Join(err, <-created)
}

func (s monoService) application(namespace, repoURL string) *v1alpha1.Application {
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.name},
		Spec: v1alpha1.ApplicationSpec{
			Project:     v1alpha1.DefaultProject,
			Source:      &v1alpha1.ApplicationSource{RepoURL: repoURL, Path: s.path, TargetRevision: "main"},
			Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: monoNamespace},
			SyncPolicy:  &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}},
		},
	}
}

// decisions commits a change to one service and follows the controller until it has
// decided for every Application whether that concerns it.
func (c mono) decisions(ctx context.Context, s *stage, p *process, repo *repository, services []monoService, idle measured, r *Report) error {
	affected, unaffected := map[string]string{"affected": "true"}, map[string]string{"affected": "false"}
	counts := func(ctx context.Context) (yes, no, rendered float64, err error) {
		yes, errYes := p.metric(ctx, "wavetrain_revisions_total", affected)
		no, errNo := p.metric(ctx, "wavetrain_revisions_total", unaffected)
		rendered, errRendered := p.metric(ctx, "wavetrain_renderings_total", nil)
		return yes, no, rendered, errors.Join(errYes, errNo, errRendered)
	}
	yesBefore, noBefore, renderedBefore, err := counts(ctx)
	if err != nil {
		return err
	}
	changed := services[len(services)/2&^1]
	files := map[string][]byte{}
	for name, text := range changed.files("1.0.1") {
		files[changed.path+"/"+name] = []byte(text)
	}
	c.say("one service has changed")
	var yes, no, rendered float64
	decided, err := s.measure(ctx, p, func() (time.Duration, error) {
		if err := repo.commit(ctx, files); err != nil {
			return 0, err
		}
		began := time.Now()
		for {
			if yes, no, rendered, err = counts(ctx); err != nil {
				return 0, err
			}
			if int(yes-yesBefore+no-noBefore) >= len(services) {
				return time.Since(began), nil
			}
			if time.Since(began) > stuckAfter {
				return 0, fmt.Errorf("it was decided for %d Applications only", int(yes-yesBefore+no-noBefore))
			}
			// Being asked costs the controller something, too.
			if err := pause(ctx, 500*time.Millisecond); err != nil {
				return 0, err
			}
		}
	})
	if err != nil {
		return err
	}
	resting := seconds(idle.used.Self) / seconds(idle.wall) * seconds(decided.wall)
	r.add("Applications that the commit affects", yes-yesBefore, "", exactly(1))
	r.add("renders after a commit to one service", rendered-renderedBefore, "", exactly(1))
	r.add("CPU of the controller process to decide for all", max(seconds(decided.used.Self)-resting, 0), "CPU-s", atMost(1))
	r.add("  as much would have gone into rest", resting, "CPU-s")
	r.add("CPU of git and render workers meanwhile", seconds(decided.used.Children), "CPU-s")
	r.add("wall from the commit, polling included", seconds(decided.wall), "s")
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/source"
)

const (
	// gapWaves is how many waves the measured Application has, gapWidth how many
	// Deployments a wave.
	gapWaves = 24
	gapWidth = 2
)

// BenchmarkWaveGap measures how long it takes from the request that makes the
// last object of a wave healthy to the one that creates the first of the next
// wave, both as the API server's audit log has received them.
func BenchmarkWaveGap(b *testing.B) {
	log := filepath.Join(b.TempDir(), "audit.log")
	w := newWorldWithoutController(b, sandboxtest.Options{AuditLog: log, Own: true})
	w.env.SetRules(b, "rules:\n  - {match: {kind: Deployment}, readyAfter: 200ms}\n")
	w.runPatientController()
	files := map[string]string{}
	for wave := range gapWaves {
		for i := range gapWidth {
			name := gapName(wave, i)
			files["app/"+name+".yaml"] = deployment(name, fmt.Sprint(wave))
		}
	}
	repo := gittest.New(b, files)
	var gaps []time.Duration
	for round := 0; b.Loop(); round++ {
		w.Target = w.env.Namespace(b)
		states := w.watchDeployments()
		name := w.app(fmt.Sprintf("gaps-%d", round), repo, "app")
		w.until(name, 2*time.Minute, "converged", converged)
		found, err := waveGaps(log, w.Target, states())
		if err != nil {
			b.Fatal(err)
		}
		gaps = append(gaps, found...)
	}
	slices.Sort(gaps)
	milliseconds := func(share float64) float64 {
		return float64(gaps[int(share*float64(len(gaps)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(float64(len(gaps)), "gaps")
	b.ReportMetric(milliseconds(0.5), "ms-median")
	b.ReportMetric(milliseconds(0.95), "ms-p95")
	b.ReportMetric(milliseconds(1), "ms-max")
}

func gapName(wave, i int) string { return fmt.Sprintf("wave-%d-%d", wave, i) }

// runPatientController runs a controller that does not ask for commits while it
// is measured.
func (w *world) runPatientController() {
	w.t.Helper()
	store, err := source.NewStore(source.Options{Dir: w.t.TempDir(), Env: gittest.Env()})
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := controller.New(controller.Options{Config: w.env.Config, Namespace: w.Control, Sources: store, PollInterval: time.Hour})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			w.t.Errorf("controller: %v", err)
		}
	})
}

// watchDeployments notes, until the function it returns is called, which version
// of each Deployment was the last that was not healthy: the request that follows
// it made it so.
func (w *world) watchDeployments() func() map[string]string {
	w.t.Helper()
	watcher, err := w.client.Watch(w.t.Context(), &appsv1.DeploymentList{}, client.InNamespace(w.Target))
	if err != nil {
		w.t.Fatal(err)
	}
	last, healthy := map[string]string{}, map[string]bool{}
	var following sync.WaitGroup
	following.Go(func() {
		for e := range watcher.ResultChan() {
			d, ok := e.Object.(*appsv1.Deployment)
			if !ok || e.Type == watch.Deleted || healthy[d.Name] {
				continue
			}
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
			if err != nil {
				w.t.Error(err)
				continue
			}
			u := &unstructured.Unstructured{Object: fields}
			u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
			if health.Of(u).Status == health.Healthy {
				healthy[d.Name] = true
				continue
			}
			last[d.Name] = d.ResourceVersion
		}
	})
	return func() map[string]string {
		watcher.Stop()
		following.Wait()
		return last
	}
}

// auditEntry is what is needed of a line of the audit log.
type auditEntry struct {
	Verb       string
	RequestURI string
	ObjectRef  struct {
		Resource, Namespace, Name, Subresource, ResourceVersion string
	}
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp metav1.MicroTime
}

// waveGaps reads from the audit log how long each wave but the first waited after
// the wave before it had become healthy. The unhealthy versions tell which writes
// of a status made a Deployment healthy: a write names the version it is based on.
func waveGaps(file, namespace string, unhealthy map[string]string) ([]time.Duration, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	created, healthy := map[string]time.Time{}, map[string]time.Time{}
	for line := range bytes.Lines(data) {
		var e auditEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		ref, at := e.ObjectRef, e.RequestReceivedTimestamp.Time
		if ref.Resource != "deployments" || ref.Namespace != namespace || e.ResponseStatus.Code >= 300 || strings.Contains(e.RequestURI, "dryRun=") {
			continue
		}
		switch {
		case ref.Subresource == "" && (e.Verb == "patch" || e.Verb == "create"):
			if before, ok := created[ref.Name]; !ok || at.Before(before) {
				created[ref.Name] = at
			}
		case ref.Subresource == "status" && ref.ResourceVersion == unhealthy[ref.Name]:
			healthy[ref.Name] = at
		}
	}
	var gaps []time.Duration
	for wave := range gapWaves - 1 {
		var last, first time.Time
		for i := range gapWidth {
			done, next := healthy[gapName(wave, i)], created[gapName(wave+1, i)]
			if done.IsZero() || next.IsZero() {
				return nil, fmt.Errorf("the audit log does not show that %s became healthy (%s) and %s was created (%s)",
					gapName(wave, i), done, gapName(wave+1, i), next)
			}
			if done.After(last) {
				last = done
			}
			if first.IsZero() || next.Before(first) {
				first = next
			}
		}
		gap := first.Sub(last)
		if gap < 0 {
			return nil, fmt.Errorf("wave %d began %s before wave %d had become healthy", wave+1, -gap, wave)
		}
		gaps = append(gaps, gap)
	}
	return gaps, nil
}

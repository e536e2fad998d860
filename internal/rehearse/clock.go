// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/health"
)

// clock is the time of a rehearsal: the real one, and what of the simulation's time was
// skipped.
type clock struct {
	mu      sync.Mutex
	skipped time.Duration
}

// at is the time of the rehearsal at a real time that is now.
func (c *clock) at(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.Add(c.skipped)
}

func (c *clock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skipped
}

func (c *clock) skip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped += d
}

// now is the time of the rehearsal.
func (w *world) now() time.Time { return w.clock.at(time.Now()) }

const (
	// telling is how soon, and then how often, the engine looks for the reason of a
	// wait and writes it on the Application: in a cluster these are seconds, of which a
	// wait that takes a minute has plenty. Here that minute is skipped.
	telling = time.Second
	// stillness is how long nothing must have happened before time is skipped. What the
	// engine and Kubernetes' controllers have to do about it takes them milliseconds,
	// the Job controller a second. What an Application says must not be older than in
	// a cluster: a wait may be explained anew just after an explanation, and be written
	// just after a write.
	stillness = 2*telling + time.Second
	// patient is the same where something has drifted: the engine heals it when it has
	// waited for it to keep still.
	patient = 9 * time.Second
	// quiet is the same for changes of Applications.
	quiet = 1500 * time.Millisecond
	// worthSkipping is the least that is skipped, and lead is what is left of it, so
	// that what happens then happens while all are watching.
	worthSkipping = 3 * time.Second
	lead          = 200 * time.Millisecond
	// farthest is how far time is skipped at a time: well below the limits that the
	// engine has for a wait without progress.
	farthest = 5 * time.Minute
)

// hurry skips time that only the simulation lets pass, at most until end: nothing has
// happened for a while, nobody but the simulation has anything to do later, and it has.
func (w *world) hurry(ctx context.Context, end time.Time) error {
	still := stillness
	if w.chronicle.drifted() {
		still = patient
	}
	if w.touching.Load() > 0 || w.now().Sub(w.chronicle.stillSince()) < still ||
		w.now().Sub(w.chronicle.quietSince()) < quiet || time.Since(w.headAt) < still || w.chronicle.timed() {
		return nil
	}
	in, pending, err := w.sandbox.Next(ctx)
	if err != nil || !pending || in > farthest {
		return err
	}
	d := min(in-lead, end.Sub(w.now()))
	if d < worthSkipping {
		return nil
	}
	w.clock.skip(d)
	return w.sandbox.Skip(ctx, d)
}

// expects tells whether the simulation is about to do something by itself, or has done
// so a moment ago.
func (w *world) expects(ctx context.Context) (bool, error) {
	_, pending, err := w.sandbox.Next(ctx)
	if pending {
		w.expected = time.Now()
	}
	return time.Since(w.expected) < calm, err
}

// timed tells whether somebody besides the simulation has something to do at a later
// time: the engine, which has patience with what is Degraded or stuck for a while and
// tries again after a pause, or one of Kubernetes' controllers. Their time cannot be
// skipped.
func (c *chronicle) timed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.objects {
		switch {
		case isApplication(s.object):
			if strings.Contains(field.Text(s.object.Object, "status.operationState.message"), retrying) || field.At(s.object.Object, "operation") != nil {
				return true
			}
		case s.before:
		case s.health == health.Degraded || s.waiting != "" || ownTime(s.object):
			return true
		}
	}
	return false
}

// drifted tells whether an Application is to be healed that is not: nothing runs, and
// it differs.
func (c *chronicle) drifted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.objects {
		if !isApplication(s.object) {
			continue
		}
		text := func(path string) string { return field.Text(s.object.Object, path) }
		if field.At(s.object.Object, "spec.syncPolicy.automated") != nil && text("status.sync.status") == string(v1alpha1.SyncStatusOutOfSync) &&
			text("status.operationState.phase") != string(v1alpha1.OperationRunning) {
			return true
		}
	}
	return false
}

// ownTime tells whether one of Kubernetes' controllers has a clock of its own on an
// object.
func ownTime(u *unstructured.Unstructured) bool {
	number := func(path string) int64 {
		n, _ := field.At(u.Object, path).(int64)
		return n
	}
	switch u.GetKind() {
	case "HorizontalPodAutoscaler":
		return true
	case "CronJob":
		return field.At(u.Object, "spec.suspend") != true
	case "Job":
		finished := health.Of(u).Status == health.Healthy || health.Of(u).Status == health.Degraded
		if finished {
			return number("spec.ttlSecondsAfterFinished") > 0
		}
		return number("status.failed") > 0 || number("spec.activeDeadlineSeconds") > 0
	case "Deployment", "StatefulSet", "DaemonSet":
		return number("spec.minReadySeconds") > 0 && health.Of(u).Status != health.Healthy
	case "Ingress":
		// The engine waits for its address for a limited time.
		return health.Of(u).Status != health.Healthy
	}
	return false
}

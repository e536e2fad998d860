// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// switched returns an object with options of its own.
func switched(u *unstructured.Unstructured, options string) *unstructured.Unstructured {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[manifest.AnnotationWavetrainOptions] = options
	u.SetAnnotations(annotations)
	return u
}

func TestWaveDelay(t *testing.T) {
	for name, tt := range map[string]struct {
		options string
		want    time.Duration
	}{
		"none": {want: 0},
		"one between two waves, none after the last": {options: "WaveDelay=2s", want: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.limits = machine.Limits{}.With(manifest.ParseOptions(tt.options))
			w.begin(sync(0, step(object("ConfigMap", "a", ""))), sync(1, step(object("ConfigMap", "b", ""))), sync(2, step(object("ConfigMap", "c", ""))))
			w.run(t)
			if got := w.now.Sub(w.start); got != tt.want {
				t.Errorf("three waves took %s, want %s", got, tt.want)
			}
		})
	}
}

func TestHookPolicyOfTheOperation(t *testing.T) {
	failed, succeeded := []manifest.DeletePolicy{manifest.HookFailed}, []manifest.DeletePolicy{manifest.HookSucceeded}
	for name, tt := range map[string]struct {
		options, own string
		fate         string
		gone         map[string]bool
	}{
		"a hook's own result, the operation fails":    {fate: "bad@1s", gone: map[string]bool{"kept": true}},
		"the operation's outcome, it fails":           {options: "HookPolicy=operation", fate: "bad@1s", gone: map[string]bool{"dropped": true}},
		"the operation's outcome, it succeeds":        {options: "HookPolicy=operation", fate: "ok@1s", gone: map[string]bool{"kept": true}},
		"the operation's outcome for one hook, fails": {own: "HookPolicy=operation", fate: "bad@1s", gone: map[string]bool{"dropped": true, "kept": true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.limits = machine.Limits{}.With(manifest.ParseOptions(tt.options))
			w.begin(
				group(manifest.PreSync, 0, hook(switched(object("Job", "dropped", "ok@1s"), tt.own), failed...), hook(object("Job", "kept", "ok@1s"), succeeded...)),
				group(manifest.PostSync, 0, hook(object("Job", "last", tt.fate))),
			)
			w.run(t)
			for _, name := range []string{"dropped", "kept"} {
				if _, there := w.cluster.Get(key("Job", name)); there == tt.gone[name] {
					t.Errorf("hook %s is there: %t, want %t", name, there, !tt.gone[name])
				}
			}
		})
	}
}

func TestPendingByDesignGates(t *testing.T) {
	ingress := object("Ingress", "web", "")
	for name, tt := range map[string]struct {
		options string
		first   *unstructured.Unstructured
		phase   machine.Phase
		took    time.Duration
	}{
		"for a minute":            {first: ingress, phase: machine.PhaseSucceeded, took: time.Minute},
		"as long as anything":     {first: ingress, options: "PendingByDesign=gate", phase: machine.PhaseFailed, took: 10 * time.Minute},
		"of one object":           {first: switched(ingress.DeepCopy(), "PendingByDesign=gate"), phase: machine.PhaseFailed, took: 10 * time.Minute},
		"an option of other kind": {first: switched(ingress.DeepCopy(), "PendingByDesign=true"), phase: machine.PhaseSucceeded, took: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.limits = machine.Limits{}.With(manifest.ParseOptions(tt.options))
			w.begin(sync(0, step(tt.first)), sync(1, step(object("ConfigMap", "late", ""))))
			w.run(t)
			if got := w.record.Outcome.Phase; got != tt.phase || w.now.Sub(w.start) != tt.took {
				t.Errorf("it ended %s after %s, want %s after %s", got, w.now.Sub(w.start), tt.phase, tt.took)
			}
		})
	}
}

func TestAnyGeneration(t *testing.T) {
	stale := object("Deployment", "web", "")
	stale.SetGeneration(3)
	stale.Object["status"] = map[string]any{
		"observedGeneration": int64(2), "replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1), "readyReplicas": int64(1),
		"conditions": []any{map[string]any{"type": "Available", "status": "True", "observedGeneration": int64(2)}},
	}
	external := object("ExternalSecret", "db", "")
	external.SetGeneration(3)
	external.Object["status"] = map[string]any{"syncedResourceVersion": "2-abc", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	for name, u := range map[string]*unstructured.Unstructured{"observedGeneration": stale, "syncedResourceVersion": external} {
		t.Run(name, func(t *testing.T) {
			before := machine.Observe(u, nil, health.Context{})
			after := machine.Observe(machine.OfThisGeneration(u), nil, health.Context{})
			if before.Processed != machine.Behind || after.Processed != machine.UpToDate || after.Health.Status != health.Healthy {
				t.Errorf("before %v %s, after %v %s", before.Processed, before.Health.Status, after.Processed, after.Health.Status)
			}
		})
	}
	for name, tt := range map[string]struct {
		options, own string
		want         bool
	}{
		"no option": {}, "on the application": {options: "ObservedGeneration=false", want: true}, "on the object": {own: "ObservedGeneration=false", want: true},
	} {
		s := step(switched(object("Deployment", "web", ""), tt.own))
		if got := machine.SwitchesOf(manifest.ParseOptions(tt.options)).TrustsAnyGeneration(&s); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

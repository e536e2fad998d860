// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// rules make the sandbox's objects do what the fates of the objects in memory say.
const rules = `
rules:
- match: {kind: Job, name: bad*}
  failAfter: 1s
- match: {kind: Job, name: never*}
  neverFinish: true
- match: {kind: Deployment, name: lacking*}
  needs: fromPodSpec
`

// onSandbox connects to a real API server; the result makes places on it.
func onSandbox(t *testing.T) func(*testing.T) *place {
	t.Helper()
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	env.SetRules(t, rules)
	c, err := cluster.New(env.Config, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func(t *testing.T) *place {
		t.Helper()
		return &place{T: t, cluster: c, namespace: env.Namespace(t), store: &memoryStore{}, events: &eventLog{}}
	}
}

func TestOnSandbox(t *testing.T) {
	place := onSandbox(t)
	tests := contracts()
	tests["BlockedPodIsNamed"] = blockedPodIsNamed
	tests["NextWaveBeginsAtOnce"] = nextWaveBeginsAtOnce
	// A subtest of its own returns only when its parallel ones have ended, before
	// the rules and the cluster go.
	t.Run("Contract", func(t *testing.T) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(place(t))
			})
		}
	})
}

// A wait names what the Pods lack, in the kubelet's words.
func blockedPodIsNamed(p *place) {
	web := p.object("Deployment", "lacking", "")
	containers := []any{map[string]any{
		"name": "main", "image": "registry.example.test/web:1",
		"envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "absent"}}},
	}}
	if err := unstructured.SetNestedSlice(web.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		p.Fatal(err)
	}
	r := p.driver().Start(p.Context(), p.operation("op-1",
		rollouttest.Group(manifest.Sync, 0, rollouttest.Step(web)),
		rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("ConfigMap", "late", ""))),
	))
	begun := time.Now()
	e := p.eventually("that names the missing ConfigMap", func(e event.Event) bool {
		return e.Type == event.Waiting && strings.Contains(e.Message, `CreateContainerConfigError: configmap "absent" not found`)
	})
	if !strings.HasPrefix(e.Message, "Sync wave 0 (1/2): waiting for healthy state of apps/Deployment/lacking: ") {
		p.Errorf("it says %q", e.Message)
	}
	if took := time.Since(begun); took > 15*time.Second {
		p.Errorf("the reason was visible after %s", took)
	}
	r.Terminate("")
	p.mustEnd(p.await(r), machine.PhaseFailed)
	if p.get("ConfigMap", "late") != nil {
		p.Error("the next wave was begun")
	}
}

// The next wave begins as soon as the cluster shows that the last one is done:
// the time between the change that ends a wave and the first write of the next.
// The limit leaves room for the other tests on the machine; alone it is a tenth.
func nextWaveBeginsAtOnce(p *place) {
	var mu sync.Mutex
	seen := map[string]time.Time{}
	cancel := p.cluster.Subscribe(func(c cluster.Change) {
		mu.Lock()
		defer mu.Unlock()
		if c.Key.Kind == "Job" && c.Key.Namespace == p.namespace {
			if u, ok := p.cluster.Get(c.Key); ok && health.Of(u).Status == health.Healthy && seen[c.Key.Name].IsZero() {
				seen[c.Key.Name] = time.Now()
			}
		}
		if c.Key.Kind == "ConfigMap" && c.Key.Namespace == p.namespace && seen[c.Key.Name].IsZero() {
			seen[c.Key.Name] = time.Now()
		}
	})
	defer cancel()
	const waves = 4
	var groups []plan.Group
	for i := range waves {
		groups = append(groups,
			rollouttest.Group(manifest.Sync, 2*i, rollouttest.Step(p.object("Job", fmt.Sprintf("job-%d", i), "ok@1s"))),
			rollouttest.Group(manifest.Sync, 2*i+1, rollouttest.Step(p.object("ConfigMap", fmt.Sprintf("next-%d", i), ""))),
		)
	}
	p.mustEnd(p.run(p.operation("op-1", groups...)), machine.PhaseSucceeded)
	mu.Lock()
	defer mu.Unlock()
	var gaps []time.Duration
	for i := range waves {
		gaps = append(gaps, seen[fmt.Sprintf("next-%d", i)].Sub(seen[fmt.Sprintf("job-%d", i)]))
	}
	slices.Sort(gaps)
	p.Logf("gaps between waves: %v", gaps)
	if median := gaps[len(gaps)/2]; median > 250*time.Millisecond {
		p.Errorf("the median gap is %s", median)
	}
}

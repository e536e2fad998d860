// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// rules make the sandbox's objects do what the fates of the objects in memory say.
const rules = `
rules:
- match: {kind: Job, name: bad*}
  failAfter: 1s
- match: {kind: Job, name: init}
  succeedAfter: 10s
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
	e := p.eventually("that names the missing ConfigMap", func(e event.Event) bool {
		return e.Type == event.Waiting && strings.Contains(e.Message, `CreateContainerConfigError: configmap "absent" not found`)
	})
	if !strings.HasPrefix(e.Message, "Sync wave 0 (1/2): waiting for healthy state of apps/Deployment/lacking: ") {
		p.Errorf("it says %q", e.Message)
	}
	r.Terminate("")
	p.mustEnd(p.await(r), machine.PhaseFailed)
	if p.get("ConfigMap", "late") != nil {
		p.Error("the next wave was begun")
	}
}

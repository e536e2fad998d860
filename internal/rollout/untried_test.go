// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// guarded is a cluster whose admission webhook answers dry runs of one object with
// an error. No API server of today lets a webhook be configured that does not support
// them.
type guarded struct {
	rollout.Cluster
	name string
	err  error
}

func (g *guarded) Try(ctx context.Context, obj *unstructured.Unstructured, anew bool, o cluster.ApplyOptions) error {
	if obj.GetName() == g.name && g.err != nil {
		return &cluster.Error{Op: "apply", Key: manifest.KeyOf(obj), Server: "memory", Reason: cluster.Busy, Err: g.err}
	}
	return g.Cluster.Try(ctx, obj, anew, o)
}

// silence is what the API server says when it cannot reach a webhook.
func silence(service string) error {
	return apierrors.NewInternalError(errors.New(`failed calling webhook "check.example.test": failed to call webhook: Post "https://` + service +
		`.svc:443/check?timeout=10s": no endpoints available for service "admission"`))
}

func TestWebhooksThatDoNotJudgeADryRun(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"it does not support dry runs": {
			err:  apierrors.NewBadRequest(`admission webhook "check.example.test" does not support dry run`),
			want: "configmap/guarded created (not tried before: its admission webhook does not support dry run)",
		},
		"its Service is part of the plan": {
			err:  silence("admission." + rollouttest.Namespace),
			want: "configmap/guarded created (not tried before: its admission webhook is served by Service/admission, which is part of this sync)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *place, _ *rollouttest.Memory) {
				p.cluster = &guarded{Cluster: p.cluster, name: "guarded", err: test.err}
				r := p.driver().Start(p.Context(), p.operation("op-1",
					rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("Service", "admission", ""))),
					rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("ConfigMap", "guarded", ""))),
				))
				p.mustEnd(p.await(r), machine.PhaseSucceeded)
				if got := r.Snapshot().Results[1].Message; got != test.want {
					t.Errorf("the result says %q, want %q", got, test.want)
				}
			})
		})
	}
}

// A webhook that does not answer and that this sync has nothing to do with is waited
// for, before anything is written.
func TestUnreachableWebhookIsTransient(t *testing.T) {
	inMemory(t, func(p *place, m *rollouttest.Memory) {
		g := &guarded{Cluster: p.cluster, name: "guarded", err: silence("admission.elsewhere")}
		p.cluster = g
		op := p.operation("op-1",
			rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("Service", "admission", ""))),
			rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("ConfigMap", "guarded", ""))),
		)
		op.Limits = &machine.Limits{NoProgress: time.Minute}
		r := p.driver().Start(p.Context(), op)
		e := p.eventually("that the dry run is tried again", func(e event.Event) bool { return e.Type == event.Waiting })
		if !strings.HasPrefix(e.Message, "dry run of ConfigMap/guarded: ") || !strings.HasSuffix(e.Message, "; trying again") {
			t.Errorf("it says %q", e.Message)
		}
		if w := m.Writes(); len(w) > 0 {
			t.Errorf("something was written: %+v", w)
		}
		outcome := p.await(r)
		p.mustEnd(outcome, machine.PhaseFailed)
		if !outcome.Retry {
			t.Errorf("an error that may pass is not retried: %+v", outcome)
		}
	})
}

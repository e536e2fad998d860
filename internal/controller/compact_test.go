// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
)

func packerFor(t *testing.T) packer {
	t.Helper()
	codec, err := cluster.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	return packer{codec}
}

func (p packer) cached(t *testing.T, app *v1alpha1.Application) *v1alpha1.Application {
	t.Helper()
	obj, err := p.transform(app.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	cached, ok := obj.(*v1alpha1.Application)
	if !ok {
		t.Fatalf("an Application is cached as %T", obj)
	}
	return cached
}

// Of a cached Application's status nothing lies about in pieces, and all of it comes
// back.
func TestStatusIsCachedPacked(t *testing.T) {
	p := packerFor(t)
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	app := &v1alpha1.Application{}
	app.Name, app.Namespace = "shop", "apps"
	app.Status = v1alpha1.ApplicationStatus{
		Sync:       v1alpha1.SyncStatus{Status: v1alpha1.SyncStatusSynced, Revision: "r1"},
		Resources:  []v1alpha1.ResourceStatus{{Kind: "ConfigMap", Name: "a", Status: v1alpha1.SyncStatusSynced}},
		Conditions: []v1alpha1.ApplicationCondition{{Type: v1alpha1.ConditionSyncError, Message: "no", LastTransitionTime: &at}},
		Summary:    v1alpha1.ApplicationSummary{Images: []string{"registry.example.test/shop:1"}},
		OperationState: &v1alpha1.OperationState{
			Phase: v1alpha1.OperationSucceeded, StartedAt: at, FinishedAt: &at,
			SyncResult: &v1alpha1.SyncOperationResult{Revision: "r1", Resources: []v1alpha1.ResourceResult{{Kind: "ConfigMap", Name: "a"}}},
		},
	}
	cached := p.cached(t, app)
	if diff := cmp.Diff(v1alpha1.ApplicationStatus{}, cached.Status); diff != "" {
		t.Errorf("the status is kept as it is:\n%s", diff)
	}
	again, err := p.transform(cached)
	if err != nil || again != any(cached) {
		t.Errorf("what is packed is packed again (%v)", err)
	}
	if err := p.unpack(cached); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(app, cached); diff != "" {
		t.Errorf("it comes back as another:\n%s", diff)
	}
}

// Whoever hears of changes sees those that count, though the status is packed.
func TestTerminationIsHeardOfPacked(t *testing.T) {
	p := packerFor(t)
	in := func(phase v1alpha1.OperationPhase, message string) *v1alpha1.Application {
		app := &v1alpha1.Application{}
		app.Status.OperationState = &v1alpha1.OperationState{Phase: phase, Message: message}
		return p.cached(t, app)
	}
	running := in(v1alpha1.OperationRunning, "")
	if !asksForWork(event.UpdateEvent{ObjectOld: running, ObjectNew: in(v1alpha1.OperationTerminating, "")}) {
		t.Error("a termination is not heard of")
	}
	if asksForWork(event.UpdateEvent{ObjectOld: running, ObjectNew: in(v1alpha1.OperationRunning, "wave 2")}) {
		t.Error("our own status is taken for work")
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// nowhere is where records go that nobody reads.
type nowhere struct{}

func (nowhere) Save(context.Context, rollout.State) error { return nil }

// What a rollout changes, and what it waits for, it watches itself: the Application is
// looked at when it has ended.
func TestChangesDuringARolloutAreTheRolloutsOwn(t *testing.T) {
	slow := rollouttest.Object("Deployment", "slow", "never")
	plan := rollouttest.Plan(
		rollouttest.Group(manifest.Sync, 0, rollouttest.Step(slow)),
		rollouttest.Group(manifest.Sync, 1, rollouttest.Step(rollouttest.Object("ConfigMap", "after", ""))),
	)
	memory := rollouttest.NewMemory(time.Now())
	memory.Put(rollouttest.Object("Namespace", rollouttest.Namespace, ""))
	run := rollout.New(memory, rollout.Options{}).Start(t.Context(), rollout.Operation{ID: "a", Attempt: 1, Plan: plan, Store: nowhere{}})

	name := types.NamespacedName{Namespace: "argocd", Name: "shop"}
	a := &applications{states: map[types.NamespacedName]*appState{name: {}}}
	keys := []manifest.Key{manifest.KeyOf(slow)}
	if a.unchanged(name, keys) {
		t.Error("nothing runs, and nothing was seen of the Application: every change matters")
	}
	a.states[name].running.Store(&operationRun{Run: run})
	if !a.unchanged(name, keys) {
		t.Error("a change during the rollout has the Application looked at")
	}
	run.Abandon()
	<-run.Done()
	if a.unchanged(name, keys) {
		t.Error("after the rollout every change matters again")
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// inFlight is how many objects of an Application are written at once, as by the
// engine.
const inFlight = 8

// floorManager owns the fields that a floor applies.
const floorManager = "bench-floor"

// resourceOf is how a kind is served. All kinds of the bench have regular plurals
// but one.
func resourceOf(obj *unstructured.Unstructured) schema.GroupVersionResource {
	gvk := obj.GroupVersionKind()
	if gvk.Kind == "Ingress" {
		return gvk.GroupVersion().WithResource("ingresses")
	}
	return gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
}

func (s *stage) of(obj *unstructured.Unstructured) dynamic.ResourceInterface {
	return s.dynamic.Resource(resourceOf(obj)).Namespace(obj.GetNamespace())
}

// apply is what a floor does to an object.
func (s *stage) apply(ctx context.Context, obj *unstructured.Unstructured, dryRun bool) error {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	force := true
	opts := metav1.PatchOptions{FieldManager: floorManager, Force: &force}
	if dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	if _, err := s.of(obj).Patch(ctx, obj.GetName(), types.ApplyPatchType, body, opts); err != nil {
		return fmt.Errorf("floor: apply %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

func (s *stage) applyAll(ctx context.Context, objects []*unstructured.Unstructured, dryRun bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, obj := range objects {
		group.Go(func() error { return s.apply(ctx, obj, dryRun) })
	}
	return group.Wait()
}

// floor is what a bare client took.
type floor struct {
	// wall is the time until its last request was answered, observed that until the
	// cluster's own controllers had seen every Deployment.
	wall, observed time.Duration
	// plane is the CPU time of the control plane until then.
	plane time.Duration
}

// mean is between two runs of one floor.
func (f floor) mean(g floor) floor {
	return floor{wall: (f.wall + g.wall) / 2, observed: (f.observed + g.observed) / 2, plane: (f.plane + g.plane) / 2}
}

// floorA applies the workloads in a namespace, wave by wave.
func (s *stage) floorA(ctx context.Context, workloads []workload, namespace string) (floor, error) {
	return s.floor(ctx, workloads, namespace, s.applyWaves)
}

func (s *stage) applyWaves(ctx context.Context, w workload) error {
	for _, wave := range w.waves {
		if err := s.applyAll(ctx, wave, false); err != nil {
			return err
		}
	}
	return nil
}

// floorB is floorA that also does what an engine cannot do without: Applications
// are created, every object is tried before the first is written, and a status is
// written in the beginning and in the end.
func (s *stage) floorB(ctx context.Context, workloads []workload, namespace, repoURL string) (floor, error) {
	return s.floor(ctx, workloads, namespace, func(ctx context.Context, w workload) error {
		app := application(w, s.aside, repoURL)
		app.Name = namespace + "-" + app.Name
		if err := s.client.Create(ctx, app); err != nil {
			return fmt.Errorf("floor: create Application: %w", err)
		}
		if err := s.applyAll(ctx, w.objects(), true); err != nil {
			return err
		}
		if err := s.writeStatus(ctx, app, statusOf(w, app, v1alpha1.OperationRunning)); err != nil {
			return err
		}
		if err := s.applyWaves(ctx, w); err != nil {
			return err
		}
		return s.writeStatus(ctx, app, statusOf(w, app, v1alpha1.OperationSucceeded))
	})
}

func (s *stage) floor(ctx context.Context, workloads []workload, namespace string, each func(context.Context, workload) error) (out floor, err error) {
	if err := s.namespaces(ctx, namespace); err != nil {
		return out, err
	}
	before, err := s.planeCPU()
	if err != nil {
		return out, err
	}
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(s.concurrency)
	for _, w := range placed(workloads, namespace) {
		group.Go(func() error { return each(groupCtx, w) })
	}
	if err := group.Wait(); err != nil {
		return out, err
	}
	out.wall = time.Since(began)
	if err := s.awaitObserved(ctx, namespace); err != nil {
		return out, err
	}
	out.observed = time.Since(began)
	after, err := s.planeCPU()
	out.plane = after - before
	return out, err
}

// awaitObserved waits until the cluster's own controllers have caught up with a
// floor: what they still have to do would be counted against who comes next.
func (s *stage) awaitObserved(ctx context.Context, namespace string) error {
	for {
		var list appsv1.DeploymentList
		if err := s.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		behind := slices.ContainsFunc(list.Items, func(d appsv1.Deployment) bool { return d.Status.ObservedGeneration < d.Generation })
		if !behind {
			return nil
		}
		if err := pause(ctx, settle); err != nil {
			return err
		}
	}
}

func (s *stage) writeStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error {
	before := app.DeepCopy()
	app.Status = status
	if err := s.client.Patch(ctx, app, client.MergeFrom(before), client.FieldOwner(floorManager)); err != nil {
		return fmt.Errorf("floor: write status: %w", err)
	}
	return nil
}

// statusOf is a status of the size that an engine writes: a row for each object,
// and in the end another of its result.
func statusOf(w workload, app *v1alpha1.Application, phase v1alpha1.OperationPhase) v1alpha1.ApplicationStatus {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	now := metav1.Now()
	code := v1alpha1.SyncStatusOutOfSync
	state := &v1alpha1.OperationState{Phase: phase, StartedAt: now, SyncResult: &v1alpha1.SyncOperationResult{Revision: revision, Source: *app.Spec.Source}}
	if phase == v1alpha1.OperationSucceeded {
		code = v1alpha1.SyncStatusSynced
		state.Message, state.FinishedAt = "successfully synced (all tasks run)", &now
	}
	status := v1alpha1.ApplicationStatus{
		OperationState: state, ReconciledAt: &now,
		Sync: v1alpha1.SyncStatus{Status: code, Revision: revision, ComparedTo: app.Spec.ComparedTo()},
	}
	for _, obj := range w.objects() {
		gvk := obj.GroupVersionKind()
		status.Resources = append(status.Resources, v1alpha1.ResourceStatus{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Status: code,
		})
		if phase == v1alpha1.OperationSucceeded {
			state.SyncResult.Resources = append(state.SyncResult.Resources, v1alpha1.ResourceResult{
				Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(),
				Status: "Synced", Message: strings.ToLower(gvk.Kind) + "/" + obj.GetName() + " created", SyncPhase: "Sync",
			})
		}
	}
	return status
}

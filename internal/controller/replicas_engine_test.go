// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// deploymentOf is a Deployment with one replica.
func deploymentOf(image string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: front}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: front}}\n" +
		"  template:\n    metadata: {labels: {app: front}}\n    spec: {containers: [{name: main, image: \"" + image + "\"}]}\n"
}

// TestReplicasOfAnAutoscalerAreNotTouchedForAnInstant reads every state of the
// Deployment that the API server has had: ignored replicas are not written and set
// back, they are not written at all.
func TestReplicasOfAnAutoscalerAreNotTouchedForAnInstant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/front.yaml": deploymentOf("registry.example.test/front:1")})
	name := w.app("front", repo, "app", func(app *v1alpha1.Application) {
		app.Spec.SyncPolicy.SyncOptions = []string{"RespectIgnoreDifferences=true"}
		app.Spec.IgnoreDifferences = []v1alpha1.ResourceIgnoreDifferences{{Group: "apps", Kind: "Deployment", Name: "front", JSONPointers: []string{"/spec/replicas"}}}
	})
	w.until(name, 30*time.Second, "converged", converged)
	var front appsv1.Deployment
	if !w.exists("front", &front) || ptr.Deref(front.Spec.Replicas, 0) != 1 {
		t.Fatalf("a new object has what Git says: %v", front.Spec.Replicas)
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
	w.must(w.client.SubResource("scale").Update(t.Context(), &front, client.WithSubResourceBody(scale), client.FieldOwner("kube-controller-manager")))
	watcher, err := w.client.Watch(t.Context(), &appsv1.DeploymentList{}, client.InNamespace(w.Target), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: scale.ResourceVersion}})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	for _, image := range []string{"registry.example.test/front:2", "registry.example.test/front:3"} {
		second := repo.Commit(image, map[string]string{"app/front.yaml": deploymentOf(image)})
		w.until(name, 30*time.Second, "at "+image, convergedAt(second))
	}
	for e := range watcher.ResultChan() {
		deployment, ok := e.Object.(*appsv1.Deployment)
		if !ok {
			t.Fatalf("%T in the watch", e.Object)
		}
		if got := ptr.Deref(deployment.Spec.Replicas, 0); got != 4 {
			t.Errorf("at version %s the Deployment had %d replicas", deployment.ResourceVersion, got)
		}
		if deployment.Spec.Template.Spec.Containers[0].Image == "registry.example.test/front:3" {
			return
		}
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package livetest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodes(t *testing.T) {
	b := newBench(t)
	nodes, err := b.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "pool!=big"})
	if err != nil {
		t.Fatal(err)
	}
	zones := map[string]bool{}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		zones[node.Labels[corev1.LabelTopologyZone]] = true
		if len(node.Spec.Taints) > 0 {
			t.Errorf("node %s is tainted: %v", node.Name, node.Spec.Taints)
		}
		b.await("lease of "+node.Name, 5*time.Second, func() (bool, string) {
			_, err := b.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), node.Name, metav1.GetOptions{})
			return err == nil, "none"
		})
	}
	if len(nodes.Items) != 3 || len(zones) != 3 {
		t.Errorf("%d nodes in %d zones, want 3 in 3", len(nodes.Items), len(zones))
	}
}

func TestAutoscalerAddsNodes(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: Deployment, name: web, namespace: $NS}
    addsNodes: {after: 1s, count: 1, labels: {pool: $NS}, capacity: {cpu: "64"}}`)
	b.create(deployment(1, "web:1", "") + "      nodeSelector: {pool: $NS}\n")
	b.awaitEvent("Pod", "FailedScheduling", "node(s) didn't match Pod's node affinity/selector")
	b.awaitEvent("Pod", "TriggeredScaleUp", "pod triggered scale-up")
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "1")
	nodes, err := b.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "pool=" + b.ns})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("%d nodes, %v; want 1", len(nodes.Items), err)
	}
	if cpu := nodes.Items[0].Status.Allocatable.Cpu().String(); cpu != "64" {
		t.Errorf("it has %s CPUs, want 64", cpu)
	}
	t.Cleanup(func() {
		// The test is over, and so is the node.
		_ = b.client.CoreV1().Nodes().Delete(context.Background(), nodes.Items[0].Name, metav1.DeleteOptions{})
	})
}

func TestClaims(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: PersistentVolumeClaim, name: never, namespace: $NS}
    neverBind: true
  - match: {kind: PersistentVolumeClaim, storageClass: standard, name: slow, namespace: $NS}
    bindAfter: 2s
  - match: {kind: PersistentVolumeClaim, name: used, namespace: $NS}
    bindAfter: {firstPodUsingIt: 500ms}`)
	claim := func(name, class string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name +
			"}\nspec: {accessModes: [ReadWriteOnce], storageClassName: " + class + ", resources: {requests: {storage: 1Gi}}}"
	}
	user := func(name string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: uses-" + name + ", labels: {app: uses-" + name + "}}\nspec: {containers: [{name: main, image: x}]," +
			" volumes: [{name: v, persistentVolumeClaim: {claimName: " + name + "}}]}"
	}
	begin := time.Now()
	for name, class := range map[string]string{"plain": "standard", "slow": "standard", "never": "standard", "used": "standard", "waits": "standard-wait"} {
		b.create(claim(name, class))
	}
	b.create(user("missing"))
	b.create(user("never"))
	b.awaitEvent("Pod", "FailedScheduling", `persistentvolumeclaim "missing" not found`)
	b.awaitEvent("Pod", "FailedScheduling", "pod has unbound immediate PersistentVolumeClaims")
	b.awaitField("v1", "PersistentVolumeClaim", "plain", "status.phase", "Bound")
	b.awaitField("v1", "PersistentVolumeClaim", "slow", "status.phase", "Bound")
	if took := time.Since(begin); took < 1900*time.Millisecond {
		t.Errorf("bound after %s, want 2 s", took)
	}
	for _, name := range []string{"never", "used", "waits"} {
		if got := field(b.get("v1", "PersistentVolumeClaim", name).Object, "status.phase"); got != "Pending" {
			t.Errorf("claim %s is %s, want Pending", name, got)
		}
	}
	b.create(user("used"))
	b.create(user("waits"))
	b.create(claim("missing", "standard"))
	for _, name := range []string{"used", "waits", "missing"} {
		b.awaitField("v1", "Pod", "uses-"+name, "status.conditions.Ready.status", "True")
		if got := field(b.get("v1", "PersistentVolumeClaim", name).Object, "status.phase"); got != "Bound" {
			t.Errorf("claim %s is %s under a running Pod", name, got)
		}
	}
	if got := field(b.get("v1", "Pod", "uses-never").Object, "status.phase"); got != "Pending" {
		t.Errorf("the Pod of the claim that is never bound is %s", got)
	}
}

func TestRequests(t *testing.T) {
	b := newBench(t)
	b.create(`
apiVersion: v1
kind: Pod
metadata: {name: modest}
spec:
  initContainers: [{name: init, image: x}]
  containers: [{name: none, image: x}, {name: some, image: x, resources: {requests: {cpu: 1}}}]`)
	pod := b.get("v1", "Pod", "modest")
	for path, want := range map[string]string{
		"spec.containers.0.resources.requests.cpu": "10m", "spec.containers.0.resources.requests.memory": "16Mi",
		"spec.containers.1.resources.requests.cpu": "1", "spec.containers.1.resources.requests.memory": "16Mi",
		"spec.initContainers.0.resources.requests.cpu": "10m",
	} {
		if got := field(pod.Object, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	b.create("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {requests.cpu: \"1\"}}")
	b.create(job("refused", ""))
	b.awaitEvent("Job", "FailedCreate", "must specify requests.cpu")
}

// TestRestart holds that a simulation goes on where it stopped.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := boot(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{lab: first, T: t, ns: "default"}
	b.create(deployment(2, "web:1", ""))
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "2")
	before := b.pods("app=web")
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second, err := boot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.stop(); err != nil {
			t.Error(err)
		}
	})
	again := &bench{lab: second, T: t, ns: b.ns}
	again.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "2")
	for _, old := range before {
		pod, err := second.client.CoreV1().Pods(b.ns).Get(t.Context(), old.Name, metav1.GetOptions{})
		if err != nil || pod.UID != old.UID || pod.Status.PodIP != old.Status.PodIP || pod.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("Pod %s changed by the restart: %v", old.Name, err)
		}
	}
	again.patch("apps/v1", "Deployment", "web", `{"spec":{"replicas":3}}`)
	again.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "3")
}

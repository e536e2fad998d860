// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package livetest

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestDefaults(t *testing.T) {
	b := newBench(t)
	b.create(deployment(2, "web:1", ""))
	b.create(job("migrate", ""))
	b.create(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: db}]}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: standard-wait, resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: agent}]}
---
apiVersion: v1
kind: Pod
metadata: {name: once}
spec: {restartPolicy: Never, containers: [{name: main, image: x}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}`)
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "2")
	b.awaitField("batch/v1", "Job", "migrate", "status.conditions.Complete.status", "True")
	b.awaitField("apps/v1", "StatefulSet", "db", "status.readyReplicas", "2")
	b.awaitField("v1", "Pod", "once", "status.phase", "Succeeded")
	if ip := field(b.get("v1", "Service", "web").Object, "status.loadBalancer.ingress.0.ip"); ip == "" {
		t.Error("the LoadBalancer Service has no address")
	}
	agent := b.get("apps/v1", "DaemonSet", "agent")
	if ready, want := field(agent.Object, "status.numberReady"), field(agent.Object, "status.desiredNumberScheduled"); ready != want || want == "0" {
		t.Errorf("%s of %s DaemonSet Pods are ready", ready, want)
	}
	for _, pod := range b.pods("app=web") {
		if pod.Status.PodIP == "" || pod.Status.HostIP == "" || pod.Spec.NodeName == "" || pod.Status.StartTime == nil {
			t.Errorf("Pod %s lacks address, node or start time: %+v", pod.Name, pod.Status)
		}
	}
	b.remove("apps/v1", "StatefulSet", "db", metav1.DeletePropagationForeground)
	b.remove("v1", "PersistentVolumeClaim", "data-db-0", metav1.DeletePropagationBackground)
	b.await("the claim and its volume are gone", 15*time.Second, func() (bool, string) {
		volumes, err := b.client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for i := range volumes.Items {
			if ref := volumes.Items[i].Spec.ClaimRef; ref != nil && ref.Namespace == b.ns && ref.Name == "data-db-0" {
				return false, "volume " + volumes.Items[i].Name + " is " + string(volumes.Items[i].Status.Phase)
			}
		}
		return b.get("v1", "PersistentVolumeClaim", "data-db-0") == nil, "the claim is there"
	})
}

func TestMissingSecret(t *testing.T) {
	b := newBench(t)
	b.create(deployment(1, "web:1", `, env: [{name: X, valueFrom: {secretKeyRef: {name: late, key: k}}}]`))
	b.awaitWaiting("app=web", `CreateContainerConfigError: secret "late" not found`)
	b.create("apiVersion: v1\nkind: Secret\nmetadata: {name: late}\nstringData: {other: v}")
	b.awaitWaiting("app=web", "CreateContainerConfigError: couldn't find key k in Secret "+b.ns+"/late")
	b.patch("v1", "Secret", "late", `{"stringData":{"k":"v"}}`)
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "1")
}

func TestRolloutStuckUntilRuleGoes(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: Pod, owner: Deployment/web, generation: 2, namespace: $NS}
    neverReady: true`)
	b.create(deployment(2, "web:1", ""))
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "2")
	b.patch("apps/v1", "Deployment", "web", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2"}]}}}}`)
	b.awaitField("apps/v1", "Deployment", "web", "status.unavailableReplicas", "1")
	b.holds("Pods of generation 1 stay available, those of generation 2 do not become so", 2500*time.Millisecond, func() (bool, string) {
		got := field(b.get("apps/v1", "Deployment", "web").Object, "status.availableReplicas")
		for _, pod := range b.pods("app=web") {
			if pod.Spec.Containers[0].Image == "web:2" && ready(&pod) {
				return false, pod.Name + " is ready"
			}
		}
		return got == "2", got
	})
	b.section("")
	b.await("the rollout ends when the rule goes", 15*time.Second, func() (bool, string) {
		o := b.get("apps/v1", "Deployment", "web").Object
		return field(o, "status.updatedReplicas") == "2" && field(o, "status.replicas") == "2" && field(o, "status.availableReplicas") == "2",
			field(o, "status")
	})
}

func TestImagePullBackOffOfOneImage(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: Deployment, name: web, image: "*:2.0", namespace: $NS}
    waiting: {reason: ImagePullBackOff, message: no such image}`)
	b.create(deployment(1, "web:1.0", ""))
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "1")
	b.patch("apps/v1", "Deployment", "web", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2.0"}]}}}}`)
	b.awaitWaiting("app=web", "ImagePullBackOff: no such image")
	if got := field(b.get("apps/v1", "Deployment", "web").Object, "status.availableReplicas"); got != "1" {
		t.Errorf("%s replicas are available, want the old one", got)
	}
}

func TestAttemptsOfJob(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: Pod, owner: Job/migrate, occurrence: 1, namespace: $NS}
    failAfter: 200ms
    exitCode: 3
    logs: "relation users does not exist"
    event: {reason: FirstAttempt, message: "${name} fails"}`)
	b.create(job("migrate", ""))
	b.awaitField("batch/v1", "Job", "migrate", "status.failed", "1")
	b.awaitEvent("Pod", "FirstAttempt", "fails")
	b.awaitField("batch/v1", "Job", "migrate", "status.conditions.Complete.status", "True")
	for _, pod := range b.pods("app=migrate") {
		code := pod.Status.ContainerStatuses[0].State.Terminated.ExitCode
		if want := map[corev1.PodPhase]int32{corev1.PodFailed: 3, corev1.PodSucceeded: 0}[pod.Status.Phase]; code != want {
			t.Errorf("Pod %s is %s with exit code %d", pod.Name, pod.Status.Phase, code)
		}
		log, err := b.client.CoreV1().Pods(b.ns).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: new(int64(2))}).DoRaw(t.Context())
		if failed := strings.Contains(string(log), "relation users does not exist\n"); err != nil || failed != (pod.Status.Phase == corev1.PodFailed) {
			t.Errorf("the log of Pod %s, which is %s, is %q, %v", pod.Name, pod.Status.Phase, log, err)
		}
	}
}

func TestJobNeedsAndCreates(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: Job, name: init, namespace: $NS}
    needs: [ServiceAccount/init, ConfigMap/script]
    creates: [{kind: Secret, name: root, labels: {made-by: init}, at: 500ms, stringData: {token: "of ${name}"}}]
    succeedAfter: 1s
  - match: {kind: Deployment, name: web, namespace: $NS}
    needs: [Secret/root]
    needsCompleted: [Job/init]`)
	b.create(deployment(1, "web:1", ""))
	b.create(job("init", ", serviceAccountName: init"))
	b.awaitEvent("Job", "FailedCreate", `serviceaccount "init" not found`)
	b.create("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: init}")
	b.awaitWaiting("app=init", `CreateContainerConfigError: configmap "script" not found`)
	b.holds("a Job that cannot start creates nothing", time.Second, func() (bool, string) {
		return b.get("v1", "Secret", "root") == nil, "the Secret is there"
	})
	b.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: script}")
	b.awaitField("v1", "Secret", "root", "metadata.labels.made-by", "init")
	b.awaitField("batch/v1", "Job", "init", "status.conditions.Complete.status", "True")
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "1")
	secret, err := b.client.CoreV1().Secrets(b.ns).Get(t.Context(), "root", metav1.GetOptions{})
	if err != nil || string(secret.Data["token"]) != "of init" {
		t.Errorf("token is %q, %v", secret.Data["token"], err)
	}
}

func TestThenDelete(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: Job, name: ends, namespace: $NS}
    succeedAfter: 300ms
    then: {deleteObjectAfter: 0s, by: ttl-controller}
  - match: {kind: Job, name: hangs, namespace: $NS}
    neverFinish: true
    then: {deleteObjectAfter: 1500ms, by: someone-else}`)
	begin := time.Now()
	b.create(job("ends", ""))
	b.create(job("hangs", ""))
	for _, name := range []string{"ends", "hangs"} {
		b.await("Job "+name+" is gone", 15*time.Second, func() (bool, string) { return b.get("batch/v1", "Job", name) == nil, "it is there" })
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("the hanging Job was deleted after %s, want 1.5 s", took)
	}
}

func TestDeletionTakes(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: Job, name: schema, namespace: $NS}
    succeedAfter: 100ms
    deletionTakes: 2s`)
	b.create(job("schema", ""))
	b.awaitField("batch/v1", "Job", "schema", "status.conditions.Complete.status", "True")
	begin := time.Now()
	b.remove("batch/v1", "Job", "schema", metav1.DeletePropagationForeground)
	b.await("the Job is gone", 15*time.Second, func() (bool, string) { return b.get("batch/v1", "Job", "schema") == nil, "it is there" })
	if took := time.Since(begin); took < 1800*time.Millisecond {
		t.Errorf("the Job was gone after %s, want 2 s", took)
	}
}

func (b *bench) awaitWaiting(selector, want string) {
	b.Helper()
	b.await("a Pod waits: "+want, 15*time.Second, func() (bool, string) {
		var states []string
		for _, pod := range b.pods(selector) {
			if state := waitingReason(&pod); state != want {
				states = append(states, pod.Name+" "+string(pod.Status.Phase)+" "+state)
				continue
			}
			return true, ""
		}
		return false, strings.Join(states, "; ")
	})
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (b *bench) patch(apiVersion, kind, name, patch string) {
	b.Helper()
	api, err := b.resource(gvk(apiVersion, kind))
	if err == nil {
		how := types.MergePatchType
		if apiVersion == "apps/v1" {
			how = types.StrategicMergePatchType
		}
		_, err = api.Patch(b.Context(), name, how, []byte(patch), metav1.PatchOptions{})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) remove(apiVersion, kind, name string, how metav1.DeletionPropagation) {
	b.Helper()
	api, err := b.resource(gvk(apiVersion, kind))
	if err == nil {
		err = api.Delete(b.Context(), name, metav1.DeleteOptions{PropagationPolicy: &how})
	}
	if err != nil {
		b.Fatal(err)
	}
}

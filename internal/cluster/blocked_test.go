// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestTroubleOf(t *testing.T) {
	waiting := func(name, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	running := func(name string, ready bool) corev1.ContainerStatus {
		at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		return corev1.ContainerStatus{Name: name, Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}}
	}
	exited := func(name string, code int32, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}
	}
	crashed := waiting("app", "CrashLoopBackOff", "back-off 10s")
	crashed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "no\nway"}
	always := corev1.ContainerRestartPolicyAlways
	cases := map[string]struct {
		reason string
		spec   corev1.PodSpec
		status corev1.PodStatus
		want   trouble
	}{
		"Fine": {
			reason: "a Pod that runs and is ready",
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running("app", true)}},
		},
		"Config": {
			reason: "a missing Secret comes with the kubelet's words",
			status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waiting("migrate", "CreateContainerConfigError", `secret "x" not found`)}},
			want:   trouble{stuck, `container migrate: CreateContainerConfigError: secret "x" not found`},
		},
		"Init": {
			reason: "an init container that cannot start outweighs the containers that wait for it",
			status: corev1.PodStatus{
				Phase:                 corev1.PodPending,
				InitContainerStatuses: []corev1.ContainerStatus{waiting("pull", "ImagePullBackOff", `Back-off pulling image "a:b"`)},
				ContainerStatuses:     []corev1.ContainerStatus{waiting("app", "PodInitializing", "")},
			},
			want: trouble{stuck, `init container pull: ImagePullBackOff: Back-off pulling image "a:b"`},
		},
		"InitRuns": {
			reason: "an init container that waits for something else",
			status: corev1.PodStatus{
				Phase:                 corev1.PodPending,
				InitContainerStatuses: []corev1.ContainerStatus{running("wait-for-db", false)},
				ContainerStatuses:     []corev1.ContainerStatus{waiting("app", "PodInitializing", "")},
			},
			want: trouble{waitsForInit, "init container wait-for-db is still running since 03:04:05"},
		},
		"Sidecar": {
			reason: "a sidecar is meant to run on",
			spec:   corev1.PodSpec{InitContainers: []corev1.Container{{Name: "proxy", RestartPolicy: &always}}},
			status: corev1.PodStatus{
				Phase:                 corev1.PodRunning,
				InitContainerStatuses: []corev1.ContainerStatus{running("proxy", true)},
				ContainerStatuses:     []corev1.ContainerStatus{running("app", false)},
			},
			want: trouble{unready, "container app is running but not ready"},
		},
		"Crash": {
			reason: "how it ended last says more than the back-off",
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{crashed}},
			want:   trouble{stuck, "container app: CrashLoopBackOff: back-off 10s (last: Error: no way, exit code 3)"},
		},
		"Exit": {
			reason: "a container of a Job that failed",
			status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{exited("m", 1, "Error")}},
			want:   trouble{failed, "container m: Error, exit code 1"},
		},
		"Evicted": {
			reason: "a Pod that failed without its containers",
			status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk full"},
			want:   trouble{failed, "Pod p failed: Evicted disk full"},
		},
		"Unschedulable": {
			reason: "the scheduler's words",
			status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu.",
			}}},
			want: trouble{stuck, "FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu."},
		},
		"Creating": {
			reason: "being prepared is no trouble yet, but its events may say more",
			status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waiting("app", "ContainerCreating", "")}},
			want:   trouble{preparing, "Pod p is Pending"},
		},
		"Succeeded": {
			reason: "a Pod that is done",
			status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{exited("m", 0, "Completed")}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: tc.spec, Status: tc.status}
			if got := troubleOf(pod); got != tc.want {
				t.Errorf("%s: got %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestWarning(t *testing.T) {
	cases := map[string]struct{ reason, message, want string }{
		"Account": {"FailedCreate", `Error creating: pods "m-" is forbidden: error looking up service account ns/x: serviceaccount "x" not found`, `FailedCreate: serviceaccount "x" not found`},
		"Quota":   {"FailedCreate", `Error creating: pods "m-" is forbidden: exceeded quota: q`, `FailedCreate: Error creating: pods "m-" is forbidden: exceeded quota: q`},
		"Lines":   {"FailedMount", "MountVolume.SetUp failed\nfor volume", "FailedMount: MountVolume.SetUp failed for volume"},
	}
	for name, tc := range cases {
		if got := warning(corev1.Event{Reason: tc.reason, Message: tc.message}); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestBlocked(t *testing.T) {
	b := newBench(t)
	b.env.SetRules(t, `rules: [{match: {kind: Pod}, needs: fromPodSpec}]`)
	cases := map[string]struct {
		object string
		want   string
	}{
		"Secret": {
			object: "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: i, envFrom: [{secretRef: {name: absent}}]}]}}}}",
			want:   `^container migrate: CreateContainerConfigError: secret "absent" not found$`,
		},
		"Account": {
			object: "{apiVersion: batch/v1, kind: Job, metadata: {name: account}, spec: {template: {spec: {serviceAccountName: nobody, restartPolicy: Never, containers: [{name: m, image: i}]}}}}",
			want:   `^FailedCreate: serviceaccount "nobody" not found$`,
		},
		"DeploymentAccount": {
			object: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: account}, spec: {selector: {matchLabels: {a: account}}, template: {metadata: {labels: {a: account}}, spec: {serviceAccountName: nobody, containers: [{name: m, image: i}]}}}}",
			want:   `^FailedCreate: serviceaccount "nobody" not found$`,
		},
		"Scheduling": {
			object: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: huge}, spec: {selector: {matchLabels: {a: huge}}, template: {metadata: {labels: {a: huge}}, spec: {containers: [{name: m, image: i, resources: {requests: {cpu: 10k}}}]}}}}",
			want:   `^FailedScheduling: .*nodes`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := b.apply(b.object(tc.object))
			key := manifest.KeyOf(u)
			want := regexp.MustCompile(tc.want)
			got := ""
			for deadline := time.Now().Add(patient); !want.MatchString(got); {
				if time.Now().After(deadline) {
					t.Fatalf("got %q, want %s", got, tc.want)
				}
				// Events are not watched: the only way is to ask again.
				<-time.After(100 * time.Millisecond)
				got = b.Blocked(b.ctx(), key)
			}
			pods, err := b.Pods(b.ctx(), key)
			if err != nil {
				t.Fatal(err)
			}
			b.watch(podKind(), replicaSetKind())
			cached, err := b.Pods(b.ctx(), key)
			if err != nil || len(cached) != len(pods) {
				t.Errorf("%d Pods from the server, %d from the cache (%v)", len(pods), len(cached), err)
			}
			if again := b.Blocked(b.ctx(), key); !want.MatchString(again) {
				t.Errorf("from the cache: %q", again)
			}
		})
	}
}

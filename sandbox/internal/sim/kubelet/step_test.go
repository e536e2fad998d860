// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// world is a cluster of ConfigMaps and Secrets (Kind/name to its keys), other objects, and completed Jobs.
type world struct {
	keys      map[string]string
	exists    map[string]bool
	completed map[string]bool
}

func (w *world) Keys(kind, _, name string) (func(string) bool, bool) {
	keys, ok := w.keys[kind+"/"+name]
	return func(key string) bool { return strings.Contains(" "+keys+" ", " "+key+" ") }, ok
}
func (w *world) Exists(kind, _, name string) bool    { return w.exists[kind+"/"+name] }
func (w *world) Completed(kind, _, name string) bool { return w.completed[kind+"/"+name] }

// bench runs one Pod on a clock of its own: it steps whenever the kubelet wants to be woken.
type bench struct {
	t      *testing.T
	pod    *corev1.Pod
	rule   string
	world  world
	record *Record
	now    time.Time
	begin  time.Time
	wake   time.Time
	events []string
	remove bool
}

func newBench(t *testing.T, rule string, pod *corev1.Pod) *bench {
	t.Helper()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := &bench{
		t: t, pod: pod, rule: rule, now: begin, begin: begin,
		world: world{keys: map[string]string{}, exists: map[string]bool{}, completed: map[string]bool{}},
	}
	b.record = NewRecord(pod, begin)
	b.step()
	return b
}

func (b *bench) effects() *rules.Rule {
	b.t.Helper()
	list, err := rules.Parse("f", []byte("rules: [{match: {kind: Pod}, "+b.rule+"}]"))
	if err != nil {
		b.t.Fatal(err)
	}
	return list.ForPod(&rules.Pod{Object: rules.Object{Kind: "Pod", Name: b.pod.Name}})
}

func (b *bench) step() {
	b.t.Helper()
	effects := b.effects()
	result := b.record.Step(Input{
		Pod: b.pod, Effects: effects, Gates: GatesOf(b.pod, effects, &b.world), Now: b.now, PodIP: "10.1.1.1", HostIP: "10.0.0.1",
	})
	b.pod = b.pod.DeepCopy()
	b.pod.Status = result.Status
	b.wake, b.remove = result.Wake, result.Remove
	for _, e := range result.Events {
		b.events = append(b.events, e.Reason+": "+e.Message)
	}
	again := b.record.Step(Input{
		Pod: b.pod, Effects: effects, Gates: GatesOf(b.pod, effects, &b.world), Now: b.now, PodIP: "10.1.1.1", HostIP: "10.0.0.1",
	})
	if !equality.Semantic.DeepEqual(again.Status, b.pod.Status) || len(again.Events) > 0 {
		b.t.Errorf("a second step at the same time is not quiet: %s", cmp.Diff(b.pod.Status, again.Status))
	}
}

// until lets time pass up to that age of the Pod.
func (b *bench) until(age time.Duration) *bench {
	b.t.Helper()
	end := b.begin.Add(age)
	for range 1000 {
		if b.wake.IsZero() || b.wake.After(end) {
			b.now = end
			b.step()
			return b
		}
		if !b.wake.After(b.now) {
			b.t.Fatalf("wants to be woken at %s, which is not in the future of %s", b.wake, b.now)
		}
		b.now = b.wake
		b.step()
	}
	b.t.Fatal("does not come to rest")
	return b
}

// shape is a Pod's state in a few words: phase, readiness, and each container.
func (b *bench) shape() string {
	s := &b.pod.Status
	out := string(s.Phase)
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			out += " ready"
		}
	}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for _, c := range list {
			switch {
			case c.State.Running != nil:
				out += fmt.Sprintf(" %s=running", c.Name)
			case c.State.Terminated != nil:
				out += fmt.Sprintf(" %s=exit%d", c.Name, c.State.Terminated.ExitCode)
			default:
				out += fmt.Sprintf(" %s=%s", c.Name, c.State.Waiting.Reason)
			}
			if c.RestartCount > 0 {
				out += fmt.Sprintf("(%d)", c.RestartCount)
			}
		}
	}
	return out
}

func testPod(policy corev1.RestartPolicy, inits ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", UID: "u-1"},
		Spec: corev1.PodSpec{
			RestartPolicy: policy, NodeName: "node-1", Containers: []corev1.Container{{Name: "main", Image: "web:1"}},
		},
	}
	for _, name := range inits {
		c := corev1.Container{Name: strings.TrimPrefix(name, "sidecar:"), Image: "init:1"}
		if c.Name != name {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	return pod
}

func TestLifeOfPod(t *testing.T) {
	const always, never, onFailure = corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure
	type point struct {
		age  time.Duration
		want string
	}
	cases := map[string]struct {
		reason string
		rule   string
		policy corev1.RestartPolicy
		inits  []string
		points []point
	}{
		"DefaultServer": {
			reason: "ready after 1 s", rule: "deletionTakes: 0s", policy: always,
			points: []point{{0, "Running main=running"}, {999 * time.Millisecond, "Running main=running"}, {time.Second, "Running ready main=running"}, {time.Hour, "Running ready main=running"}},
		},
		"DefaultJob": {
			reason: "succeeds after 1 s", rule: "deletionTakes: 0s", policy: never,
			points: []point{{0, "Running ready main=running"}, {time.Second, "Succeeded main=exit0"}, {time.Hour, "Succeeded main=exit0"}},
		},
		"ReadyAfter": {
			reason: "the rule's time counts", rule: "readyAfter: 2500ms", policy: always,
			points: []point{{2 * time.Second, "Running main=running"}, {2500 * time.Millisecond, "Running ready main=running"}},
		},
		"NeverReady": {reason: "runs but is not ready", rule: "neverReady: true", policy: always, points: []point{{time.Hour, "Running main=running"}}},
		"FailOnce":   {reason: "a Job's Pod fails", rule: "failAfter: 2s", policy: never, points: []point{{time.Second, "Running ready main=running"}, {2 * time.Second, "Failed main=exit1"}}},
		"ExitCode":   {reason: "with that exit code", rule: "failAfter: 2s, exitCode: 137", policy: never, points: []point{{2 * time.Second, "Failed main=exit137"}}},
		"NeverFinish": {
			reason: "a Job that hangs", rule: "neverFinish: true", policy: never, points: []point{{time.Hour, "Running ready main=running"}},
		},
		"CrashLoop": {
			reason: "the first restart is at once, then 10 s, 20 s, 40 s", rule: "failAfter: 1s", policy: always,
			points: []point{
				{900 * time.Millisecond, "Running main=running"},
				{time.Second, "Running main=running(1)"},
				{2 * time.Second, "Running main=CrashLoopBackOff(2)"},
				{11 * time.Second, "Running main=CrashLoopBackOff(2)"},
				{12 * time.Second, "Running main=running(2)"},
				{13 * time.Second, "Running main=CrashLoopBackOff(3)"},
				{33 * time.Second, "Running main=running(3)"},
				{34 * time.Second, "Running main=CrashLoopBackOff(4)"},
				{73 * time.Second, "Running main=CrashLoopBackOff(4)"},
				{74 * time.Second, "Running main=running(4)"},
			},
		},
		"OnFailureRestarts": {
			reason: "restarted in place", rule: "failAfter: 1s", policy: onFailure,
			points: []point{{2 * time.Second, "Running main=CrashLoopBackOff(2)"}},
		},
		"OnFailureSucceeds": {reason: "success is the end", rule: "succeedAfter: 3s", policy: onFailure, points: []point{{3 * time.Second, "Succeeded main=exit0"}}},
		"ServerExits":       {reason: "a server that exits is restarted", rule: "succeedAfter: 1s", policy: always, points: []point{{time.Second, "Running main=running(1)"}, {2 * time.Second, "Running main=CrashLoopBackOff(2)"}}},
		"ImagePull": {
			reason: "containers wait for that reason", rule: "waiting: {reason: ImagePullBackOff, message: no}", policy: always,
			points: []point{{time.Hour, "Pending main=ImagePullBackOff"}},
		},
		"InitsInOrder": {
			reason: "one after the other, then the main container", rule: "initTakes: 1s", policy: always, inits: []string{"a", "b"},
			points: []point{
				{0, "Pending a=running b=PodInitializing main=PodInitializing"},
				{time.Second, "Pending a=exit0 b=running main=PodInitializing"},
				{2 * time.Second, "Running a=exit0 b=exit0 main=running"},
				{3 * time.Second, "Running ready a=exit0 b=exit0 main=running"},
			},
		},
		"Sidecar": {
			reason: "a sidecar is not waited for, and stops with the Pod", rule: "succeedAfter: 2s", policy: never, inits: []string{"sidecar:s", "b"},
			points: []point{{time.Second, "Running ready s=running b=exit0 main=running"}, {3 * time.Second, "Succeeded s=exit0 b=exit0 main=exit0"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.rule, testPod(tc.policy, tc.inits...))
			for _, p := range tc.points {
				if got := b.until(p.age).shape(); got != p.want {
					t.Errorf("%s: at %s %q, want %q", tc.reason, p.age, got, p.want)
				}
			}
		})
	}
}

func TestMissingReferences(t *testing.T) {
	env := func(pod *corev1.Pod, v corev1.EnvVarSource) {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: &v}}
	}
	volume := func(pod *corev1.Pod, v corev1.VolumeSource) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: v}}
	}
	name := corev1.LocalObjectReference{Name: "x"}
	cases := map[string]struct {
		reason string
		set    func(*corev1.Pod)
		rule   string
		has    map[string]string
		state  string
		event  string
		fix    map[string]string
	}{
		"EnvSecret": {
			reason: "the kubelet's words for a Secret in env",
			set: func(p *corev1.Pod) {
				env(p, corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: name, Key: "k"}})
			},
			state: "CreateContainerConfigError", event: `Failed: Error: secret "x" not found`, fix: map[string]string{"Secret/x": "k"},
		},
		"EnvSecretKey": {
			reason: "a missing key names Secret and namespace",
			set: func(p *corev1.Pod) {
				env(p, corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: name, Key: "k"}})
			},
			has: map[string]string{"Secret/x": "other"}, state: "CreateContainerConfigError",
			event: "Failed: Error: couldn't find key k in Secret shop/x", fix: map[string]string{"Secret/x": "k"},
		},
		"EnvConfigMapKey": {
			reason: "the same for a ConfigMap",
			set: func(p *corev1.Pod) {
				env(p, corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: name, Key: "k"}})
			},
			has: map[string]string{"ConfigMap/x": ""}, state: "CreateContainerConfigError",
			event: "Failed: Error: couldn't find key k in ConfigMap shop/x", fix: map[string]string{"ConfigMap/x": "k"},
		},
		"EnvFrom": {
			reason: "envFrom needs the whole object",
			set: func(p *corev1.Pod) {
				p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name}}}
			},
			state: "CreateContainerConfigError", event: `Failed: Error: configmap "x" not found`, fix: map[string]string{"ConfigMap/x": ""},
		},
		"Volume": {
			reason: "a volume keeps containers from being created, with an event only",
			set: func(p *corev1.Pod) {
				volume(p, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x"}})
			},
			state: "ContainerCreating", event: `FailedMount: MountVolume.SetUp failed for volume "v" : secret "x" not found`, fix: map[string]string{"Secret/x": ""},
		},
		"VolumeKey": {
			reason: "an item that is not there",
			set: func(p *corev1.Pod) {
				volume(p, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: name, Items: []corev1.KeyToPath{{Key: "k"}}}})
			},
			has: map[string]string{"ConfigMap/x": "a"}, state: "ContainerCreating",
			event: `FailedMount: MountVolume.SetUp failed for volume "v" : references non-existent config key: k`, fix: map[string]string{"ConfigMap/x": "k"},
		},
		"Projected": {
			reason: "a projected source",
			set: func(p *corev1.Pod) {
				volume(p, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: name}}}}})
			},
			state: "ContainerCreating", event: `FailedMount: MountVolume.SetUp failed for volume "v" : secret "x" not found`, fix: map[string]string{"Secret/x": ""},
		},
		"RuleNeeds": {
			reason: "what a rule needs is a configuration error, mounted or not", set: func(*corev1.Pod) {}, rule: "needs: [Secret/x]",
			state: "CreateContainerConfigError", event: `Failed: Error: secret "x" not found`, fix: map[string]string{"Secret/x": ""},
		},
		"Optional": {
			reason: "optional references are none",
			set: func(p *corev1.Pod) {
				env(p, corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: name, Key: "k", Optional: new(true)}})
				volume(p, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x", Optional: new(true)}})
			},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			pod := testPod(corev1.RestartPolicyAlways)
			tc.set(pod)
			rule := tc.rule
			if rule == "" {
				rule = "needs: fromPodSpec, needsKeys: fromPodSpec"
			}
			b := newBench(t, rule, pod)
			b.world.keys = tc.has
			b.record, b.events = NewRecord(pod, b.begin), nil
			b.step()
			if tc.state != "" {
				if got, want := b.until(time.Minute).shape(), "Pending main="+tc.state; got != want {
					t.Errorf("%s: %q, want %q", tc.reason, got, want)
				}
				if diff := cmp.Diff([]string{tc.event}, b.events); diff != "" {
					t.Errorf("%s: events: -want +got\n%s", tc.reason, diff)
				}
				if w := b.pod.Status.ContainerStatuses[0].State.Waiting; tc.state == "CreateContainerConfigError" && "Failed: Error: "+w.Message != tc.event {
					t.Errorf("%s: message %q", tc.reason, w.Message)
				}
			}
			b.world.keys = tc.fix
			b.until(b.now.Sub(b.begin)) // what was missing appears
			if got, want := b.until(b.now.Sub(b.begin)+time.Second).shape(), "Running ready main=running"; got != want {
				t.Errorf("%s: once it is there %q, want %q", tc.reason, got, want)
			}
			b.world.keys = nil
			if got, want := b.until(time.Hour).shape(), "Running ready main=running"; got != want {
				t.Errorf("%s: what is lost later does not stop a running container: %q, want %q", tc.reason, got, want)
			}
		})
	}
}

func TestNeedsOfOtherKinds(t *testing.T) {
	b := newBench(t, "needs: [ServiceAccount/sa], succeedAfter: 2s", testPod(corev1.RestartPolicyNever))
	if got, want := b.until(time.Minute).shape(), "Running main=running"; got != want {
		t.Errorf("started, but the clock of its outcome stands: %q, want %q", got, want)
	}
	b.world.exists["ServiceAccount/sa"] = true
	b.step()
	if got, want := b.until(61*time.Second).shape(), "Running ready main=running"; got != want {
		t.Errorf("the clock begins to run when it appears: %q, want %q", got, want)
	}
	if got, want := b.until(62*time.Second).shape(), "Succeeded main=exit0"; got != want {
		t.Errorf("and ends after its time: %q, want %q", got, want)
	}
}

func TestNeedsCompleted(t *testing.T) {
	for _, inits := range [][]string{{"wait"}, nil} {
		b := newBench(t, "needsCompleted: [Job/migrate], readyAfter: 1s", testPod(corev1.RestartPolicyAlways, inits...))
		want := "Pending wait=running main=PodInitializing"
		if inits == nil {
			want = "Pending main=PodInitializing"
		}
		if got := b.until(time.Minute).shape(); got != want {
			t.Errorf("inits %v: stays in its init container: %q, want %q", inits, got, want)
		}
		b.world.completed["Job/migrate"] = true
		b.step()
		if got := b.until(2 * time.Minute).shape(); !strings.HasPrefix(got, "Running ready") {
			t.Errorf("inits %v: goes on when the Job has completed: %q", inits, got)
		}
	}
}

func TestRulesAreReplaced(t *testing.T) {
	cases := map[string]struct{ reason, before, between, after, want string }{
		"NeverReadyGoes": {"a Pod becomes ready when the rule goes", "neverReady: true", "Running main=running", "deletionTakes: 0s", "Running ready main=running"},
		"NeverReadyComes": {
			"a ready Pod stops being ready", "deletionTakes: 0s", "Running ready main=running", "neverReady: true", "Running main=running",
		},
		"LaterReadiness": {"but is not made unready by another time", "deletionTakes: 0s", "Running ready main=running", "readyAfter: 1h", "Running ready main=running"},
		"WaitingGoes":    {"a Pod starts when its image can be had", "waiting: {reason: ErrImagePull}", "Pending main=ErrImagePull", "readyAfter: 0s", "Running ready main=running"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.before, testPod(corev1.RestartPolicyAlways)).until(time.Minute)
			if got := b.shape(); got != tc.between {
				t.Errorf("before: %q, want %q", got, tc.between)
			}
			b.rule = tc.after
			if got := b.until(time.Minute).shape(); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestActiveDeadline(t *testing.T) {
	pod := testPod(corev1.RestartPolicyNever)
	pod.Spec.ActiveDeadlineSeconds = new(int64(5))
	b := newBench(t, "neverFinish: true", pod).until(4 * time.Second)
	if got, want := b.shape(), "Running ready main=running"; got != want {
		t.Errorf("before the deadline %q, want %q", got, want)
	}
	b.until(5 * time.Second)
	if got, want := b.shape(), "Failed main=exit137"; got != want || b.pod.Status.Reason != "DeadlineExceeded" {
		t.Errorf("at the deadline %q (%s), want %q (DeadlineExceeded)", got, b.pod.Status.Reason, want)
	}
}

func TestDeletion(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, rule string
		policy       corev1.RestartPolicy
		takes        time.Duration
		want         string
	}{
		"AtOnce":    {"containers stop when told to", "readyAfter: 0s", corev1.RestartPolicyAlways, 0, "Failed main=exit143"},
		"TakesTime": {"the rule's time counts", "deletionTakes: 5s", corev1.RestartPolicyAlways, 5 * time.Second, "Failed main=exit143"},
		"Ended":     {"a Pod that has ended keeps its end", "succeedAfter: 1s", corev1.RestartPolicyNever, 0, "Succeeded main=exit0"},
		"Crashing":  {"a Pod in back-off is not started again", "failAfter: 1s", corev1.RestartPolicyAlways, 0, "Failed main=exit1(2)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.rule, testPod(tc.policy)).until(10 * time.Second)
			b.pod.DeletionTimestamp = &metav1.Time{Time: b.now}
			b.step()
			if tc.takes > 0 {
				if b.until(10*time.Second + tc.takes - time.Millisecond); b.remove {
					t.Errorf("%s: removed too early", tc.reason)
				}
			}
			b.until(10*time.Second + tc.takes)
			if got := b.shape(); !b.remove || got != tc.want {
				t.Errorf("%s: remove %v in state %q, want true in %q", tc.reason, b.remove, got, tc.want)
			}
			if b.until(time.Hour); strings.Contains(b.shape(), "running") {
				t.Errorf("%s: runs again: %s", tc.reason, b.shape())
			}
		})
	}
}

// TestRestartOfSimulator holds that a Pod goes on from its status when the memory of it is gone.
func TestRestartOfSimulator(t *testing.T) {
	b := newBench(t, "readyAfter: 10s", testPod(corev1.RestartPolicyAlways, "a")).until(5 * time.Second)
	before := b.pod.Status.DeepCopy()
	b.record = NewRecord(b.pod, b.now)
	b.step()
	if diff := cmp.Diff(*before, b.pod.Status); diff != "" {
		t.Errorf("the status changes by the restart: -before +after\n%s", diff)
	}
	if got, want := b.until(12*time.Second).shape(), "Running ready a=exit0 main=running"; got != want {
		t.Errorf("later %q, want %q", got, want)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func observe(u *unstructured.Unstructured, pods ...*unstructured.Unstructured) machine.Observation {
	return machine.Observe(u, pods, health.Context{})
}

func TestProcessed(t *testing.T) {
	const head = "{apiVersion: example.test/v1, kind: Thing, metadata: {name: x, generation: 3}, status: "
	cases := map[string]struct {
		reason, status string
		want           machine.Processed
	}{
		"Nothing":          {"An object that reports nothing is not judged.", "{}", machine.Unreported},
		"ObservedOld":      {"An older observed generation is behind.", "{observedGeneration: 2}", machine.Behind},
		"Observed":         {"The present generation is up to date.", "{observedGeneration: 3}", machine.UpToDate},
		"SyncedOld":        {"External Secrets names the generation it synced.", `{syncedResourceVersion: "2-abc"}`, machine.Behind},
		"Synced":           {"External Secrets names the generation it synced.", `{syncedResourceVersion: "3-abc"}`, machine.UpToDate},
		"SyncedOther":      {"A text of another form says nothing.", `{syncedResourceVersion: "abc"}`, machine.Unreported},
		"Condition":        {"A condition's generation counts where the status has none.", "{conditions: [{type: Ready, observedGeneration: 3}]}", machine.UpToDate},
		"ConditionOld":     {"A condition's generation counts where the status has none.", "{conditions: [{type: Ready, observedGeneration: 1}]}", machine.Behind},
		"ConditionWithout": {"Conditions without a generation say nothing.", "{conditions: [{type: Ready}]}", machine.Unreported},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			if got := observe(read(t, head+tt.status+"}")).Processed; got != tt.want {
				t.Errorf("%s got %v, want %v", tt.reason, got, tt.want)
			}
		})
	}
}

func TestObserveSecretKeys(t *testing.T) {
	o := observe(read(t, "{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {b: eA==, a: eA==}}"))
	if diff := cmp.Diff([]string{"a", "b"}, o.Keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProgress(t *testing.T) {
	const thing = "{apiVersion: example.test/v1, kind: Thing, metadata: {name: x, generation: 1}, status: "
	cases := map[string]struct {
		reason, before, after string
		moves                 bool
	}{
		"Heartbeat": {"Times are no progress.", "{phase: A, lastHeartbeatTime: 1}", "{phase: A, lastHeartbeatTime: 2}", false},
		"Nested": {
			"Times in conditions are no progress.",
			"{conditions: [{type: R, lastTransitionTime: 1}]}", "{conditions: [{type: R, lastTransitionTime: 2}]}", false,
		},
		"Phase": {"A status that changes is progress.", "{phase: A}", "{phase: B}", true},
		"Count": {"A count that rises is progress.", "{ready: 1}", "{ready: 2}", true},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := observe(read(t, thing+tt.before+"}")), observe(read(t, thing+tt.after+"}"))
			if moved := before.Progress != after.Progress; moved != tt.moves {
				t.Errorf("%s moved %t", tt.reason, moved)
			}
		})
	}
}

func TestPods(t *testing.T) {
	job := read(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: x}}")
	cases := map[string]struct {
		reason, status string
		stuck, busy    bool
	}{
		"Running": {
			"A Job whose Pod runs has no limit.",
			"{phase: Running, containerStatuses: [{name: main, ready: true, state: {running: {}}}]}", false, true,
		},
		"Creating": {
			"A container that is being created is on its way.",
			"{phase: Pending, containerStatuses: [{name: main, state: {waiting: {reason: ContainerCreating}}}]}", false, false,
		},
		"Pull": {
			"An image that cannot be pulled is stuck.",
			"{phase: Pending, containerStatuses: [{name: main, state: {waiting: {reason: ImagePullBackOff}}}]}", true, false,
		},
		"InitConfig": {
			"An init container that cannot be configured is stuck.",
			"{phase: Pending, initContainerStatuses: [{name: init, state: {waiting: {reason: CreateContainerConfigError}}}]}", true, false,
		},
		"CrashLoop": {
			"A crash loop is stuck while it waits.",
			"{phase: Running, containerStatuses: [{name: main, state: {waiting: {reason: CrashLoopBackOff}}}]}", true, false,
		},
		"CrashLoopRuns": {
			"A crash loop is stuck while it runs for a moment, too.",
			"{phase: Running, containerStatuses: [{name: main, ready: false, state: {running: {}}, lastState: {terminated: {exitCode: 1}}}]}", true, false,
		},
		"Done": {"A Pod that has ended is not stuck.", "{phase: Succeeded}", false, false},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			o := observe(job, read(t, "{apiVersion: v1, kind: Pod, metadata: {name: x}, status: "+tt.status+"}"))
			if o.Stuck != tt.stuck || o.Busy != tt.busy {
				t.Errorf("%s stuck %t, busy %t", tt.reason, o.Stuck, o.Busy)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	if o := observe(nil); o.Exists || o.Health.Status != health.Missing {
		t.Errorf("no object is observed as %+v", o)
	}
}

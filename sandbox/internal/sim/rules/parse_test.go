// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// complete uses every key of the language once.
const complete = `
rules:
  - match: {kind: Job, name: migrate-*, namespace: team, image: "*:2.0", generation: 2, occurrence: 3, storageClass: fast}
    needs: [ServiceAccount/migrate, Secret/other/db]
    needsKeys: fromPodSpec
    needsCompleted: [Job/init]
    needsBound: [PersistentVolumeClaim/data]
    readyAfter: 2.5s
    failAfter: 1s
    exitCode: 137
    waiting: {reason: ImagePullBackOff, message: no such image}
    initTakes: 300ms
    logs: hello
    deletionTakes: 5s
    addsNodes: {after: 10s, count: 2, zone: z1, labels: {pool: big}, capacity: {cpu: "64"}}
  - match: {kind: Pod, owner: Deployment/web}
    needs: fromPodSpec
    neverReady: true
    neverFinish: true
  - match: {kind: ExternalSecret}
    setStatus:
      - {at: 1s, status: {phase: "1", observedGeneration: 3, conditions: [{type: Ready, status: "True"}]}}
    creates: [{at: 6s, kind: Secret, name: db, labels: {a: b}, stringData: {URL: u}}]
    updates:
      - at: 7s
        object: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: v}}
    patches: [{at: 8s, manager: somebody, path: /spec/replicas, value: 3}]
    addsFinalizer: acme.test/cleanup
    removesFinalizer: {name: acme.test/cleanup, after: 3s, while: [Deployment/operator]}
    scales: [{at: 2s, target: Deployment/web, replicas: 0}]
    event: {reason: Denied, message: no}
    then: {deleteObjectAfter: 0s, by: someone}
    behaves: none
  - match: {kind: PersistentVolumeClaim, name: a}
    bindAfter: 4s
  - match: {kind: PersistentVolumeClaim, name: b}
    bindAfter: {firstPodUsingIt: 1s}
  - match: {kind: PersistentVolumeClaim, name: c}
    neverBind: true
`

func TestParse(t *testing.T) {
	got, err := Parse("sim.yaml", []byte(complete))
	if err != nil {
		t.Fatal(err)
	}
	want := List{
		{
			Source: "sim.yaml:3",
			Match: Match{
				Kind: "Job", Name: "migrate-*", Namespace: "team", Image: "*:2.0", Generation: 2, Occurrence: 3, StorageClass: "fast",
			},
			Needs: &Needs{Refs: []Ref{{Kind: "ServiceAccount", Name: "migrate"}, {Kind: "Secret", Namespace: "other", Name: "db"}}}, NeedsKeys: true,
			NeedsCompleted: []Ref{{Kind: "Job", Name: "init"}}, NeedsBound: []Ref{{Kind: "PersistentVolumeClaim", Name: "data"}},
			Outcome: &Outcome{
				ReadyAfter: new(2500 * time.Millisecond), FailAfter: new(time.Second), ExitCode: new(int32(137)),
				Waiting: &Waiting{Reason: "ImagePullBackOff", Message: "no such image"},
			},
			InitTakes: new(300 * time.Millisecond), DeletionTakes: new(5 * time.Second),
			Logs: "hello",
			AddsNodes: &AddsNodes{
				After: 10 * time.Second, Count: 2, Zone: "z1",
				Labels: map[string]string{"pool": "big"}, Capacity: map[string]string{"cpu": "64"},
			},
		},
		{
			Source: "sim.yaml:16", Match: Match{Kind: "Pod", Owner: &Ref{Kind: "Deployment", Name: "web"}},
			Needs: &Needs{FromPodSpec: true}, Outcome: &Outcome{NeverReady: true, NeverFinish: true},
		},
		{
			Source: "sim.yaml:20", Match: Match{Kind: "ExternalSecret"},
			SetStatus: []StatusAt{{At: time.Second, Status: map[string]any{
				"phase": "1", "observedGeneration": int64(3), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
			}}},
			Creates: []ObjectAt{{At: 6 * time.Second, Object: map[string]any{
				"kind": "Secret", "metadata": map[string]any{"name": "db", "labels": map[string]any{"a": "b"}}, "stringData": map[string]any{"URL": "u"},
			}}},
			Updates: []ObjectAt{{At: 7 * time.Second, Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}, "data": map[string]any{"k": "v"},
			}}},
			Patches:       []PatchAt{{At: 8 * time.Second, Manager: "somebody", Path: "/spec/replicas", Value: int64(3)}},
			AddsFinalizer: "acme.test/cleanup",
			RemovesFinalizer: &RemovesFinalizer{
				Name: "acme.test/cleanup", After: 3 * time.Second, While: []Ref{{Kind: "Deployment", Name: "operator"}},
			},
			Scales:  []ScaleAt{{At: 2 * time.Second, Target: Ref{Kind: "Deployment", Name: "web"}}},
			Events:  []EventAt{{Type: "Warning", Reason: "Denied", Message: "no"}},
			Then:    &Then{By: "someone"},
			Behaves: BehavesNone,
		},
		{Source: "sim.yaml:34", Match: Match{Kind: "PersistentVolumeClaim", Name: "a"}, Binding: &Binding{After: 4 * time.Second}},
		{Source: "sim.yaml:36", Match: Match{Kind: "PersistentVolumeClaim", Name: "b"}, Binding: &Binding{After: time.Second, FirstPodUsingIt: true}},
		{Source: "sim.yaml:38", Match: Match{Kind: "PersistentVolumeClaim", Name: "c"}, Binding: &Binding{Never: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse: -want +got\n%s", diff)
	}
}

func TestParseNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "rules:\n", "rules: []\n", "---\n"} {
		got, err := Parse("f", []byte(text))
		if err != nil || len(got) != 0 {
			t.Errorf("Parse(%q) = %v, %v; want no rule and no error", text, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"UnknownKeyOfRule": {
			reason: "a key with a typing error must not be passed over",
			text:   "rules:\n  - match: {kind: Job}\n    redyAfter: 1s\n",
			want:   []string{"f:3:", `"redyAfter"`, "readyAfter"},
		},
		"UnknownKeyOfFile":  {reason: "also at the top", text: "rule: []\n", want: []string{"f:1:", `"rule"`}},
		"UnknownKeyOfMatch": {reason: "also in match", text: "rules:\n- match:\n    kind: Job\n    nam: x\n", want: []string{"f:4:", `"nam"`}},
		"UnknownKeyOfEffect": {
			reason: "also in an effect", text: "rules:\n- match: {kind: A}\n  setStatus:\n  - {at: 1s, state: {}}\n", want: []string{"f:4:", `"state"`},
		},
		"TwiceTheSameKey":  {reason: "one of the two would be lost", text: "rules:\n- match: {kind: A, kind: B}\n", want: []string{"kind"}},
		"NoMatch":          {reason: "a rule for everything is a mistake", text: "rules:\n- readyAfter: 1s\n", want: []string{"f:2:", "match"}},
		"NoDuration":       {reason: "a number without a unit is ambiguous", text: "rules:\n- match: {kind: A}\n  readyAfter: 5\n", want: []string{"f:3:", `"5"`}},
		"NegativeDuration": {reason: "the past cannot be changed", text: "rules:\n- match: {kind: A}\n  readyAfter: -5s\n", want: []string{"f:3:"}},
		"NoObject":         {reason: "a name alone is no object", text: "rules:\n- match: {kind: A}\n  needs: [web]\n", want: []string{"f:3:", `"web"`}},
		"TwoEndings": {
			reason: "a Pod ends one way", text: "rules:\n- match: {kind: A}\n  failAfter: 1s\n  succeedAfter: 1s\n", want: []string{"exclude"},
		},
		"ReadyAndNever":       {reason: "contradiction", text: "rules:\n- match: {kind: A}\n  readyAfter: 1s\n  neverReady: true\n", want: []string{"exclude"}},
		"BindAndNever":        {reason: "contradiction", text: "rules:\n- match: {kind: A}\n  bindAfter: 1s\n  neverBind: true\n", want: []string{"exclude"}},
		"ExitCodeAlone":       {reason: "there is no failure", text: "rules:\n- match: {kind: A}\n  exitCode: 2\n", want: []string{"failAfter"}},
		"ObjectAndShortForm":  {reason: "which of the two?", text: "rules:\n- match: {kind: A}\n  creates: [{kind: B, name: c, object: {}}]\n", want: []string{"not both"}},
		"ShortFormIncomplete": {reason: "no name", text: "rules:\n- match: {kind: A}\n  creates: [{kind: B}]\n", want: []string{"kind and name"}},
		"StatusMissing":       {reason: "nothing to write", text: "rules:\n- match: {kind: A}\n  setStatus: [{at: 1s}]\n", want: []string{"status"}},
		"RulesNoList":         {reason: "wrong shape", text: "rules: {a: b}\n", want: []string{"f:1:", "list"}},
		"NoYAML":              {reason: "not YAML", text: "rules: [\n", want: []string{"f:"}},
		"EffectWithoutKind":   {reason: "any kind cannot be watched", text: "rules:\n- match: {name: A}\n  setStatus: [{status: {}}]\n", want: []string{"f:2:", "kind"}},
		"ZeroOccurrence":      {reason: "counting starts at one", text: "rules:\n- match: {kind: A, occurrence: 0}\n", want: []string{"f:2:"}},
		"NullWhereTextIsDue":  {reason: "null is no name", text: "rules:\n- match: {kind: ~}\n", want: []string{"f:2:"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f", []byte(tc.text))
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: error %q does not say %q", tc.reason, err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error has several lines: %q", tc.reason, err)
			}
		})
	}
}

// FuzzParse holds that parsing never panics, that errors name the file, and that accepted rules can be used.
func FuzzParse(f *testing.F) {
	f.Add([]byte(complete))
	f.Add([]byte("rules: [{match: {kind: &a A, name: *a}}]"))
	f.Add([]byte("rules: [{match: {kind: A}, creates: [{object: {1: 2}}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Parse("file", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q does not name the file in one line", err)
			}
			return
		}
		pod := &Pod{Object: Object{Kind: "Pod", Name: "p"}, Owners: []Owner{{Object: Object{Kind: "Job", Name: "j"}}}}
		if list.ForPod(pod) == nil || list.ForObject(&pod.Object, nil) == nil {
			t.Error("no effects")
		}
	})
}

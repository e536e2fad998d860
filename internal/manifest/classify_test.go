// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestClassify(t *testing.T) {
	const A, H = AnnotationHook, AnnotationHelmHook
	// Reasons are tested on their own below.
	tests := map[string]struct {
		reason      string
		annotations []string
		want        Class
	}{
		"Ordinary": {
			reason: "Without any hook annotation an object belongs to Sync.",
			want:   Class{Phases: []Phase{Sync}},
		},
		"ArgoHidesHelm": {
			reason:      "A recognised Argo CD type hides all of Helm's.",
			annotations: []string{A, "PreSync", H, "post-install,post-upgrade"},
			want:        Class{Phases: []Phase{PreSync}, Hook: true, Types: []string{"PreSync"}},
		},
		"SyncHidesPreInstall": {
			reason:      "Sync together with pre-install is a Sync hook only.",
			annotations: []string{A, "Sync", H, "pre-install"},
			want:        Class{Phases: []Phase{Sync}, Hook: true, Types: []string{"Sync"}},
		},
		"TwoPhases": {
			reason:      "Two types are two runs of one object.",
			annotations: []string{A, "PreSync,PostSync"},
			want:        Class{Phases: []Phase{PreSync, PostSync}, Hook: true, Types: []string{"PreSync", "PostSync"}},
		},
		"PhasesInTheirOrder": {
			reason:      "Phases come in the order in which they run, types as they are written, repetitions count once.",
			annotations: []string{A, " SyncFail ,PostSync,,PostSync"},
			want:        Class{Phases: []Phase{PostSync, SyncFail}, Hook: true, Types: []string{"SyncFail", "PostSync"}},
		},
		"Skip": {
			reason:      "Skip alone takes the object out.",
			annotations: []string{A, "Skip"},
			want:        Class{Skip: true, Types: []string{"Skip"}},
		},
		"SkipBesideHelm": {
			reason:      "Skip is a recognised type, so it hides Helm's.",
			annotations: []string{A, "Skip", H, "pre-install"},
			want:        Class{Skip: true, Types: []string{"Skip"}},
		},
		"SkipWithAnotherType": {
			reason:      "Skip counts only when it is alone.",
			annotations: []string{A, "PreSync,Skip"},
			want:        Class{Phases: []Phase{PreSync}, Hook: true, Types: []string{"PreSync"}},
		},
		"UnknownArgoType": {
			reason:      "The key alone makes a hook; without a type it is ignored.",
			annotations: []string{A, "bogus"},
			want:        Class{Hook: true, Ignored: true},
		},
		"CaseMatters": {
			reason:      "Types are case-sensitive.",
			annotations: []string{A, "presync"},
			want:        Class{Hook: true, Ignored: true},
		},
		"EmptyArgoType": {
			reason:      "An empty value is a hook without a type.",
			annotations: []string{A, ""},
			want:        Class{Hook: true, Ignored: true},
		},
		"FallBackToHelm": {
			reason:      "Without a recognised Argo CD type Helm's count.",
			annotations: []string{A, "bogus", H, "pre-install"},
			want:        Class{Phases: []Phase{PreSync}, Hook: true, Types: []string{"pre-install"}},
		},
		"BogusBesideCRDInstall": {
			reason:      "The Argo CD key makes it a hook, crd-install gives it no type.",
			annotations: []string{A, "bogus", H, "crd-install"},
			want:        Class{Hook: true, Ignored: true},
		},
		"InstallAndUpgrade": {
			reason:      "pre-install and pre-upgrade are one PreSync hook.",
			annotations: []string{H, "pre-install,pre-upgrade"},
			want:        Class{Phases: []Phase{PreSync}, Hook: true, Types: []string{"pre-install", "pre-upgrade"}},
		},
		"BeforeAndAfter": {
			reason:      "pre-install and post-install are two runs.",
			annotations: []string{H, "pre-install,post-install"},
			want:        Class{Phases: []Phase{PreSync, PostSync}, Hook: true, Types: []string{"pre-install", "post-install"}},
		},
		"PreUpgrade":  {annotations: []string{H, "pre-upgrade"}, want: Class{Phases: []Phase{PreSync}, Hook: true, Types: []string{"pre-upgrade"}}},
		"PostInstall": {annotations: []string{H, "post-install"}, want: Class{Phases: []Phase{PostSync}, Hook: true, Types: []string{"post-install"}}},
		"PostUpgrade": {annotations: []string{H, "post-upgrade"}, want: Class{Phases: []Phase{PostSync}, Hook: true, Types: []string{"post-upgrade"}}},
		"PreDeleteOfHelm": {
			reason:      "Helm's pre-delete belongs to the application's deletion.",
			annotations: []string{H, "pre-delete"},
			want:        Class{Hook: true, DeletePhases: []Phase{PreDelete}, Types: []string{"pre-delete"}},
		},
		"PostDeleteOfHelm": {
			reason:      "Helm's post-delete belongs to the application's deletion.",
			annotations: []string{H, "post-delete"},
			want:        Class{Hook: true, DeletePhases: []Phase{PostDelete}, Types: []string{"post-delete"}},
		},
		"CRDInstall": {
			reason:      "crd-install as the only value is an ordinary object.",
			annotations: []string{H, "crd-install"},
			want:        Class{Phases: []Phase{Sync}},
		},
		"CRDInstallWithAnother": {
			reason:      "Only the exact value is an ordinary object.",
			annotations: []string{H, "crd-install,pre-install"},
			want:        Class{Phases: []Phase{PreSync}, Hook: true, Types: []string{"pre-install"}},
		},
		"PreRollback":  {annotations: []string{H, "pre-rollback"}, want: Class{Hook: true, Ignored: true}},
		"PostRollback": {annotations: []string{H, "post-rollback"}, want: Class{Hook: true, Ignored: true}},
		"Test":         {annotations: []string{H, "test"}, want: Class{Hook: true, Ignored: true}},
		"TestSuccess":  {annotations: []string{H, "test-success"}, want: Class{Hook: true, Ignored: true}},
		"TestFailure":  {annotations: []string{H, "test-failure"}, want: Class{Hook: true, Ignored: true}},
		"Unknown":      {annotations: []string{H, "install"}, want: Class{Hook: true, Ignored: true}},
		"PreDelete": {
			reason:      "A delete hook takes no part in the sync.",
			annotations: []string{A, "PreDelete"},
			want:        Class{Hook: true, DeletePhases: []Phase{PreDelete}, Types: []string{"PreDelete"}},
		},
		"PreDeleteAndPreSync": {
			reason:      "One object can be both.",
			annotations: []string{A, "PreDelete,PreSync"},
			want:        Class{Phases: []Phase{PreSync}, Hook: true, DeletePhases: []Phase{PreDelete}, Types: []string{"PreSync", "PreDelete"}},
		},
		"PreSyncAndHelmPreDelete": {
			reason:      "Delete hooks are read from both annotations independently.",
			annotations: []string{A, "PreSync", H, "pre-delete"},
			want:        Class{Phases: []Phase{PreSync}, Hook: true, DeletePhases: []Phase{PreDelete}, Types: []string{"PreSync", "pre-delete"}},
		},
		"SkipAndPreDelete": {
			reason:      "Skip takes it out of the sync, not out of the deletion.",
			annotations: []string{A, "Skip,PreDelete"},
			want:        Class{Skip: true, DeletePhases: []Phase{PreDelete}, Types: []string{"Skip", "PreDelete"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Classify(annotated(tt.annotations...))
			if (got.Reason != "") != (got.Ignored || got.Skip) {
				t.Errorf("Reason = %q with Ignored=%v Skip=%v: only what is left out needs a reason", got.Reason, got.Ignored, got.Skip)
			}
			got.Reason = ""
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Classify(%q): %s (-want +got):\n%s", tt.annotations, tt.reason, diff)
			}
			if want := len(tt.want.DeletePhases) > 0 && len(tt.want.Phases) == 0; got.OnlyOnDelete() != want {
				t.Errorf("OnlyOnDelete() = %v, want %v", got.OnlyOnDelete(), want)
			}
		})
	}
}

func TestClassifyReason(t *testing.T) {
	tests := map[string]struct {
		annotations []string
		want        []string
	}{
		"Test":     {[]string{AnnotationHelmHook, "test"}, []string{"Helm test", "helm.sh/hook: test"}},
		"Rollback": {[]string{AnnotationHelmHook, "pre-rollback"}, []string{"rollback"}},
		"Case":     {[]string{AnnotationHook, "presync"}, []string{AnnotationHook, `"presync"`, "written PreSync"}},
		"Unknown":  {[]string{AnnotationHook, "bogus"}, []string{AnnotationHook, `"bogus"`}},
		"Helm":     {[]string{AnnotationHelmHook, "bogus"}, []string{AnnotationHelmHook, `"bogus"`}},
		"Skip":     {[]string{AnnotationHook, "Skip"}, []string{AnnotationHook + ": Skip"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Classify(annotated(tt.annotations...)).Reason
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("Reason = %q, does not mention %q", got, want)
				}
			}
		})
	}
}

func TestWave(t *testing.T) {
	tests := map[string]struct {
		reason      string
		annotations []string
		want        int
	}{
		"None":           {"Without an annotation the wave is 0.", nil, 0},
		"Wave":           {"The annotation counts.", []string{AnnotationSyncWave, "3"}, 3},
		"Negative":       {"Waves may be negative.", []string{AnnotationSyncWave, "-2"}, -2},
		"WeightOrdinary": {"The weight counts on ordinary objects too.", []string{AnnotationHelmHookWeight, "5"}, 5},
		"WaveWins":       {"The wave wins over the weight.", []string{AnnotationSyncWave, "1", AnnotationHelmHookWeight, "5"}, 1},
		"ZeroWins":       {"Zero is a wave like any other.", []string{AnnotationSyncWave, "0", AnnotationHelmHookWeight, "5"}, 0},
		"WaveNotInteger": {"An unusable wave falls back to the weight.", []string{AnnotationSyncWave, "x", AnnotationHelmHookWeight, "5"}, 5},
		"WaveFraction":   {"A fraction is not an integer.", []string{AnnotationSyncWave, "1.5"}, 0},
		"WaveBlank":      {"Blanks are not trimmed.", []string{AnnotationSyncWave, " 1"}, 0},
		"BothUnusable":   {"With nothing usable the wave is 0.", []string{AnnotationSyncWave, "", AnnotationHelmHookWeight, "y"}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Wave(annotated(tt.annotations...)); got != tt.want {
				t.Errorf("Wave(%q) = %d, want %d: %s", tt.annotations, got, tt.want, tt.reason)
			}
		})
	}
	number := annotated()
	_ = unstructured.SetNestedField(number.Object, int64(4), "metadata", "annotations", AnnotationSyncWave)
	if got := Wave(number); got != 0 {
		t.Errorf("Wave of a number instead of a string = %d, want 0: such an object is refused elsewhere", got)
	}
}

func TestDeletePolicies(t *testing.T) {
	const A, H = AnnotationHookDeletePolicy, AnnotationHelmHookDeletePolicy
	tests := map[string]struct {
		reason      string
		annotations []string
		want        []DeletePolicy
	}{
		"Default": {"Nothing said means before creation.", nil, []DeletePolicy{BeforeHookCreation}},
		"Unknown": {"Nothing understood means nothing said.", []string{A, "hook-failed", H, "HookFailed"}, []DeletePolicy{BeforeHookCreation}},
		"Argo":    {"Argo CD's words.", []string{A, "HookSucceeded"}, []DeletePolicy{HookSucceeded}},
		"Helm":    {"Helm's words.", []string{H, "before-hook-creation, hook-succeeded"}, []DeletePolicy{BeforeHookCreation, HookSucceeded}},
		"Union":   {"Both are united.", []string{A, "HookFailed", H, "hook-succeeded"}, []DeletePolicy{HookSucceeded, HookFailed}},
		"Once":    {"The same from both counts once.", []string{A, "HookFailed,HookFailed", H, "hook-failed"}, []DeletePolicy{HookFailed}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, DeletePolicies(annotated(tt.annotations...))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	set := SyncOptions(annotated(
		AnnotationSyncOptions, "Prune=false, Replace=true,,Prune=false,GateTimeout=5m",
		AnnotationWavetrainOptions, "GateTimeout=30m,Expr=a=b",
	))
	want := OptionSet{"Prune=false", "Replace=true", "GateTimeout=5m", "GateTimeout=30m", "Expr=a=b"}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Errorf("SyncOptions (-want +got):\n%s", diff)
	}
	for option, want := range map[string]bool{"Prune=false": true, "prune=false": false, "Prune": false, "Prune=true": false} {
		if got := set.Has(option); got != want {
			t.Errorf("Has(%q) = %v, want %v", option, got, want)
		}
	}
	for name, want := range map[string]string{"GateTimeout": "30m", "Expr": "a=b", "Gate": ""} {
		if got, ok := set.Value(name); got != want || ok != (want != "") {
			t.Errorf("Value(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
}

// FuzzClassify reads arbitrary annotations: the answer is always consistent.
func FuzzClassify(f *testing.F) {
	f.Add("PreSync,PostSync", "test", "3", "HookFailed")
	f.Add("Skip", "crd-install", "-", ",,")
	f.Add("Skip,PreDelete", "pre-delete , post-install", "99999999999999999999", "hook-succeeded")
	f.Fuzz(func(t *testing.T, argo, helm, wave, policy string) {
		u := annotated(AnnotationHook, argo, AnnotationHelmHook, helm, AnnotationSyncWave, wave,
			AnnotationHookDeletePolicy, policy, AnnotationHelmHookDeletePolicy, policy, AnnotationSyncOptions, policy)
		c := Classify(u)
		if c.Skip && c.Ignored || c.Skip && len(c.Phases) > 0 || c.Ignored && len(c.Phases)+len(c.DeletePhases) > 0 {
			t.Errorf("Classify(%q, %q) contradicts itself: %+v", argo, helm, c)
		}
		if !c.Skip && !c.Ignored && len(c.Phases)+len(c.DeletePhases) == 0 {
			t.Errorf("Classify(%q, %q): an object that nobody left out has no phase: %+v", argo, helm, c)
		}
		for i := 1; i < len(c.Phases); i++ {
			if c.Phases[i-1].Rank() >= c.Phases[i].Rank() {
				t.Errorf("Classify(%q, %q).Phases = %v, not in order", argo, helm, c.Phases)
			}
		}
		if len(DeletePolicies(u)) == 0 {
			t.Errorf("DeletePolicies(%q) is empty", policy)
		}
		for _, option := range SyncOptions(u) {
			if option == "" || strings.Contains(option, ",") || strings.TrimSpace(option) != option {
				t.Errorf("SyncOptions(%q) holds %q", policy, option)
			}
		}
		Wave(u)
	})
}

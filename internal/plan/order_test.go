// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestOrder(t *testing.T) {
	const cm, job, ns = "v1 ConfigMap ", "batch/v1 Job ", "v1 Namespace "
	tests := map[string]struct {
		reason string
		in     Input
		want   []string
		moved  []Move
	}{
		"Empty": {reason: "Nothing rendered is a plan of no groups.", in: input()},
		"PhasesThenWaves": {
			reason: "Phases come before waves, waves may be negative, SyncFail is last.",
			in: input(
				object(job+"fail", hook("SyncFail"), wave(-9)), object(job+"post", hook("PostSync"), wave(-3)),
				object(cm+"late", wave(5)), object(cm+"early", wave(-1)), object(job+"pre", hook("PreSync"), wave(7)),
			),
			want: []string{"PreSync/7: Job/pre", "Sync/-1: ConfigMap/early", "Sync/5: ConfigMap/late", "PostSync/-3: Job/post", "SyncFail/-9: Job/fail"},
		},
		"Kinds": {
			reason: "Kinds have their order, unknown ones come last by name.",
			in: input(
				object("x/v1 Zebra a"), object("y/v1 Ape z"), object("networking.k8s.io/v1 Ingress i"), object("apps/v1 Deployment d"),
				object("v1 Service s"), object("v1 ConfigMap c"), object("v1 Secret s"), object("v1 ServiceAccount sa"), object("batch/v1 Job j"),
				object("rbac.authorization.k8s.io/v1 Role r"), object("policy/v1 PodDisruptionBudget p"), object("apps/v1 StatefulSet st"),
				object("autoscaling/v2 HorizontalPodAutoscaler h"), object("v1 PersistentVolumeClaim pvc"),
			),
			want: []string{"Sync/0: PodDisruptionBudget/p ServiceAccount/sa Secret/s ConfigMap/c PersistentVolumeClaim/pvc Role/r Service/s " +
				"Deployment/d HorizontalPodAutoscaler/h StatefulSet/st Job/j Ingress/i Zebra/a Ape/z"},
		},
		"Names": {
			reason: "Names decide among one kind, namespaces among one name.",
			in:     input(object(cm+"b/x"), object(cm+"c"), object(cm+"a/x"), object(cm+"a")),
			want:   []string{"Sync/0: ConfigMap/a ConfigMap/c ConfigMap/x ConfigMap/x"},
		},
		"HookInTwoPhases": {
			reason: "A hook of two phases is two steps.",
			in:     input(object(job+"j", hook("PostSync,PreSync"))),
			want:   []string{"PreSync/0: Job/j", "PostSync/0: Job/j"},
		},
		"HelmWeight": {
			reason: "The weight is the wave of ordinary objects as well.",
			in:     input(object(cm+"c", annotate(manifest.AnnotationHelmHookWeight, "5"))),
			want:   []string{"Sync/5: ConfigMap/c"},
		},
		"NamespaceLifted": {
			reason: "A Namespace precedes what lives in it and adopts that wave.",
			in:     input(object(ns+"n", wave(5)), object(cm+"n/c", wave(-1)), object(cm+"other/d", wave(-4))),
			want:   []string{"Sync/-4: ConfigMap/d", "Sync/-1: Namespace/n ConfigMap/c"},
			moved:  []Move{{Key: manifest.Key{Kind: "Namespace", Name: "n"}, From: "Sync/5", To: "Sync/-1", Because: manifest.Key{Kind: "ConfigMap", Namespace: "n", Name: "c"}}},
		},
		"NamespaceLiftedByHook": {
			reason: "A Namespace is lifted across phases.",
			in:     input(object(ns+"n"), object(job+"n/j", hook("PreSync"), wave(-2))),
			want:   []string{"PreSync/-2: Namespace/n Job/j"},
			moved:  []Move{{Key: manifest.Key{Kind: "Namespace", Name: "n"}, From: "Sync/0", To: "PreSync/-2", Because: manifest.Key{Group: "batch", Kind: "Job", Namespace: "n", Name: "j"}}},
		},
		"NamespaceLiftedByClusterScoped": {
			reason: "A cluster-scoped object counts as one of the destination namespace.",
			in:     input(object(ns+"dest", wave(3)), object("rbac.authorization.k8s.io/v1 ClusterRole r", wave(1))),
			want:   []string{"Sync/1: Namespace/dest ClusterRole/r"},
			moved:  []Move{{Key: manifest.Key{Kind: "Namespace", Name: "dest"}, From: "Sync/3", To: "Sync/1", Because: manifest.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "r"}}},
		},
		"NamespaceNotLowered": {
			reason: "A Namespace that is early enough stays.",
			in:     input(object(ns+"n", wave(-5)), object(cm+"n/c")),
			want:   []string{"Sync/-5: Namespace/n", "Sync/0: ConfigMap/c"},
		},
		"DefinitionLifted": {
			reason: "A definition precedes its objects, also across phases.",
			in: input(
				object("apiextensions.k8s.io/v1 CustomResourceDefinition w.x.example", defines("x.example", "Widget"), wave(2)),
				object("x.example/v1 Widget w", hook("PreSync")),
			),
			want:  []string{"PreSync/0: CustomResourceDefinition/w.x.example Widget/w"},
			moved: []Move{{Key: manifest.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "w.x.example"}, From: "Sync/2", To: "PreSync/0", Because: manifest.Key{Group: "x.example", Kind: "Widget", Namespace: "dest", Name: "w"}}},
		},
		"DefinitionOfEarlyKind": {
			reason: "Inside a group a definition precedes its objects even if their kind comes first by rank.",
			in: input(
				object("apiextensions.k8s.io/v1 CustomResourceDefinition z", defines("x.example", "NetworkPolicy")),
				object("x.example/v1 NetworkPolicy a"), object(ns+"other"), object("networking.k8s.io/v1 NetworkPolicy b"),
			),
			want: []string{"Sync/0: Namespace/other CustomResourceDefinition/z NetworkPolicy/a NetworkPolicy/b"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Build(tt.in)
			if diff := cmp.Diff(tt.want, outline(got.Groups)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(tt.moved, got.Moved); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			if len(got.Findings) > 0 {
				t.Errorf("findings: %+v", got.Findings)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	pruned := func(name string, n int, changes ...mutation) Live {
		return live(object("v1 ConfigMap dest/"+name, wave(n), uid("u-"+name)), changes...)
	}
	tests := map[string]struct {
		reason  string
		objects []manifest.Object
		prune   []Live
		options Options
		want    []string
	}{
		"Mirrored": {
			reason: "The wave created first is pruned last.",
			prune:  []Live{pruned("a", 1), pruned("b", 2), pruned("c", 3), pruned("d", 4), live(object("v1 Namespace n", wave(0)))},
			want:   []string{"Sync/0: -ConfigMap/d", "Sync/1: -ConfigMap/c", "Sync/2: -ConfigMap/b", "Sync/3: -ConfigMap/a", "Sync/4: -Namespace/n"},
		},
		"MiddleStays": {
			reason: "Distinct waves are exchanged, the middle one stays.",
			prune:  []Live{pruned("a", 1), pruned("b", 3), pruned("c", 4)},
			want:   []string{"Sync/1: -ConfigMap/c", "Sync/3: -ConfigMap/b", "Sync/4: -ConfigMap/a"},
		},
		"Several": {
			reason: "Several objects of one wave move together.",
			prune:  []Live{pruned("a", 1), pruned("b", 3), pruned("c", 3), pruned("d", 4), pruned("e", 5)},
			want:   []string{"Sync/1: -ConfigMap/e", "Sync/3: -ConfigMap/d", "Sync/4: -ConfigMap/b -ConfigMap/c", "Sync/5: -ConfigMap/a"},
		},
		"BesideCreations": {
			reason:  "Waves of creations do not count, prunes of a group come first.",
			objects: []manifest.Object{object("v1 ConfigMap x", wave(9)), object("v1 Namespace y", wave(2))},
			prune:   []Live{pruned("a", 1), pruned("b", 2)},
			want:    []string{"Sync/1: -ConfigMap/b", "Sync/2: -ConfigMap/a Namespace/y", "Sync/9: ConfigMap/x"},
		},
		"PruneLast": {
			reason:  "PruneLast is one wave after everything of Sync, prunes included.",
			objects: []manifest.Object{object("v1 ConfigMap x", wave(2)), object("batch/v1 Job p", hook("PostSync"), wave(50))},
			prune:   []Live{pruned("a", 7)},
			options: Options{PruneLast: true},
			want:    []string{"Sync/2: ConfigMap/x", "Sync/8: -ConfigMap/a", "PostSync/50: Job/p"},
		},
		"PruneLastAtZero": {
			reason:  "With equal waves the prune still comes after.",
			objects: []manifest.Object{object("v1 ConfigMap x")},
			prune:   []Live{pruned("a", 0)},
			options: Options{PruneLast: true},
			want:    []string{"Sync/0: ConfigMap/x", "Sync/1: -ConfigMap/a"},
		},
		"PruneLastNegative": {
			reason:  "The last wave counts as 0 at least.",
			objects: []manifest.Object{object("v1 ConfigMap x", wave(-4))},
			prune:   []Live{pruned("a", -2)},
			options: Options{PruneLast: true},
			want:    []string{"Sync/-4: ConfigMap/x", "Sync/1: -ConfigMap/a"},
		},
		"PruneLastOfOne": {
			reason: "The annotation moves only its own object.",
			prune:  []Live{pruned("a", 0), pruned("b", 0, options("PruneLast=true"))},
			want:   []string{"Sync/0: -ConfigMap/a", "Sync/1: -ConfigMap/b"},
		},
		"StillRendered": {
			reason:  "What is rendered is not pruned, whatever the caller says.",
			objects: []manifest.Object{object("v1 ConfigMap a"), object("v1 ConfigMap b", hook("Skip")), object("v1 ConfigMap c", helmHook("test"))},
			prune:   []Live{pruned("a", 0), pruned("b", 0), pruned("c", 0), pruned("d", 0), pruned("d", 0)},
			want:    []string{"Sync/0: -ConfigMap/d ConfigMap/a"},
		},
		"PrunesLiftNothing": {
			reason:  "A Namespace does not come earlier for the sake of what is deleted in it.",
			objects: []manifest.Object{object("v1 Namespace dest", wave(2)), object("v1 ConfigMap x", wave(3))},
			prune:   []Live{pruned("a", -3)},
			want:    []string{"Sync/-3: -ConfigMap/a", "Sync/2: Namespace/dest", "Sync/3: ConfigMap/x"},
		},
		"HooksAreNotPruned": {
			reason: "Live hooks and skipped objects stay.",
			prune:  []Live{pruned("a", 0, hook("PreSync")), pruned("b", 0, hook("Skip")), pruned("c", 0, helmHook("test"))},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := input(tt.objects...)
			i.Prune, i.Options = tt.prune, tt.options
			i.Options.Prune = true
			if diff := cmp.Diff(tt.want, outline(Build(i).Groups)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestPruneDecision(t *testing.T) {
	tests := map[string]struct {
		reason  string
		own     string
		options Options
		want    Step
	}{
		"On":              {"Pruning is allowed.", "", Options{Prune: true}, Step{Action: Prune}},
		"Off":             {"The operation does not prune.", "", Options{}, Step{Action: SkipPrune, Reason: reasonPruneOff}},
		"OffWins":         {"Whether the operation prunes at all comes first.", "Prune=true", Options{PruneDisabled: true}, Step{Action: SkipPrune, Reason: reasonPruneOff}},
		"Refused":         {"The object refuses.", "Prune=false", Options{Prune: true}, Step{Action: SkipPrune, Reason: reasonPruneRefused}},
		"RefusedByApp":    {"The application refuses.", "", Options{Prune: true, PruneDisabled: true}, Step{Action: SkipPrune, Reason: reasonPruneRefused}},
		"ObjectWins":      {"The object wins over the application.", "Prune=true", Options{Prune: true, PruneDisabled: true}, Step{Action: Prune}},
		"Confirm":         {"The object wants a confirmation.", "Prune=confirm", Options{Prune: true}, Step{Action: SkipPrune, Confirm: true, Reason: reasonConfirm}},
		"ConfirmByApp":    {"The application wants a confirmation.", "", Options{Prune: true, PruneConfirm: true}, Step{Action: SkipPrune, Confirm: true, Reason: reasonConfirm}},
		"RefuseBeforeApp": {"The object's refusal wins over the application's confirmation.", "Prune=false", Options{Prune: true, PruneConfirm: true}, Step{Action: SkipPrune, Reason: reasonPruneRefused}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := input()
			i.Options = tt.options
			i.Prune = []Live{live(object("v1 Secret dest/s", options(tt.own), uid("1")))}
			got := findStep(t, Build(i), "Sync/0/Secret/dest/s")
			if got.Action != tt.want.Action || got.Reason != tt.want.Reason || got.Confirm != tt.want.Confirm {
				t.Errorf("%s: got %s %q confirm=%v, want %s %q confirm=%v", tt.reason,
					got.Action, got.Reason, got.Confirm, tt.want.Action, tt.want.Reason, tt.want.Confirm)
			}
			if got.Precondition != "uid:1" {
				t.Errorf("Precondition = %q, want the UID of what is deleted", got.Precondition)
			}
		})
	}
}

func TestDestinationNamespaceIsHandedOver(t *testing.T) {
	i := input()
	i.Options = Options{Prune: true, CreateNamespace: true}
	namespace := live(object("v1 Namespace dest", uid("1")))
	i.Live = map[manifest.Key]Live{namespace.Key(): namespace}
	i.Prune = []Live{namespace}
	p := Build(i)
	if got := findStep(t, p, "Sync/0/Namespace/dest"); got.Action != SkipPrune {
		t.Errorf("Action = %s: dropping the manifest of the destination namespace must not delete it", got.Action)
	}
	if diff := cmp.Diff([]string{"info namespace-handover"}, codes(p.Findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestPruneGuard(t *testing.T) {
	prunable := func(kind, name string, changes ...mutation) Live {
		return live(object(kind+" "+name, append(changes, uid(name))...))
	}
	application := func(kept, gone int) ([]manifest.Object, map[manifest.Key]Live, []Live) {
		var objects []manifest.Object
		found := map[manifest.Key]Live{}
		for i := range kept {
			o := object(fmt.Sprintf("v1 ConfigMap dest/kept-%d", i), uid(fmt.Sprint(i)))
			objects = append(objects, o)
			found[o.Key()] = Live{Object: o, InSync: true}
		}
		var prune []Live
		for i := range gone {
			prune = append(prune, prunable("v1 ConfigMap", fmt.Sprintf("dest/gone-%d", i)))
		}
		return objects, found, prune
	}
	definition := prunable("apiextensions.k8s.io/v1 CustomResourceDefinition", "widgets.example.test")
	used := definition
	used.Dependants = "2 Widgets of others"
	tests := map[string]struct {
		reason     string
		kept, gone int
		also       []Live
		off        bool
		want       map[string]string
	}{
		"Few":              {"A few prunes need nobody.", 6, 4, nil, false, nil},
		"Half":             {"Half of ten is a likely mistake.", 5, 5, nil, false, map[string]string{"ConfigMap": "5 of 10 objects would be deleted"}},
		"Small":            {"Half of a small application is not.", 4, 5, nil, false, nil},
		"Everything":       {"Neither is everything allowed, however empty Git may be.", 0, 10, nil, false, map[string]string{"ConfigMap": "10 of 10 objects would be deleted"}},
		"Off":              {"The guard can be switched off.", 0, 10, []Live{prunable("v1 Namespace", "x")}, true, nil},
		"Namespace":        {"With a namespace goes everything in it.", 0, 1, []Live{prunable("v1 Namespace", "x")}, false, map[string]string{"Namespace": "everything in the namespace would be lost"}},
		"Claim":            {"With a claim goes its data.", 0, 1, []Live{prunable("v1 PersistentVolumeClaim", "dest/x")}, false, map[string]string{"PersistentVolumeClaim": "the data of the claim may be lost"}},
		"SwitchedOffThere": {"An object may say that it can go.", 0, 1, []Live{prunable("v1 PersistentVolumeClaim", "dest/x", options("PruneGuard=false"))}, false, nil},
		"Definition":       {"A definition that nobody uses may go.", 0, 1, []Live{definition}, false, nil},
		"UsedDefinition":   {"One that others use needs a confirmation.", 0, 1, []Live{used}, false, map[string]string{"CustomResourceDefinition": "2 Widgets of others would be lost"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			objects, found, prune := application(tt.kept, tt.gone)
			i := input(objects...)
			i.Live, i.Prune = found, slices.Concat(prune, tt.also)
			i.Options = Options{Prune: true, PruneGuard: !tt.off}
			got := map[string]string{}
			for _, g := range Build(i).Groups {
				for _, s := range g.Steps {
					if s.Action == SkipPrune && s.Confirm {
						got[s.Key.Kind] = s.Risk
					}
				}
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestHeldPruneIsDeferred(t *testing.T) {
	held := live(object("v1 Secret dest/s", uid("1")))
	held.Holder = manifest.Key{Kind: "Pod", Namespace: "dest", Name: "web"}
	tests := map[string]struct {
		reason  string
		options Options
		want    Step
	}{
		"Pruned":  {"What is still used stays for now.", Options{Prune: true}, Step{Action: SkipPrune, Deferred: true, Reason: "deferred: still used by Pod/web"}},
		"Confirm": {"Nobody is asked before it can go.", Options{Prune: true, PruneConfirm: true}, Step{Action: SkipPrune, Deferred: true, Reason: "deferred: still used by Pod/web"}},
		"Off":     {"Without prune it is not put off, it is not pruned.", Options{}, Step{Action: SkipPrune, Reason: reasonPruneOff}},
		"Refused": {"Neither is what may not be pruned.", Options{Prune: true, PruneDisabled: true}, Step{Action: SkipPrune, Reason: reasonPruneRefused}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := input()
			i.Options, i.Prune = tt.options, []Live{held}
			got := findStep(t, Build(i), "Sync/0/Secret/dest/s")
			if got.Action != tt.want.Action || got.Deferred != tt.want.Deferred || got.Reason != tt.want.Reason || got.Confirm {
				t.Errorf("%s: got %s deferred=%v %q confirm=%v", tt.reason, got.Action, got.Deferred, got.Reason, got.Confirm)
			}
		})
	}
}

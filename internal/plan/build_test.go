// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestSteps(t *testing.T) {
	existing := object("v1 ConfigMap dest/changed", uid("1"))
	existing.SetResourceVersion("77")
	i := input(
		object("v1 ConfigMap new"), object("v1 ConfigMap changed"), object("v1 ConfigMap same"),
		object("batch/v1 Job old", hook("Sync"), annotate(manifest.AnnotationHookDeletePolicy, "HookFailed")),
		object("batch/v1 Job", hook("PostSync"), generateName("check-")),
	)
	i.Live = map[manifest.Key]Live{}
	for _, l := range []Live{
		live(existing),
		{Object: object("v1 ConfigMap dest/same", uid("2")), InSync: true},
		{Object: object("batch/v1 Job dest/old", uid("3")), InSync: true},
	} {
		i.Live[l.Key()] = l
	}
	key := func(kind, name string) manifest.Key {
		if kind == "Job" {
			return manifest.Key{Group: "batch", Kind: kind, Namespace: "dest", Name: name}
		}
		return manifest.Key{Kind: kind, Namespace: "dest", Name: name}
	}
	want := []Group{
		{Phase: manifest.Sync, Steps: []Step{
			{ID: "Sync/0/ConfigMap/dest/changed", Action: Update, Key: key("ConfigMap", "changed"), Version: "v1", Precondition: "uid:1", ResourceVersion: "77"},
			{ID: "Sync/0/ConfigMap/dest/new", Action: Create, Key: key("ConfigMap", "new"), Version: "v1", Precondition: "absent"},
			{ID: "Sync/0/ConfigMap/dest/same", Action: None, Key: key("ConfigMap", "same"), Version: "v1", Precondition: "uid:2"},
			{
				ID: "Sync/0/batch/Job/dest/old", Action: Hook, Key: key("Job", "old"), Version: "v1", Precondition: "uid:3",
				HookType: manifest.Sync, Policies: []manifest.DeletePolicy{manifest.HookFailed},
			},
		}},
		{Phase: manifest.PostSync, Steps: []Step{{
			ID: "PostSync/0/batch/Job/dest/check-*", Action: Hook, Key: key("Job", ""), Version: "v1", Precondition: "absent",
			HookType: manifest.PostSync, Policies: []manifest.DeletePolicy{manifest.BeforeHookCreation},
		}}},
	}
	got := Build(i)
	if diff := cmp.Diff(want, got.Groups, cmpopts.IgnoreFields(Step{}, "Object")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	named := got.Named(findStep(t, got, "PostSync/0/batch/Job/dest/check-*"), "check-1")
	if id := named.GetAnnotations()[manifest.AnnotationTrackingID]; id != "app:batch/Job:dest/check-1" || named.GetName() != "check-1" {
		t.Errorf("Named: name %q, tracking id %q", named.GetName(), id)
	}
}

func TestObjectsAreDressed(t *testing.T) {
	tests := map[string]struct {
		reason    string
		object    manifest.Object
		id        string
		namespace string
		tracking  string
	}{
		"Defaulted":     {"A namespaced object is given the destination's namespace.", object("v1 ConfigMap c"), "Sync/0/ConfigMap/dest/c", "dest", "app:/ConfigMap:dest/c"},
		"Explicit":      {"A namespace of its own stays.", object("v1 ConfigMap own/c"), "Sync/0/ConfigMap/own/c", "own", "app:/ConfigMap:own/c"},
		"ClusterScoped": {"A cluster-scoped object loses a namespace and is tracked under the destination's.", object("rbac.authorization.k8s.io/v1 ClusterRole wrong/r"), "Sync/0/rbac.authorization.k8s.io/ClusterRole/r", "", "app:rbac.authorization.k8s.io/ClusterRole:dest/r"},
		"NotServedYet":  {"An object of a kind that nobody serves yet counts as namespaced.", object("x.example/v1 Widget w"), "Sync/0/x.example/Widget/dest/w", "dest", "app:x.example/Widget:dest/w"},
		"Definition":    {"A definition is never tracked.", object("apiextensions.k8s.io/v1 CustomResourceDefinition d", defines("a.b", "C")), "Sync/0/apiextensions.k8s.io/CustomResourceDefinition/d", "", ""},
		"Hook":          {"A hook is tracked like everything else.", object("batch/v1 Job j", hook("PreSync")), "PreSync/0/batch/Job/dest/j", "dest", "app:batch/Job:dest/j"},
		"DeleteHook":    {"So is a hook that runs on deletion.", object("batch/v1 Job j", helmHook("post-delete")), "PostDelete/0/batch/Job/dest/j", "dest", "app:batch/Job:dest/j"},
		"CopiedID":      {"A tracking id that was copied along is replaced.", object("v1 ConfigMap c", annotate(manifest.AnnotationTrackingID, "x:/ConfigMap:y/z")), "Sync/0/ConfigMap/dest/c", "dest", "app:/ConfigMap:dest/c"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := tt.object.DeepCopy()
			step := findStep(t, Build(input(tt.object)), tt.id)
			if got := step.Object.GetNamespace(); got != tt.namespace {
				t.Errorf("namespace = %q, want %q: %s", got, tt.namespace, tt.reason)
			}
			if got := step.Object.GetAnnotations()[manifest.AnnotationTrackingID]; got != tt.tracking {
				t.Errorf("tracking id = %q, want %q: %s", got, tt.tracking, tt.reason)
			}
			if diff := cmp.Diff(before.Object, tt.object.Object); diff != "" {
				t.Errorf("Build changed its input (-before +after):\n%s", diff)
			}
		})
	}
}

func TestUnproven(t *testing.T) {
	live := Live{Object: object("v1 ConfigMap dest/copy")}
	key := manifest.Key{Kind: "ConfigMap", Namespace: "dest", Name: "copy"}
	tests := map[string]struct {
		reason   string
		options  Options
		pruned   bool
		reported bool
	}{
		"Shown":    {"a label proves nothing", Options{Prune: true}, false, true},
		"Other":    {"a sync of something else says nothing of it", Options{Prune: true, Only: []manifest.Key{{Kind: "ConfigMap", Name: "plain"}}}, false, false},
		"NoPrune":  {"nor does one that prunes nothing", Options{Only: []manifest.Key{key}}, false, true},
		"AskedFor": {"somebody wants exactly this object pruned", Options{Prune: true, Only: []manifest.Key{key}}, true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(object("v1 ConfigMap plain"))
			in.Tracking, in.Unproven, in.Options = manifest.Tracking{Method: manifest.TrackByLabel}, []Live{live}, tt.options
			p := Build(in)
			pruned := false
			for _, g := range p.Groups {
				for _, s := range g.Steps {
					pruned = pruned || s.Key == key && s.Action == Prune
				}
			}
			reported := slices.ContainsFunc(p.Findings, func(d diag.Diagnostic) bool { return d.Code == CodeExtraneousNotOurs && d.Subject == key })
			if pruned != tt.pruned || reported != tt.reported {
				t.Errorf("%s: pruned %t, reported %t", tt.reason, pruned, reported)
			}
		})
	}
}

func TestHookStepsShareNothing(t *testing.T) {
	rendered := object("batch/v1 Job j", hook("PreSync,PostSync"), uses("s.k"))
	p := Build(input(rendered))
	pre, post := findStep(t, p, "PreSync/0/batch/Job/dest/j"), findStep(t, p, "PostSync/0/batch/Job/dest/j")
	pre.Object.Object["spec"].(map[string]any)["template"] = "changed"
	for name, o := range map[string]manifest.Object{"the other phase": *post.Object, "the rendered object": rendered} {
		if o.Object["spec"].(map[string]any)["template"] == "changed" {
			t.Errorf("changing one phase's hook changed %s", name)
		}
	}
}

func TestLeftOut(t *testing.T) {
	test := object("v1 Pod t", helmHook("test"))
	rollback := object("batch/v1 Job r", helmHook("pre-rollback"))
	skipped := object("v1 ConfigMap s", hook("Skip"))
	pre := object("batch/v1 Job pre", hook("PreSync"))
	install := object("batch/v1 Job install", helmHook("pre-install"))
	upgrade := object("batch/v1 Job upgrade", helmHook("post-upgrade"))
	both := object("batch/v1 Job both", helmHook("pre-install,post-upgrade"))
	cleanup := object("batch/v1 Job cleanup", helmHook("post-delete"), wave(-1))
	plain := object("v1 ConfigMap plain")
	tests := map[string]struct {
		reason  string
		objects []manifest.Object
		options Options
		exclude string
		want    []string
		onDel   []string
		ignored []string
	}{
		"Excluded": {
			reason:  "A kind that the installation leaves alone takes no part, hooks and delete hooks neither.",
			objects: []manifest.Object{plain, pre, cleanup}, exclude: "Job",
			want:    []string{"Sync/0: ConfigMap/plain"},
			ignored: []string{"Job/cleanup: its kind is excluded", "Job/pre: its kind is excluded"},
		},
		"Always": {
			reason:  "Tests, rollback hooks and Skip take no part and are named.",
			objects: []manifest.Object{test, rollback, skipped, plain},
			want:    []string{"Sync/0: ConfigMap/plain"},
			ignored: []string{"ConfigMap/s: argocd.argoproj.io/hook: Skip", "Pod/t: Helm test", "Job/r: Helm rollback hook"},
		},
		"OnDeletion": {
			reason:  "Delete hooks stand apart, an object may be both.",
			objects: []manifest.Object{cleanup, object("batch/v1 Job x", hook("PreDelete,PreSync")), object("v1 ServiceAccount a", hook("PreDelete"))},
			want:    []string{"PreSync/0: Job/x"},
			onDel:   []string{"PreDelete/0: ServiceAccount/a Job/x", "PostDelete/-1: Job/cleanup"},
		},
		"ApplyOnly": {
			reason:  "Without hooks every hook of the sync is named.",
			objects: []manifest.Object{pre, plain, cleanup}, options: Options{SkipHooks: true},
			want: []string{"Sync/0: ConfigMap/plain"}, onDel: []string{"PostDelete/-1: Job/cleanup"},
			ignored: []string{"Job/pre: hook: this operation only applies"},
		},
		"Partial": {
			reason:  "A partial operation runs no hooks.",
			objects: []manifest.Object{pre, plain, object("v1 ConfigMap more")}, options: Options{Only: []manifest.Key{{Kind: "ConfigMap", Name: "plain"}}},
			want:    []string{"Sync/0: ConfigMap/plain"},
			ignored: []string{"Job/pre: hook: a partial operation runs no hooks"},
		},
		"FirstSync": {
			reason:  "With Helm's life cycle the first sync runs install hooks.",
			objects: []manifest.Object{install, upgrade, both, pre}, options: Options{HelmLifecycle: true, FirstSync: true},
			want:    []string{"PreSync/0: Job/both Job/install Job/pre"},
			ignored: []string{"Job/upgrade: skipped: upgrade-only hook, first sync"},
		},
		"LaterSync": {
			reason:  "Every later one runs upgrade hooks.",
			objects: []manifest.Object{install, upgrade, both, pre}, options: Options{HelmLifecycle: true},
			want:    []string{"PreSync/0: Job/pre", "PostSync/0: Job/both Job/upgrade"},
			ignored: []string{"Job/install: skipped: install-only hook, not the first sync"},
		},
		"ArgoLifecycle": {
			reason:  "Otherwise all hooks run on every sync.",
			objects: []manifest.Object{install, upgrade, both},
			want:    []string{"PreSync/0: Job/both Job/install", "PostSync/0: Job/both Job/upgrade"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := input(tt.objects...)
			i.Options = tt.options
			i.Excluded = func(gk schema.GroupKind) bool { return gk.Kind == tt.exclude }
			p := Build(i)
			if diff := cmp.Diff(tt.want, outline(p.Groups)); diff != "" {
				t.Errorf("groups: %s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(tt.onDel, outline(p.OnDeletion)); diff != "" {
				t.Errorf("on deletion: %s (-want +got):\n%s", tt.reason, diff)
			}
			if len(p.Ignored) != len(tt.ignored) {
				t.Fatalf("ignored: %+v, want %q", p.Ignored, tt.ignored)
			}
			for n, note := range p.Ignored {
				if got := note.Key.Short() + ": " + note.Reason; !strings.HasPrefix(got, tt.ignored[n]) {
					t.Errorf("ignored %q, want %q", got, tt.ignored[n])
				}
			}
		})
	}
}

func TestOutOfSyncOnly(t *testing.T) {
	i := input(object("v1 ConfigMap same"), object("v1 ConfigMap new"), object("batch/v1 Job j", hook("PreSync")))
	i.Options.OutOfSyncOnly = true
	same := object("v1 ConfigMap dest/same", uid("1"))
	i.Live = map[manifest.Key]Live{same.Key(): {Object: same, InSync: true}}
	p := Build(i)
	if diff := cmp.Diff([]string{"PreSync/0: Job/j", "Sync/0: ConfigMap/new"}, outline(p.Groups)); diff != "" {
		t.Errorf("hooks always run, in-sync objects do not (-want +got):\n%s", diff)
	}
	if len(p.InSync) != 1 || p.InSync[0].ID != "Sync/0/ConfigMap/dest/same" {
		t.Errorf("in sync: %+v, want the object that is left out", p.InSync)
	}
}

func TestCreateNamespace(t *testing.T) {
	labels := map[string]string{"team": "a"}
	existing := func(changes ...mutation) map[manifest.Key]Live {
		namespace := live(object("v1 Namespace dest", append(changes, uid("1"))...))
		return map[manifest.Key]Live{namespace.Key(): namespace}
	}
	inSync := func(found map[manifest.Key]Live) map[manifest.Key]Live {
		for key, l := range found {
			l.InSync = true
			found[key] = l
		}
		return found
	}
	pre := object("batch/v1 Job j", hook("PreSync"), wave(-3))
	tests := map[string]struct {
		reason  string
		objects []manifest.Object
		live    map[manifest.Key]Live
		options Options
		want    []string
		action  Action
	}{
		"Missing":       {"A missing namespace is made in PreSync.", []manifest.Object{object("v1 ConfigMap c")}, nil, Options{CreateNamespace: true}, []string{"PreSync/0: Namespace/dest", "Sync/0: ConfigMap/c"}, Create},
		"BeforeHooks":   {"It precedes the first hook.", []manifest.Object{pre}, nil, Options{CreateNamespace: true}, []string{"PreSync/-3: Namespace/dest Job/j"}, Create},
		"Off":           {"Only when it is asked for.", []manifest.Object{object("v1 ConfigMap c")}, nil, Options{}, []string{"Sync/0: ConfigMap/c"}, ""},
		"Exists":        {"An existing one needs nothing.", nil, existing(), Options{CreateNamespace: true}, nil, ""},
		"Metadata":      {"Managed metadata is brought up to date.", nil, existing(), Options{CreateNamespace: true, NamespaceLabels: labels}, []string{"PreSync/0: Namespace/dest"}, Update},
		"MetadataThere": {"One that was found in sync needs no change.", nil, inSync(existing()), Options{CreateNamespace: true, NamespaceLabels: labels}, []string{"PreSync/0: Namespace/dest"}, None},
		"HandedOver":    {"One that was the application's object loses its mark.", nil, existing(set("app:/Namespace:dest/dest", "metadata", "annotations", manifest.AnnotationTrackingID)), Options{CreateNamespace: true}, []string{"PreSync/0: Namespace/dest"}, Update},
		"SomebodyElse":  {"The mark of another application is not ours to remove.", nil, existing(set("other:/Namespace:x/dest", "metadata", "annotations", manifest.AnnotationTrackingID)), Options{CreateNamespace: true}, nil, ""},
		"Rendered":      {"The manifest rules.", []manifest.Object{object("v1 Namespace dest", wave(4))}, nil, Options{CreateNamespace: true}, []string{"Sync/4: Namespace/dest"}, ""},
		"Partial":       {"A partial operation needs the namespace too.", []manifest.Object{object("v1 ConfigMap c")}, nil, Options{CreateNamespace: true, Only: []manifest.Key{}}, []string{"PreSync/0: Namespace/dest"}, Create},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := input(tt.objects...)
			i.Live, i.Options = tt.live, tt.options
			p := Build(i)
			if diff := cmp.Diff(tt.want, outline(p.Groups)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if tt.action == "" {
				return
			}
			step := p.Groups[0].Steps[0]
			if step.Action != tt.action {
				t.Errorf("Action = %s, want %s: %s", step.Action, tt.action, tt.reason)
			}
			if _, tracked := step.Object.GetAnnotations()[manifest.AnnotationTrackingID]; tracked {
				t.Errorf("the created namespace is tracked: pruning would take it")
			}
			if diff := cmp.Diff(tt.options.NamespaceLabels, step.Object.GetLabels()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindings(t *testing.T) {
	data := func(value string) mutation { return set(value, "data", "k") }
	tests := map[string]struct {
		reason   string
		in       Input
		lastWins bool
		skip     bool
		want     []string
		mentions []string
	}{
		"Identical": {
			reason: "Equal copies are one object.",
			in:     input(object("v1 ConfigMap c", in("b.yaml", 3)), object("v1 ConfigMap dest/c", in("a.yaml", 1))),
			want:   []string{"info duplicate-identical"}, mentions: []string{"a.yaml:1 and b.yaml:3"},
		},
		"Conflict": {
			reason: "Different ones are refused, naming both files.",
			in:     input(object("v1 ConfigMap c", in("b.yaml", 3), data("x")), object("v1 ConfigMap c", in("a.yaml", 1))),
			want:   []string{"error duplicate-conflict"}, mentions: []string{"a.yaml:1 and b.yaml:3", "ConfigMap/c"},
		},
		"LastWins": {
			reason: "Unless the last is to win.",
			in:     input(object("v1 ConfigMap c", in("b.yaml", 3), data("x")), object("v1 ConfigMap c", in("a.yaml", 1))), lastWins: true,
			want: []string{"warning duplicate-conflict"}, mentions: []string{"Duplicates=last-wins"},
		},
		"HookBesideOrdinary": {
			reason: "A hook and an ordinary object of one name would take turns deleting each other.",
			in:     input(object("v1 ServiceAccount c", in("b.yaml", 3), hook("PreSync")), object("v1 ServiceAccount c", in("a.yaml", 1))),
			want:   []string{"error duplicate-conflict"},
		},
		"OnDeletionBesideOrdinary": {
			reason: "What runs on deletion does not meet the others.",
			in:     input(object("v1 ServiceAccount c", hook("PreDelete")), object("v1 ServiceAccount c")),
		},
		"TestBesideOrdinary": {
			reason: "An ignored object conflicts with nothing.",
			in:     input(object("v1 Pod c", helmHook("test")), object("v1 Pod c")),
		},
		"UnknownKind": {
			reason: "An unknown kind is named with its version and place.",
			in:     input(object("x.example/v1 Widget w", in("w.yaml", 7))),
			want:   []string{"error kind-unknown"}, mentions: []string{"Widget/w", "x.example/v1", "w.yaml:7"},
		},
		"UnknownHook": {
			reason: "Hooks count too.",
			in:     input(object("x.example/v1 Widget w", hook("PreSync"))),
			want:   []string{"error kind-unknown"},
		},
		"DefinedHere": {
			reason: "A definition in the same set makes the kind known.",
			in:     input(object("x.example/v1 Widget w"), object("apiextensions.k8s.io/v1 CustomResourceDefinition c", defines("x.example", "Widget"))),
		},
		"DefinedBySkipped": {
			reason: "A definition that is not applied defines nothing.",
			in:     input(object("x.example/v1 Widget w"), object("apiextensions.k8s.io/v1 CustomResourceDefinition c", defines("x.example", "Widget"), hook("Skip"))),
			want:   []string{"error kind-unknown"},
		},
		"UnknownAllowed": {
			reason: "The object may say that something else registers its kind.",
			in:     input(object("x.example/v1 Widget w", options("SkipDryRunOnMissingResource=true"))),
			want:   []string{"info kind-not-known-yet"},
		},
		"UnknownAllowedByApp": {
			reason: "So may the application.",
			in:     input(object("x.example/v1 Widget w")), skip: true,
			want: []string{"info kind-not-known-yet"},
		},
		"NoName": {
			reason: "An ordinary object needs a name.",
			in:     input(object("v1 ConfigMap", generateName("x-"), in("a.yaml", 2))),
			want:   []string{"error name-missing"}, mentions: []string{"a.yaml:2", "generateName"},
		},
		"HookWithoutAnyName": {
			reason: "A hook needs a name or generateName.",
			in:     input(object("batch/v1 Job", hook("Sync"))),
			want:   []string{"error name-missing"},
		},
		"NoNamespace": {
			reason: "A namespaced object needs a namespace from somewhere.",
			in:     func() Input { i := input(object("v1 ConfigMap c")); i.Namespace = ""; return i }(),
			want:   []string{"error namespace-missing"}, mentions: []string{"ConfigMap/c"},
		},
		"NumberAsWave": {
			reason: "A wave without quotes is a number to YAML and refused by the API server.",
			in:     input(object("v1 ConfigMap c", set(int64(5), "metadata", "annotations", manifest.AnnotationSyncWave), in("a.yaml", 2))),
			want:   []string{"error invalid-metadata"}, mentions: []string{"a.yaml:2", manifest.AnnotationSyncWave},
		},
		"PartialLooksAtItsOwn": {
			reason: "A partial operation is not stopped by what it leaves out.",
			in: func() Input {
				i := input(object("x.example/v1 Widget w"), object("v1 ConfigMap c"))
				i.Options.Only = []manifest.Key{{Kind: "ConfigMap", Name: "c"}}
				return i
			}(),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.in.Options.LastWins, tt.in.Options.SkipMissingKinds = tt.lastWins, tt.skip
			p := Build(tt.in)
			if diff := cmp.Diff(tt.want, codes(p.Findings)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s\n%+v", tt.reason, diff, p.Findings)
			}
			for _, want := range tt.mentions {
				if got := p.Findings[0].Message; !strings.Contains(got, want) {
					t.Errorf("message %q does not mention %q", got, want)
				}
			}
			if len(p.Findings) > 0 && strings.HasPrefix(tt.want[0], "error") && p.Findings[0].Hint == "" {
				t.Errorf("%s has no hint", p.Findings[0].Code)
			}
		})
	}
}

func TestLastWinsByPlaceOfWriting(t *testing.T) {
	first := object("v1 ConfigMap c", in("a.yaml", 1), set("first", "data", "k"))
	last := object("v1 ConfigMap c", in("b.yaml", 1), set("last", "data", "k"))
	later := object("v1 ConfigMap c", in("a.yaml", 1), set("source 2", "data", "k"))
	later.Provenance.Source = 1
	for want, objects := range map[string][]manifest.Object{
		"last":     {last, first},
		"source 2": {later, last, first},
	} {
		i := input(objects...)
		i.Options.LastWins = true
		step := findStep(t, Build(i), "Sync/0/ConfigMap/dest/c")
		if got := step.Object.Object["data"].(map[string]any)["k"]; got != want {
			t.Errorf("got the object of %q, want %q", got, want)
		}
	}
}

func TestOffline(t *testing.T) {
	i := input(object("x.example/v1 Widget w"), object("y.example/v1 Gadget g"), object("rbac.authorization.k8s.io/v1 ClusterRole r"),
		object("apiextensions.k8s.io/v1 CustomResourceDefinition c", defines("y.example", "Gadget"), set("Cluster", "spec", "scope")))
	i.Scope = nil
	p := Build(i)
	if len(p.Findings) > 0 {
		t.Errorf("without a cluster no kind is unknown: %+v", p.Findings)
	}
	for _, id := range []string{"Sync/0/x.example/Widget/dest/w", "Sync/0/y.example/Gadget/g", "Sync/0/rbac.authorization.k8s.io/ClusterRole/r"} {
		findStep(t, p, id)
	}
}

func TestIDs(t *testing.T) {
	i := input(object("batch/v1 Job", hook("Sync"), generateName("a-")), object("batch/v1 Job", hook("Sync"), generateName("a-"), set("x", "spec", "y")))
	p := Build(i)
	findStep(t, p, "Sync/0/batch/Job/dest/a-*")
	findStep(t, p, "Sync/0/batch/Job/dest/a-*#2")
}

func TestPlanID(t *testing.T) {
	base := func() Input {
		i := input(object("v1 ConfigMap c"), object("batch/v1 Job j", hook("PreSync")))
		existing := object("v1 ConfigMap dest/c", uid("1"))
		existing.SetResourceVersion("5")
		i.Live = map[manifest.Key]Live{existing.Key(): {Object: existing}}
		return i
	}
	key := manifest.Key{Kind: "ConfigMap", Namespace: "dest", Name: "c"}
	id := Build(base()).ID
	tests := map[string]struct {
		change func(*Input)
		same   bool
	}{
		"Nothing":         {func(*Input) {}, true},
		"ResourceVersion": {func(i *Input) { i.Live[key].SetResourceVersion("6") }, true},
		"Server":          {func(i *Input) { i.Server = "https://other" }, false},
		"Namespace":       {func(i *Input) { i.Namespace = "other" }, false},
		"Revision":        {func(i *Input) { i.Revisions = []string{"def"} }, false},
		"Gone":            {func(i *Input) { delete(i.Live, key) }, false},
		"Replaced":        {func(i *Input) { i.Live[key] = live(object("v1 ConfigMap dest/c", uid("2"))) }, false},
		"InSync":          {func(i *Input) { i.Live[key] = Live{Object: i.Live[key].Object, InSync: true} }, false},
		"HookContent":     {func(i *Input) { i.Objects[1] = object("batch/v1 Job j", hook("PreSync"), uses("s.k")) }, false},
		"Prune":           {func(i *Input) { i.Prune = []Live{live(object("v1 Secret dest/s", uid("3")))} }, false},
		"NamespaceLabels": {func(i *Input) {
			i.Options = Options{CreateNamespace: true, NamespaceLabels: map[string]string{"a": "b"}}
		}, false},
	}
	seen := map[string]string{id: "base"}
	for name, tt := range tests {
		i := base()
		tt.change(&i)
		got := Build(i).ID
		if (got == id) != tt.same {
			t.Errorf("%s: same id = %v, want %v", name, got == id, tt.same)
		}
		if other, ok := seen[got]; ok && !tt.same {
			t.Errorf("%s and %s have one id", name, other)
		}
		seen[got] = name
	}
	other := base()
	other.Options = Options{CreateNamespace: true, NamespaceLabels: map[string]string{"a": "c"}}
	if _, ok := seen[Build(other).ID]; ok {
		t.Errorf("another label of the managed namespace does not change the id")
	}
}

func TestPlanSurvivesJSON(t *testing.T) {
	i := input(
		object("v1 Namespace n", wave(3)), object("v1 ConfigMap n/c"), object("v1 ConfigMap c"), object("v1 ConfigMap c"), object("v1 Pod t", helmHook("test"), in("t.yaml", 1)),
		object("batch/v1 Job d", hook("PostDelete")), object("x.example/v1 Widget w"),
		object("external-secrets.io/v1 ExternalSecret e", fetches("vault", "s", "k")), object("apps/v1 Deployment d", uses("s.k")),
	)
	i.Prune = []Live{live(object("v1 Secret dest/s", uid("3"), options("Prune=confirm")))}
	i.Options.Prune = true
	p := Build(i)
	var got Plan
	if err := json.Unmarshal([]byte(encode(t, p)), &got); err != nil {
		t.Fatalf("decode: %v", err)
	}
	if diff := cmp.Diff(*p, got, cmpopts.IgnoreFields(Step{}, "Object")); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	if len(p.OnDeletion) == 0 || len(p.Ignored) == 0 || len(p.Moved) == 0 || len(p.Findings) == 0 {
		t.Errorf("the plan of this test should have everything: %s", encode(t, p))
	}
}

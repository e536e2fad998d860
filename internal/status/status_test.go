// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

func object(t interface{ Fatalf(string, ...any) }, text string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("parse test object: %v", err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatalf("parse test object: %v", err)
	}
	return u
}

// app is an application under test: rendered objects, live ones, and the verdicts
// of comparison and health by name.
type app struct {
	rendered, live, superfluous []string
	inSync                      []string
	health                      map[string]health.Result
	options                     plan.Options
	policy                      manifest.OptionSet
}

func (a app) observe(t interface{ Fatalf(string, ...any) }) State {
	in := plan.Input{App: "app", Namespace: "dest", Options: a.options, Live: map[manifest.Key]plan.Live{}}
	in.Scope = func(gk schema.GroupKind) (bool, bool) { return gk.Kind != "Namespace", true }
	for _, text := range a.rendered {
		in.Objects = append(in.Objects, manifest.Object{Unstructured: object(t, text)})
	}
	o := Observation{
		Live: map[manifest.Key]*unstructured.Unstructured{}, Options: a.policy,
		Self:   manifest.Key{Group: "argoproj.io", Kind: "Application", Namespace: "dest", Name: "self"},
		Health: func(u *unstructured.Unstructured) health.Result { return a.health[u.GetName()] },
	}
	for _, text := range a.live {
		u := object(t, text)
		if u.GetKind() != "Namespace" {
			u.SetNamespace("dest")
		}
		key := manifest.KeyOf(u)
		o.Live[key] = u
		synced := false
		for _, name := range a.inSync {
			synced = synced || name == u.GetName()
		}
		in.Live[key] = plan.Live{Object: manifest.Object{Unstructured: u}, InSync: synced}
	}
	for _, text := range a.superfluous {
		u := object(t, text)
		u.SetNamespace("dest")
		in.Prune = append(in.Prune, plan.Live{Object: manifest.Object{Unstructured: u}})
		o.Superfluous = append(o.Superfluous, inventory.Candidate{Object: u, Key: manifest.KeyOf(u)})
	}
	o.Plan = plan.Build(in)
	return Observe(o)
}

func TestResources(t *testing.T) {
	const same, changed, missing = `{apiVersion: v1, kind: ConfigMap, metadata: {name: same}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: changed}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: missing}}`
	const hook = `{apiVersion: batch/v1, kind: Job, metadata: {name: hook, annotations: {argocd.argoproj.io/hook: "PreSync,PostSync"}}}`
	tests := map[string]struct {
		reason string
		app    app
		rows   []v1alpha1.ResourceStatus
		sync   v1alpha1.SyncStatusCode
	}{
		"Empty": {reason: "No resources and no error is Synced.", sync: v1alpha1.SyncStatusSynced, rows: []v1alpha1.ResourceStatus{}},
		"Synced": {
			reason: "An object without a difference is Synced.",
			app:    app{rendered: []string{same}, live: []string{same}, inSync: []string{"same"}},
			rows:   []v1alpha1.ResourceStatus{{Version: "v1", Kind: "ConfigMap", Namespace: "dest", Name: "same", Status: "Synced"}},
			sync:   v1alpha1.SyncStatusSynced,
		},
		"Differences": {
			reason: "Missing and different objects are OutOfSync, rows are ordered.",
			app:    app{rendered: []string{same, missing, changed}, live: []string{same, changed}, inSync: []string{"same"}},
			rows: []v1alpha1.ResourceStatus{
				{Version: "v1", Kind: "ConfigMap", Namespace: "dest", Name: "changed", Status: "OutOfSync"},
				{Version: "v1", Kind: "ConfigMap", Namespace: "dest", Name: "missing", Status: "OutOfSync"},
				{Version: "v1", Kind: "ConfigMap", Namespace: "dest", Name: "same", Status: "Synced"},
			},
			sync: v1alpha1.SyncStatusOutOfSync,
		},
		"OutOfSyncOnly": {
			reason: "What a sync would leave out has its row all the same.",
			app:    app{rendered: []string{same}, live: []string{same}, inSync: []string{"same"}, options: plan.Options{OutOfSyncOnly: true}},
			rows:   []v1alpha1.ResourceStatus{{Version: "v1", Kind: "ConfigMap", Namespace: "dest", Name: "same", Status: "Synced"}},
			sync:   v1alpha1.SyncStatusSynced,
		},
		"Hooks": {
			reason: "A live hook has one row without status and counts for nothing; one that is not there has none.",
			app:    app{rendered: []string{hook, `{apiVersion: batch/v1, kind: Job, metadata: {name: gone, annotations: {argocd.argoproj.io/hook: Sync}}}`}, live: []string{hook}},
			rows:   []v1alpha1.ResourceStatus{{Group: "batch", Version: "v1", Kind: "Job", Namespace: "dest", Name: "hook", Hook: true, RequiresPruning: true}},
			sync:   v1alpha1.SyncStatusSynced,
		},
		"Superfluous": {
			reason: "What is no longer rendered is OutOfSync and requires pruning.",
			app:    app{superfluous: []string{`{apiVersion: v1, kind: Secret, metadata: {name: old, annotations: {argocd.argoproj.io/sync-wave: "-3"}}}`}},
			rows:   []v1alpha1.ResourceStatus{{Version: "v1", Kind: "Secret", Namespace: "dest", Name: "old", Status: "OutOfSync", RequiresPruning: true, SyncWave: -3}},
			sync:   v1alpha1.SyncStatusOutOfSync,
		},
		"IgnoreExtraneous": {
			reason: "Unless it asks to be overlooked: the row stays, the application is Synced.",
			app:    app{superfluous: []string{`{apiVersion: v1, kind: Secret, metadata: {name: old, annotations: {argocd.argoproj.io/compare-options: IgnoreExtraneous}}}`}},
			rows:   []v1alpha1.ResourceStatus{{Version: "v1", Kind: "Secret", Namespace: "dest", Name: "old", Status: "OutOfSync", RequiresPruning: true}},
			sync:   v1alpha1.SyncStatusSynced,
		},
		"WaveAsWritten": {
			reason: "The wave is the object's own, not where the plan moved it.",
			app: app{rendered: []string{
				`{apiVersion: v1, kind: Namespace, metadata: {name: other, annotations: {argocd.argoproj.io/sync-wave: "5"}}}`,
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: other}}`,
			}},
			rows: []v1alpha1.ResourceStatus{
				{Version: "v1", Kind: "ConfigMap", Namespace: "other", Name: "c", Status: "OutOfSync"},
				{Version: "v1", Kind: "Namespace", Name: "other", Status: "OutOfSync", SyncWave: 5},
			},
			sync: v1alpha1.SyncStatusOutOfSync,
		},
		"Confirm": {
			reason: "A confirmation is asked for by the object or the application.",
			app:    app{rendered: []string{same}, live: []string{same}, inSync: []string{"same"}, policy: manifest.OptionSet{"Delete=confirm"}},
			rows:   []v1alpha1.ResourceStatus{{Version: "v1", Kind: "ConfigMap", Namespace: "dest", Name: "same", Status: "Synced", RequiresDeletionConfirmation: true}},
			sync:   v1alpha1.SyncStatusSynced,
		},
		"CreatedNamespace": {
			reason: "The namespace that nobody renders has no row.",
			app:    app{options: plan.Options{CreateNamespace: true}},
			rows:   []v1alpha1.ResourceStatus{}, sync: v1alpha1.SyncStatusSynced,
		},
		"NamespaceMetadata": {
			reason: "Managed metadata that is not there is a difference.",
			app: app{
				live:    []string{`{apiVersion: v1, kind: Namespace, metadata: {name: dest}}`},
				options: plan.Options{CreateNamespace: true, NamespaceLabels: map[string]string{"a": "b"}},
			},
			rows: []v1alpha1.ResourceStatus{}, sync: v1alpha1.SyncStatusOutOfSync,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := tt.app.observe(t)
			if diff := cmp.Diff(tt.rows, s.Resources()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if got := s.Sync(); got != tt.sync {
				t.Errorf("Sync() = %s, want %s: %s", got, tt.sync, tt.reason)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	rows := []v1alpha1.ResourceStatus{{Name: "a", Status: "Synced"}, {Name: "h", Hook: true}}
	want := []v1alpha1.ResourceStatus{{Name: "a", Status: "Unknown"}, {Name: "h", Hook: true}}
	if diff := cmp.Diff(want, Unknown(rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if rows[0].Status != "Synced" {
		t.Errorf("Unknown changed its argument")
	}
}

func TestHealth(t *testing.T) {
	deploy := func(name, annotations string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, annotations: {%s}}}`, name, annotations)
	}
	child := func(name string) string {
		return fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: %s}}`, name)
	}
	verdict := func(s health.Status, message string) health.Result {
		return health.Result{Status: s, Message: message, Known: true}
	}
	a, b := deploy("a", ""), deploy("b", "")
	tests := map[string]struct {
		reason  string
		app     app
		want    v1alpha1.HealthStatusCode
		message string
	}{
		"Empty":         {reason: "Nothing is wrong with nothing.", want: "Healthy"},
		"Worst":         {"The worst object counts.", app{rendered: []string{a, b}, live: []string{a, b}, health: map[string]health.Result{"a": verdict(health.Healthy, ""), "b": verdict(health.Degraded, "crashes")}}, "Degraded", "Caused by apps/Deployment:dest/b: crashes"},
		"OneMissing":    {"An object that is not there yet makes nothing worse.", app{rendered: []string{a, b}, live: []string{a}, health: map[string]health.Result{"a": verdict(health.Healthy, "")}}, "Healthy", ""},
		"AllMissing":    {"Unless none is there.", app{rendered: []string{a, b}}, "Missing", ""},
		"OnlyOldLeft":   {"What is no longer rendered does not stand for what is.", app{rendered: []string{a}, superfluous: []string{b}, health: map[string]health.Result{"b": verdict(health.Healthy, "")}}, "Missing", ""},
		"NothingKnown":  {"A kind without rule is ignored.", app{rendered: []string{a, b}, live: []string{a, b}, health: map[string]health.Result{"a": verdict(health.Progressing, "1 of 2"), "b": {}}}, "Progressing", "Caused by apps/Deployment:dest/a: 1 of 2"},
		"ByDesign":      {"What waits by design is ignored.", app{rendered: []string{a}, live: []string{a}, health: map[string]health.Result{"a": {Status: health.Progressing, Known: true, ByDesign: true}}}, "Healthy", ""},
		"Ignored":       {"An object may ask to be overlooked.", app{rendered: []string{a}, live: []string{deploy("a", `argocd.argoproj.io/ignore-healthcheck: "true"`)}, health: map[string]health.Result{"a": verdict(health.Degraded, "")}}, "Healthy", ""},
		"Superfluous":   {"A candidate for pruning counts like any other.", app{superfluous: []string{a}, health: map[string]health.Result{"a": verdict(health.Degraded, "")}}, "Degraded", "Caused by apps/Deployment:dest/a"},
		"Hook":          {"A live hook does not count.", app{rendered: []string{deploy("a", "argocd.argoproj.io/hook: Sync")}, live: []string{a}, health: map[string]health.Result{"a": verdict(health.Degraded, "")}}, "Healthy", ""},
		"Self":          {"The Application is no part of its own health.", app{rendered: []string{child("self")}, live: []string{child("self")}, health: map[string]health.Result{"self": verdict(health.Degraded, "")}}, "Healthy", ""},
		"ChildUnknown":  {"A child that is unknown is ignored.", app{rendered: []string{child("c"), child("d")}, live: []string{child("c"), child("d")}, health: map[string]health.Result{"c": verdict(health.Unknown, ""), "d": verdict(health.Missing, "")}}, "Healthy", ""},
		"ChildDegraded": {"A child that is degraded counts.", app{rendered: []string{child("c")}, live: []string{child("c")}, health: map[string]health.Result{"c": verdict(health.Degraded, "broken")}}, "Degraded", "Caused by argoproj.io/Application:dest/c: broken"},
		"Many": {
			"At most three are named.",
			app{
				rendered: []string{deploy("e", ""), deploy("d", ""), deploy("c", ""), b, a}, live: []string{deploy("e", ""), deploy("d", ""), deploy("c", ""), b, a},
				health: map[string]health.Result{"a": verdict(health.Degraded, "first"), "b": verdict(health.Degraded, ""), "c": verdict(health.Degraded, ""), "d": verdict(health.Degraded, ""), "e": verdict(health.Degraded, "")},
			},
			"Degraded", "Caused by apps/Deployment:dest/a, apps/Deployment:dest/b, apps/Deployment:dest/c and 2 more: first",
		},
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.app.observe(t).Health(v1alpha1.AppHealthStatus{}, now)
			if got.Status != tt.want || got.Message != tt.message {
				t.Errorf("%s\ngot  %s %q\nwant %s %q", tt.reason, got.Status, got.Message, tt.want, tt.message)
			}
			later := tt.app.observe(t).Health(got, now.Add(time.Hour))
			if !later.LastTransitionTime.Equal(got.LastTransitionTime) || got.LastTransitionTime == nil {
				t.Errorf("the time of an unchanged status moved from %v to %v", got.LastTransitionTime, later.LastTransitionTime)
			}
			changed := UnknownHealth(got, "no cluster", now.Add(time.Hour))
			if changed.Status != v1alpha1.HealthUnknown || changed.LastTransitionTime.Time != now.Add(time.Hour) {
				t.Errorf("UnknownHealth = %+v, want Unknown since the change", changed)
			}
		})
	}
}

// The application is never healthier than an object that counts.
func TestHealthIsTheWorst(t *testing.T) {
	statuses := []health.Status{health.Healthy, health.Suspended, health.Progressing, health.Degraded, health.Unknown}
	rapid.Check(t, func(t *rapid.T) {
		a := app{health: map[string]health.Result{}}
		drawn := rapid.SliceOfN(rapid.SampledFrom(statuses), 1, 6).Draw(t, "statuses")
		for i, s := range drawn {
			text := fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d%d}}`, i)
			a.rendered, a.live = append(a.rendered, text), append(a.live, text)
			a.health[fmt.Sprintf("d%d", i)] = health.Result{Status: s, Known: true}
		}
		got := a.observe(t).Health(v1alpha1.AppHealthStatus{}, time.Time{})
		if want := v1alpha1.HealthStatusCode(health.Worst(drawn...)); got.Status != want {
			t.Fatalf("health of %v is %s, want %s", drawn, got.Status, want)
		}
	})
}

func TestSummary(t *testing.T) {
	live := []string{
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {link.argocd.argoproj.io/docs: "Docs|https://docs.example.com", link.argocd.argoproj.io/bad: "javascript:alert(1)"}}, spec: {template: {spec: {initContainers: [{image: "init:1"}], containers: [{image: "web:2"}, {image: "web:2"}]}}}}`,
		`{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: "cron:1"}]}}}}}}`,
		`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: child}}`,
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: {tls: [{hosts: [safe.example.com]}], rules: [{host: safe.example.com, http: {paths: [{path: /}, {path: /api/*}]}}, {host: open.example.com}, {host: "*.example.com"}, {http: {paths: [{path: /x}]}}]}, status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}`,
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: quiet, annotations: {argocd.argoproj.io/ignore-default-links: "true"}}, spec: {rules: [{host: hidden.example.com}]}}`,
	}
	want := v1alpha1.ApplicationSummary{
		Images: []string{"cron:1", "init:1", "web:2"},
		ExternalURLs: []string{
			"http://10.0.0.1/x", "http://open.example.com", "https://docs.example.com",
			"https://safe.example.com", "https://safe.example.com/api/",
		},
		IsAppOfApps: true,
	}
	if diff := cmp.Diff(want, app{rendered: live, live: live}.observe(t).Summary()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(v1alpha1.ApplicationSummary{}, app{rendered: live[:1]}.observe(t).Summary()); diff != "" {
		t.Errorf("what does not run has no images (-want +got):\n%s", diff)
	}
}

func TestHistory(t *testing.T) {
	at := func(h int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 1, h, 0, 0, 0, time.UTC)) }
	finished := at(2)
	state := &v1alpha1.OperationState{
		Operation: v1alpha1.Operation{InitiatedBy: v1alpha1.OperationInitiator{Username: "ann"}}, StartedAt: at(1), FinishedAt: &finished,
		SyncResult: &v1alpha1.SyncOperationResult{Revision: "abc", Source: v1alpha1.ApplicationSource{RepoURL: "r"}},
	}
	started := at(1)
	first := v1alpha1.RevisionHistory{
		Revision: "abc", Source: v1alpha1.ApplicationSource{RepoURL: "r"}, DeployStartedAt: &started, DeployedAt: finished,
		InitiatedBy: v1alpha1.OperationInitiator{Username: "ann"},
	}
	if diff := cmp.Diff([]v1alpha1.RevisionHistory{first}, AddHistory(nil, state, 10)); diff != "" {
		t.Errorf("first entry (-want +got):\n%s", diff)
	}
	if got := AddHistory(nil, state, 0); len(got) != 0 {
		t.Errorf("a limit of 0 keeps %d entries", len(got))
	}
	var history []v1alpha1.RevisionHistory
	for range 13 {
		history = AddHistory(history, state, 10)
	}
	if len(history) != 10 || history[0].ID != 3 || history[9].ID != 12 {
		t.Errorf("13 syncs with a limit of 10 leave %d entries from %d to %d", len(history), history[0].ID, history[len(history)-1].ID)
	}
}

func TestConditions(t *testing.T) {
	old, now := metav1.NewTime(time.Unix(100, 0)), time.Unix(200, 0)
	condition := func(kind v1alpha1.ConditionType, message string, at metav1.Time) v1alpha1.ApplicationCondition {
		return v1alpha1.ApplicationCondition{Type: kind, Message: message, LastTransitionTime: &at}
	}
	before := []v1alpha1.ApplicationCondition{
		condition(v1alpha1.ConditionSyncError, "failed", old),
		condition(v1alpha1.ConditionComparisonError, "stays", old),
		condition(v1alpha1.ConditionComparisonError, "goes", old),
	}
	found := []v1alpha1.ApplicationCondition{
		{Type: v1alpha1.ConditionRepeatedResourceWarning, Message: "new"},
		{Type: v1alpha1.ConditionComparisonError, Message: "stays"},
		{Type: v1alpha1.ConditionComparisonError, Message: "stays"},
		{Type: v1alpha1.ConditionDeletionError, Message: "not evaluated"},
	}
	want := []v1alpha1.ApplicationCondition{
		condition(v1alpha1.ConditionComparisonError, "stays", old),
		condition(v1alpha1.ConditionRepeatedResourceWarning, "new", metav1.NewTime(now)),
		condition(v1alpha1.ConditionSyncError, "failed", old),
	}
	if diff := cmp.Diff(want, Conditions(before, Evaluated(), found, now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPlanConditions(t *testing.T) {
	a := app{rendered: []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "1"}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "2"}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {generateName: c}}`,
	}}
	in := plan.Input{Namespace: ""}
	for _, text := range a.rendered {
		in.Objects = append(in.Objects, manifest.Object{Unstructured: object(t, text)})
	}
	var got []v1alpha1.ConditionType
	for _, c := range PlanConditions(plan.Build(in)) {
		got = append(got, c.Type)
	}
	want := []v1alpha1.ConditionType{
		v1alpha1.ConditionInvalidSpecError, v1alpha1.ConditionRepeatedResourceWarning,
		v1alpha1.ConditionInvalidSpecError, v1alpha1.ConditionInvalidSpecError,
	}
	less := func(list []v1alpha1.ConditionType) map[v1alpha1.ConditionType]int {
		count := map[v1alpha1.ConditionType]int{}
		for _, c := range list {
			count[c]++
		}
		return count
	}
	if diff := cmp.Diff(less(want), less(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

func TestWithHookFinalizers(t *testing.T) {
	const foreign = "example.test/other"
	pre, post := hookFinalizers(manifest.PreDelete), hookFinalizers(manifest.PostDelete)
	for name, c := range map[string]struct {
		reason string
		before []string
		phases []manifest.Phase
		want   []string
	}{
		"none":     {"an application without delete hooks is not held", []string{foreign}, nil, []string{foreign}},
		"added":    {"each phase has its own two, behind those of others", []string{foreign}, []manifest.Phase{manifest.PreDelete, manifest.PostDelete}, []string{foreign, pre[0], pre[1], post[0], post[1]}},
		"kept":     {"what is there already stays where it is", []string{post[1], post[0], foreign}, []manifest.Phase{manifest.PostDelete}, []string{post[1], post[0], foreign}},
		"removed":  {"a phase that lost its hooks loses its finalizers", []string{pre[0], foreign, pre[1], post[0], post[1]}, []manifest.Phase{manifest.PostDelete}, []string{foreign, post[0], post[1]}},
		"repaired": {"one that is missing is added", []string{pre[0]}, []manifest.Phase{manifest.PreDelete}, pre},
	} {
		t.Run(name, func(t *testing.T) {
			var groups []plan.Group
			for _, phase := range c.phases {
				groups = append(groups, plan.Group{Phase: phase})
			}
			before := strings.Join(c.before, " ")
			if diff := cmp.Diff(c.want, withHookFinalizers(c.before, groups)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if strings.Join(c.before, " ") != before {
				t.Error("the argument was changed")
			}
		})
	}
}

// liveConfigMap is an object with annotations given in pairs.
func liveConfigMap(name string, annotations ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetNamespace("shop")
	u.SetName(name)
	u.SetUID(types.UID(name))
	set := map[string]string{}
	for i := 0; i < len(annotations); i += 2 {
		set[annotations[i]] = annotations[i+1]
	}
	u.SetAnnotations(set)
	return u
}

func TestStays(t *testing.T) {
	options := func(text string) *unstructured.Unstructured {
		return liveConfigMap("a", manifest.AnnotationSyncOptions, text)
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets.example.test"},
		"spec": map[string]any{"group": "example.test", "names": map[string]any{"kind": "Gadget"}, "scope": "Namespaced"},
	}}
	for name, c := range map[string]struct {
		reason string
		obj    *unstructured.Unstructured
		app    []string
		want   bool
	}{
		"ordinary":     {"what the application manages goes with it", liveConfigMap("a"), nil, false},
		"definition":   {"other people's objects may need a definition", definition, nil, true},
		"itself":       {"an application that manages itself does not wait for itself", liveConfigMap("self"), nil, true},
		"keep":         {"Helm's keep protects", liveConfigMap("a", manifest.AnnotationHelmResourcePolicy, "keep"), nil, true},
		"delete=false": {"so does Delete=false", options("Prune=true,Delete=false"), nil, true},
		"app":          {"on the application it protects everything", liveConfigMap("a"), []string{"Delete=false"}, true},
		"object wins":  {"but the object has the last word", options("Delete=true"), []string{"Delete=false"}, false},
		"confirm wins": {"also when it asks for a confirmation only", options("Delete=confirm"), []string{"Delete=false"}, false},
		"false wins":   {"and when it is stricter", options("Delete=false"), []string{"Delete=confirm"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{UID: "self"}}
			app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{SyncOptions: c.app}
			if got := stays(app, c.obj); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func TestConfirmation(t *testing.T) {
	asked := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	confirm := liveConfigMap("data", manifest.AnnotationSyncOptions, "Delete=confirm")
	prune := liveConfigMap("pruned", manifest.AnnotationSyncOptions, "Prune=confirm")
	plain := liveConfigMap("plain")
	for name, c := range map[string]struct {
		reason   string
		left     []*unstructured.Unstructured
		app      []string
		approved string
		want     string
	}{
		"nobody asks":  {"without the option nothing is asked", []*unstructured.Unstructured{plain}, nil, "", ""},
		"object":       {"one object is enough to hold all", []*unstructured.Unstructured{plain, confirm}, nil, "", "ConfigMap/data"},
		"prune":        {"Prune=confirm counts here, too", []*unstructured.Unstructured{prune}, nil, "", "ConfigMap/pruned"},
		"app":          {"the application may ask for all of them", []*unstructured.Unstructured{plain}, []string{"Delete=confirm"}, "", "ConfigMap/plain"},
		"object wins":  {"an object may be let go without", []*unstructured.Unstructured{liveConfigMap("free", manifest.AnnotationSyncOptions, "Delete=true")}, []string{"Delete=confirm"}, "", ""},
		"approved":     {"an approval in the second of the deletion counts", []*unstructured.Unstructured{confirm}, nil, "2030-01-02T03:04:05Z", ""},
		"other zone":   {"whatever its time zone", []*unstructured.Unstructured{confirm}, nil, "2030-01-02T05:04:06+02:00", ""},
		"old approval": {"an approval of an earlier deletion does not", []*unstructured.Unstructured{confirm}, nil, "2030-01-02T03:04:04Z", "ConfigMap/data"},
		"no time":      {"neither does one that is no time", []*unstructured.Unstructured{confirm}, nil, "yes", "ConfigMap/data"},
	} {
		t.Run(name, func(t *testing.T) {
			app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{
				DeletionTimestamp: &metav1.Time{Time: asked}, Annotations: map[string]string{v1alpha1.AnnotationDeletionApproved: c.approved},
			}}
			app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{SyncOptions: c.app}
			got := confirmation(app, c.left)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s: got %q", c.reason, got)
			}
			if got != "" && !strings.Contains(got, "2030-01-02T03:04:05Z") {
				t.Errorf("it does not say which time is meant: %q", got)
			}
		})
	}
}

func TestRemainingNamesHolders(t *testing.T) {
	dying := liveConfigMap("dying")
	dying.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(0, 0)})
	dying.SetFinalizers([]string{metav1.FinalizerDeleteDependents, "example.test/a", "example.test/b"})
	objects := []*unstructured.Unstructured{dying}
	for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
		objects = append(objects, liveConfigMap(name))
	}
	want := "ConfigMap/dying (held by finalizer example.test/a, example.test/b), ConfigMap/b, ConfigMap/c, ConfigMap/d, ConfigMap/e and 2 more"
	if got := remaining(objects); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestPlanOfPhase(t *testing.T) {
	hook := func(name string, phase manifest.Phase) plan.Group {
		key := manifest.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}
		return plan.Group{Phase: phase, Steps: []plan.Step{{Key: key, Action: plan.Hook, Object: &manifest.Object{Unstructured: liveConfigMap(name)}}}}
	}
	finding := func(name string) diag.Diagnostic {
		return diag.Diagnostic{Severity: diag.Error, Subject: manifest.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}}
	}
	whole := &plan.Plan{
		App: "shop", Revisions: []string{"abc"}, RenderDigest: "whole", Groups: []plan.Group{hook("sync", manifest.Sync)},
		OnDeletion: []plan.Group{hook("before", manifest.PreDelete), hook("after", manifest.PostDelete)},
		Findings:   []diag.Diagnostic{finding("sync"), finding("before")},
	}
	pre := planOfPhase(whole, manifest.PreDelete)
	if len(pre.Groups) != 1 || pre.Groups[0].Steps[0].Key.Name != "before" {
		t.Errorf("groups = %+v, want the PreDelete hook alone", pre.Groups)
	}
	if diff := cmp.Diff([]diag.Diagnostic{finding("before")}, pre.Findings); diff != "" {
		t.Errorf("a finding about another object counts, or its own does not (-want +got):\n%s", diff)
	}
	whole.Revisions, whole.RenderDigest = []string{"def"}, "other"
	if again := planOfPhase(whole, manifest.PreDelete); again.RenderDigest != pre.RenderDigest || !machine.NewRecord("x", 1, pre, time.Time{}).Resumable(again) {
		t.Error("a commit that leaves the hook alone disturbs it")
	}
	whole.OnDeletion[0].Steps[0].Object.SetLabels(map[string]string{"changed": "yes"})
	if again := planOfPhase(whole, manifest.PreDelete); again.RenderDigest == pre.RenderDigest {
		t.Error("a changed hook is not noticed")
	}
}

func TestFailedHooksAreNamed(t *testing.T) {
	due := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	rec := &machine.Record{Attempt: 1, Outcome: &machine.Outcome{Message: "the dry run failed"}, Steps: map[string]*machine.StepRecord{
		"b": {State: machine.Failed, Key: manifest.Key{Kind: "Job", Name: "b"}, Message: "no luck"},
		"a": {State: machine.Succeeded, Key: manifest.Key{Kind: "Job", Name: "a"}},
	}}
	const next = "attempt 2 follows at 2030-01-02T03:04:05Z, or as soon as the manifest changes or the hook is removed"
	if got, want := failedHooks(rec, manifest.PreDelete, due), "PreDelete hook failed: Job/b: no luck; nothing was deleted; "+next; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	delete(rec.Steps, "b")
	if got, want := failedHooks(rec, manifest.PostDelete, due), "PostDelete hooks failed: the dry run failed; "+next; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

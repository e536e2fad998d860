// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// While one object after the other is edited, each is healed once, and the Application
// is written once in five seconds at most.
func TestWhileManyObjectsAreHealedTheApplicationIsWrittenSeldom(t *testing.T) {
	t.Parallel()
	const objects, fields = 8, 8
	log := filepath.Join(t.TempDir(), "audit.log")
	w := audited{world: newWorld(t, sandboxtest.Options{AuditLog: log, Own: true}), log: log}
	files := map[string]string{}
	for i := range objects {
		var data strings.Builder
		for n := range fields {
			fmt.Fprintf(&data, "k%d: 'as in Git', ", n)
		}
		files[fmt.Sprintf("app/c%d.yaml", i)] = configMap(fmt.Sprintf("c%d", i), "data: {"+strings.TrimSuffix(data.String(), ", ")+"}")
	}
	name := w.app("shop", gittest.New(t, files), "app")
	w.until(name, time.Minute, "converged", converged)
	// A field that is edited again is healed later and later, so each is edited once.
	edit := func(n int) {
		edited := &corev1.ConfigMap{}
		edited.Namespace, edited.Name = w.Target, fmt.Sprintf("c%d", n%objects)
		text := fmt.Sprintf(`{"data":{"k%d":"edited"}}`, n/objects)
		w.must(w.client.Patch(t.Context(), edited, client.RawPatch(types.MergePatchType, []byte(text))))
	}
	edit(0)
	w.awaitHeal(name, "c0")
	since := len(sandboxtest.Requests(t, log))
	for n := 1; n < objects*fields; n++ {
		edit(n)
		time.Sleep(100 * time.Millisecond)
	}
	w.eventually(time.Minute, "all is healed", func() (bool, string) {
		var list corev1.ConfigMapList
		w.must(w.client.List(t.Context(), &list, client.InNamespace(w.Target)))
		for _, c := range list.Items {
			for field, value := range c.Data {
				if value == "edited" {
					return false, c.Name + " has an edited " + field
				}
			}
		}
		return true, ""
	})
	app := w.until(name, time.Minute, "told that it was healed", func(app *v1alpha1.Application) bool {
		return converged(app) && app.Status.OperationState.Operation.Sync.Resources != nil
	})
	if len(app.Status.History) != 1 {
		t.Errorf("heals are no releases, but there are %d of them", len(app.Status.History))
	}

	var last time.Time
	written := 0
	for _, r := range sandboxtest.Requests(t, log)[since:] {
		if r.Verb != "patch" || !r.Writes() || r.ObjectRef.Resource != "applications" || r.ObjectRef.Name != name.Name {
			continue
		}
		written++
		if at := r.RequestReceivedTimestamp.Time; !last.IsZero() && at.Sub(last) < 5*time.Second {
			t.Errorf("the Application was written again after %s", at.Sub(last))
		}
		last = r.RequestReceivedTimestamp.Time
	}
	if written == 0 {
		t.Error("the Application was not written")
	}
}

// What was accepted once and is by itself is healed without a dry run. Of anything
// else the API server is asked what differs.
func TestHealOfAPlainFieldAsksNothing(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	w := audited{world: newWorld(t, sandboxtest.Options{AuditLog: log, Own: true}), log: log}
	web := strings.Replace(deployment("web", "0"), "spec:\n", "spec:\n  replicas: 2\n", 1)
	web = strings.Replace(web, "      containers:\n", "      terminationGracePeriodSeconds: 5\n      containers:\n", 1)
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("settings", "data: {v: '1', w: '1'}") + "---\n" + web})
	w.until(w.app("shop", repo, "app"), time.Minute, "converged", converged)
	settings, live := &corev1.ConfigMap{}, &appsv1.Deployment{}
	settings.Namespace, settings.Name = w.Target, "settings"
	live.Namespace, live.Name = w.Target, "web"
	for _, edit := range []struct {
		what     string
		object   client.Object
		resource string
		patch    string
		healed   func() bool
		asks     bool
	}{
		{"a value", settings, "configmaps", `{"data":{"v":"edited"}}`, func() bool { return settings.Data["v"] == "1" }, false},
		{"a value that is gone", settings, "configmaps", `{"data":{"w":null}}`, func() bool { return settings.Data["w"] == "1" }, false},
		{"replicas", live, "deployments", `{"spec":{"replicas":3}}`, func() bool { return *live.Spec.Replicas == 2 }, false},
		{
			"an image", live, "deployments", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.example.test/web:edited"}]}}}}`,
			func() bool { return live.Spec.Template.Spec.Containers[0].Image == "registry.example.test/web:1" }, false,
		},
		{
			"any other field", live, "deployments", `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":7}}}}`,
			func() bool { return *live.Spec.Template.Spec.TerminationGracePeriodSeconds == 5 }, true,
		},
	} {
		before := w.trials(edit.resource, edit.object.GetName())
		w.must(w.client.Patch(t.Context(), edit.object, client.RawPatch(types.StrategicMergePatchType, []byte(edit.patch))))
		if edit.healed() {
			t.Fatalf("%s: nothing was edited", edit.what)
		}
		w.eventually(time.Minute, edit.what+" is healed", func() (bool, string) {
			w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(edit.object), edit.object))
			return edit.healed(), ""
		})
		asked := func() int { return w.trials(edit.resource, edit.object.GetName()) - before }
		if edit.asks {
			w.eventually(time.Minute, edit.what+" was asked about", func() (bool, string) { return asked() > 0, "" })
		} else if n := asked(); n > 0 {
			t.Errorf("%s: %d dry runs", edit.what, n)
		}
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

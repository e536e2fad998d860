// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// audited is a world whose requests can be counted.
type audited struct {
	*world
	log string
}

// applicationWrites counts what the controller has written of an Application: people
// create and update, it patches.
func (a audited) applicationWrites(name types.NamespacedName) (n int) {
	for _, r := range sandboxtest.Requests(a.t, a.log) {
		if ref := r.ObjectRef; r.Verb == "patch" && r.Writes() && ref.Resource == "applications" && ref.Namespace == name.Namespace && ref.Name == name.Name {
			n++
		}
	}
	return n
}

// trials counts dry runs of objects whose name begins like that.
func (a audited) trials(resource, prefix string) (n int) {
	for _, r := range sandboxtest.Requests(a.t, a.log) {
		// A creation names its object in the body alone.
		if ref := r.ObjectRef; r.DryRun() && ref.Resource == resource && ref.Namespace == a.Target && strings.HasPrefix(ref.Name, prefix) {
			n++
		}
	}
	return n
}

// An operation writes its Application when it has ended, and when it has taken a while
// in the beginning and at most once in five seconds while it waits.
func TestOperationWritesItsApplicationRarely(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	w := audited{world: newWorld(t, sandboxtest.Options{AuditLog: log, Own: true}), log: log}
	w.env.SetRules(t, "rules:\n  - {match: {kind: Deployment, name: slow}, readyAfter: 11s}\n")
	files := map[string]string{}
	for i := range 25 {
		files[fmt.Sprintf("app/c%02d.yaml", i)] = configMap(fmt.Sprintf("c%02d", i), annotated("argocd.argoproj.io/sync-wave", fmt.Sprint(i%3)), "data: {v: one}")
	}
	repo := gittest.New(t, files)
	before := 0
	limit := func(what string, name types.NamespacedName, most int) {
		t.Helper()
		now := w.applicationWrites(name)
		if n := now - before; n > most {
			t.Errorf("%s: the Application was written %d times, want %d at most", what, n, most)
		}
		before = now
	}
	name := w.app("many", repo, "app")
	// Times in the status are whole seconds: one that shows less than two took less.
	most := func(app *v1alpha1.Application) int {
		state := app.Status.OperationState
		took := state.FinishedAt.Sub(state.StartedAt.Time)
		if took < 2*time.Second {
			return 1
		}
		return 3 + int(took/(5*time.Second))
	}
	limit("the first sync", name, most(w.until(name, time.Minute, "converged", converged)))
	commit := repo.Commit("change", map[string]string{"app/c00.yaml": configMap("c00", "data: {v: two}")})
	limit("the next commit", name, most(w.until(name, time.Minute, "converged again", convergedAt(commit))))
	limit("a sync by hand", name, max(3, most(w.sync(name, v1alpha1.SyncOperation{}))))

	before = 0
	slow := w.app("slow", gittest.New(t, map[string]string{"app/slow.yaml": deployment("slow", "0"), "app/last.yaml": configMap("last", annotated("argocd.argoproj.io/sync-wave", "1"))}), "app")
	w.until(slow, time.Minute, "converged", converged)
	took := w.get(slow).Status.OperationState
	between := int(took.FinishedAt.Sub(took.StartedAt.Time)/(5*time.Second)) + 1
	limit("a sync that takes its time", slow, 2+between+1)
}

// A hook that was accepted is not tried again in the next sync.
func TestAcceptedHooksAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	w := audited{world: newWorld(t, sandboxtest.Options{AuditLog: log, Own: true}), log: log}
	repo := gittest.New(t, map[string]string{
		"app/hook.yaml":  job("hook", "argocd.argoproj.io/hook", "PreSync"),
		"app/plain.yaml": configMap("plain", "data: {v: one}"),
	})
	name := w.app("hooks", repo, "app", manual)
	var tried []int
	for range 4 {
		if app := w.sync(name, v1alpha1.SyncOperation{}); app.Status.OperationState.Phase != v1alpha1.OperationSucceeded {
			t.Fatal(summary(app))
		}
		tried = append(tried, w.trials("jobs", "")+w.trials("configmaps", ""))
	}
	// The first sync tries both, the second the creation of the hook beside the one
	// that is there, and the others nothing.
	if tried[1] <= tried[0] || tried[2] != tried[1] || tried[3] != tried[1] {
		t.Errorf("dry runs after each sync: %v", tried)
	}
}

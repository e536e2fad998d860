// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// contracts hold for every cluster: the calls as they are, and rollouts on them.
func contracts() map[string]func(*place) {
	return map[string]func(*place){
		"ApplyIsIdempotent":        applyIsIdempotent,
		"CreateMeetsExisting":      createMeetsExisting,
		"DeleteHasPrecondition":    deleteHasPrecondition,
		"FinalizerHolds":           finalizerHolds,
		"RefusalsAreFinal":         refusalsAreFinal,
		"DryRunStoresNothing":      dryRunStoresNothing,
		"ChangesAreTold":           changesAreTold,
		"WavesInOrder":             wavesInOrder,
		"FailedHookStops":          failedHookStops,
		"HookRunsOncePerOperation": hookRunsOncePerOperation,
		"PruneIsAwaited":           pruneIsAwaited,
		"TerminatedHookIsDeleted":  terminatedHookIsDeleted,
		"AbandonedRunIsContinued":  abandonedRunIsContinued,
		"DryRunFailureWritesNone":  dryRunFailureWritesNone,
		"TryStoresNothing":         tryStoresNothing,
		"ListShowsAKind":           listShowsAKind,
		"PruneYieldsToAUser":       pruneYieldsToAUser,
	}
}

func TestContractInMemory(t *testing.T) {
	for name, contract := range contracts() {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *place, _ *rollouttest.Memory) { contract(p) })
		})
	}
}

func (p *place) watch(kinds ...string) {
	p.Helper()
	for _, kind := range kinds {
		if err := p.cluster.Watch(p.Context(), p.object(kind, "x", "").GroupVersionKind().GroupKind()); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *place) apply(u *unstructured.Unstructured) *unstructured.Unstructured {
	p.Helper()
	live, err := p.cluster.Apply(p.Context(), u, cluster.ApplyOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return live
}

func applyIsIdempotent(p *place) {
	p.watch("Deployment")
	web := p.object("Deployment", "web", "never")
	first := p.apply(web)
	if first.GetUID() == "" || first.GetGeneration() != 1 {
		p.Errorf("a new object has uid %q and generation %d", first.GetUID(), first.GetGeneration())
	}
	if got := p.get("Deployment", "web"); got == nil || got.GetUID() != first.GetUID() {
		p.Errorf("the cache does not show our own write: %v", got)
	}
	changed := web.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, int64(2), "spec", "replicas"); err != nil {
		p.Fatal(err)
	}
	second := p.apply(changed)
	if second.GetGeneration() <= first.GetGeneration() || second.GetUID() != first.GetUID() {
		p.Errorf("a changed spec gives generation %d after %d", second.GetGeneration(), first.GetGeneration())
	}
	settings := p.object("ConfigMap", "settings", "")
	if a, b := p.apply(settings), p.apply(settings); a.GetResourceVersion() != b.GetResourceVersion() {
		p.Errorf("applying the same again wrote: version %s, then %s", a.GetResourceVersion(), b.GetResourceVersion())
	}
}

func createMeetsExisting(p *place) {
	u := p.object("ConfigMap", "settings", "")
	p.apply(u)
	if _, err := p.cluster.Create(p.Context(), u, cluster.ApplyOptions{}); !apierrors.IsAlreadyExists(err) {
		p.Errorf("create of what exists: %v, want AlreadyExists", err)
	}
	live, err := p.cluster.Fetch(p.Context(), manifest.KeyOf(u), "v1")
	if err != nil || live.GetName() != "settings" {
		p.Errorf("fetch: %v, %v", live, err)
	}
}

func deleteHasPrecondition(p *place) {
	p.watch("ConfigMap")
	u := p.apply(p.object("ConfigMap", "settings", ""))
	key := manifest.KeyOf(u)
	if err := p.cluster.Delete(p.Context(), key, cluster.DeleteOptions{UID: "another"}); err != nil {
		p.Errorf("delete of an object that is there no more: %v", err)
	}
	if _, err := p.cluster.Fetch(p.Context(), key, "v1"); err != nil {
		p.Errorf("the object that has the name now: %v", err)
	}
	if err := p.cluster.Delete(p.Context(), key, cluster.DeleteOptions{UID: u.GetUID()}); err != nil {
		p.Error(err)
	}
	if err := p.cluster.Delete(p.Context(), key, cluster.DeleteOptions{}); err != nil {
		p.Errorf("delete of what does not exist: %v", err)
	}
	if _, err := p.cluster.Fetch(p.Context(), key, "v1"); !apierrors.IsNotFound(err) {
		p.Errorf("fetch of what does not exist: %v, want NotFound", err)
	}
}

func finalizerHolds(p *place) {
	p.watch("ConfigMap")
	u := p.object("ConfigMap", "held", "")
	u.SetFinalizers([]string{manifest.HookFinalizer})
	live, err := p.cluster.Create(p.Context(), u, cluster.ApplyOptions{})
	if err != nil {
		p.Fatal(err)
	}
	key := manifest.KeyOf(live)
	if err := p.cluster.Delete(p.Context(), key, cluster.DeleteOptions{UID: live.GetUID()}); err != nil {
		p.Fatal(err)
	}
	held, err := p.cluster.Fetch(p.Context(), key, "v1")
	if err != nil || held.GetDeletionTimestamp() == nil {
		p.Fatalf("a held object after its deletion: %v, %v", held, err)
	}
	if err := p.cluster.RemoveFinalizer(p.Context(), key, manifest.HookFinalizer); err != nil {
		p.Fatal(err)
	}
	if _, err := p.cluster.Fetch(p.Context(), key, "v1"); !apierrors.IsNotFound(err) {
		p.Errorf("after its finalizer was taken off: %v, want NotFound", err)
	}
	if err := p.cluster.RemoveFinalizer(p.Context(), key, manifest.HookFinalizer); err != nil {
		p.Errorf("a finalizer of what does not exist: %v", err)
	}
}

func refusalsAreFinal(p *place) {
	elsewhere := p.object("ConfigMap", "settings", "")
	elsewhere.SetNamespace("nowhere-at-all")
	unknown := p.object("ConfigMap", "settings", "")
	unknown.SetAPIVersion("example.test/v1")
	for name, u := range map[string]*unstructured.Unstructured{
		"an invalid name": p.object("ConfigMap", "UPPER", ""), "a missing namespace": elsewhere, "an unknown kind": unknown,
	} {
		if _, err := p.cluster.Apply(p.Context(), u, cluster.ApplyOptions{}); !cluster.IsRejected(err) {
			p.Errorf("apply with %s: %v, want a rejection", name, err)
		}
	}
	gk := schema.GroupKind{Group: "example.test", Kind: "ConfigMap"}
	if err := p.cluster.Watch(p.Context(), gk); !cluster.IsUnknownKind(err) {
		p.Errorf("watch of an unknown kind: %v", err)
	}
	if _, known := p.cluster.Scope(gk); known {
		p.Error("an unknown kind is known")
	}
}

func dryRunStoresNothing(p *place) {
	u := p.object("ConfigMap", "settings", "")
	if _, err := p.cluster.Apply(p.Context(), u, cluster.ApplyOptions{DryRun: true}); err != nil {
		p.Error(err)
	}
	if _, err := p.cluster.Create(p.Context(), u, cluster.ApplyOptions{DryRun: true}); err != nil {
		p.Error(err)
	}
	if _, err := p.cluster.Fetch(p.Context(), manifest.KeyOf(u), "v1"); !apierrors.IsNotFound(err) {
		p.Errorf("after dry runs: %v, want NotFound", err)
	}
	if _, err := p.cluster.Apply(p.Context(), p.object("ConfigMap", "UPPER", ""), cluster.ApplyOptions{DryRun: true}); !cluster.IsRejected(err) {
		p.Errorf("dry run of an invalid object: %v, want a rejection", err)
	}
	kept := p.apply(p.object("ConfigMap", "kept", ""))
	if err := p.cluster.Delete(p.Context(), manifest.KeyOf(kept), cluster.DeleteOptions{DryRun: true}); err != nil {
		p.Errorf("dry run of a deletion: %v", err)
	}
	// The server is asked: what is remembered may not know of the object yet.
	if live, err := p.cluster.Fetch(p.Context(), manifest.KeyOf(kept), "v1"); err != nil || live.GetResourceVersion() != kept.GetResourceVersion() {
		p.Errorf("a dry run deleted the object: %v, %v", live, err)
	}
}

func changesAreTold(p *place) {
	p.watch("ConfigMap")
	told := make(chan cluster.Change, 100)
	cancel := p.cluster.Subscribe(func(c cluster.Change) {
		if c.Key.Name == "settings" && c.Key.Namespace == p.namespace {
			told <- c
		}
	})
	defer cancel()
	live := p.apply(p.object("ConfigMap", "settings", ""))
	select {
	case c := <-told:
		if c.UID != live.GetUID() {
			p.Errorf("told of %q, want %q", c.UID, live.GetUID())
		}
	case <-time.After(2 * time.Minute):
		p.Error("nobody was told of a new object")
	}
}

func wavesInOrder(p *place) {
	p.mustEnd(p.run(p.operation("op-1",
		rollouttest.Group(manifest.PreSync, 0, rollouttest.Hook(p.object("Job", "role-init", "ok@1s"))),
		rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "settings", ""))),
		rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("Job", "migration", "ok@1s"))),
		rollouttest.Group(manifest.Sync, 2, rollouttest.Step(p.object("Deployment", "web", "ok@1s"))),
		rollouttest.Group(manifest.PostSync, 0, rollouttest.Hook(p.object("Job", "smoke", "ok@1s"))),
	)), machine.PhaseSucceeded)
	order := []string{
		"step-applied Job/role-init", "step-succeeded Job/role-init", "step-applied ConfigMap/settings",
		"step-applied Job/migration", "step-succeeded Job/migration", "step-applied Deployment/web",
		"step-succeeded Deployment/web", "step-applied Job/smoke", "step-succeeded Job/smoke", "operation-finished",
	}
	last := -1
	for _, line := range order {
		at := p.events.index(line)
		if at <= last {
			p.Errorf("%q stands at %d, after %d; all: %v", line, at, last, p.events.lines())
		}
		last = at
	}
	smoke := p.get("Job", "smoke")
	if smoke == nil || slices.Contains(smoke.GetFinalizers(), manifest.HookFinalizer) {
		p.Errorf("the hook is still held: %v", smoke)
	}
	state := p.store.load(p.T)
	if state.Released == nil || state.Released.Render != "render-1" || len(state.Owned()) != 3 {
		p.Errorf("the state after a release is %s", jsonOf(p.T, state))
	}
}

func failedHookStops(p *place) {
	outcome := p.run(p.operation("op-1",
		rollouttest.Group(manifest.PreSync, 0, rollouttest.Hook(p.object("Job", "bad-init", "bad@1s"))),
		rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "settings", ""))),
		rollouttest.Group(manifest.SyncFail, 0, rollouttest.Hook(p.object("Job", "alarm", "ok@1s"))),
	))
	p.mustEnd(outcome, machine.PhaseFailed)
	if want := "one or more synchronization tasks completed unsuccessfully, reason: batch/Job/bad-init: "; !strings.HasPrefix(outcome.Message, want) {
		p.Errorf("the message is %q, want prefix %q", outcome.Message, want)
	}
	if !outcome.Retry || len(outcome.Causes) > 0 {
		p.Errorf("a failed hook is to be retried on a timer: %+v", outcome)
	}
	if p.get("ConfigMap", "settings") != nil {
		p.Error("an object of the next phase was created")
	}
	if p.events.index("step-succeeded Job/alarm") < 0 {
		p.Errorf("the SyncFail hook did not run: %v", p.events.lines())
	}
}

func hookRunsOncePerOperation(p *place) {
	group := rollouttest.Group(manifest.Sync, 0, rollouttest.Hook(p.object("Job", "migrate", "ok@1s")))
	p.mustEnd(p.run(p.operation("op-1", group)), machine.PhaseSucceeded)
	first := p.get("Job", "migrate")
	p.mustEnd(p.run(p.operation("op-2", group)), machine.PhaseSucceeded)
	second := p.get("Job", "migrate")
	if first == nil || second == nil || first.GetUID() == second.GetUID() {
		p.Fatalf("the hook was not made anew: %v, %v", first, second)
	}
	if got := second.GetAnnotations()[manifest.AnnotationOperation]; got != "op-2/1" {
		p.Errorf("the hook is marked %q", got)
	}
}

func pruneIsAwaited(p *place) {
	p.watch("ConfigMap")
	u := p.object("ConfigMap", "old", "ok@2s")
	u.SetFinalizers([]string{rollouttest.Guard})
	old := p.apply(u)
	r := p.driver().Start(p.Context(), p.operation("op-1",
		rollouttest.Group(manifest.Sync, 0, rollouttest.Prune(old)),
		rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("ConfigMap", "new", ""))),
	))
	if e := p.until(event.Waiting, "old"); !strings.Contains(e.Message, "waiting for deletion of /ConfigMap/old") {
		p.Errorf("while the old object goes it says %q", e.Message)
	}
	if p.get("ConfigMap", "new") != nil {
		p.Error("the next wave began before the prune was done")
	}
	if err := p.cluster.RemoveFinalizer(p.Context(), manifest.KeyOf(old), rollouttest.Guard); err != nil {
		p.Fatal(err)
	}
	p.mustEnd(p.await(r), machine.PhaseSucceeded)
	if p.get("ConfigMap", "old") != nil || p.get("ConfigMap", "new") == nil {
		p.Error("the old object is there, or the new one is not")
	}
}

func terminatedHookIsDeleted(p *place) {
	p.watch("Job")
	r := p.driver().Start(p.Context(), p.operation("op-1",
		rollouttest.Group(manifest.PreSync, 0, rollouttest.Hook(p.object("Job", "never-ends", "never"))),
		rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "settings", ""))),
	))
	p.until(event.Waiting, "never-ends")
	if m := r.Snapshot().Message; !strings.HasPrefix(m, "PreSync wave 0 (1/2): waiting for completion of hook batch/Job/never-ends") {
		p.Errorf("while the hook runs it says %q", m)
	}
	r.Terminate("")
	outcome := p.await(r)
	p.mustEnd(outcome, machine.PhaseFailed)
	if outcome.Message != "Operation terminated" || !outcome.Terminated || outcome.Retry {
		p.Errorf("the outcome is %+v", outcome)
	}
	hook := p.get("Job", "never-ends")
	if hook != nil && (hook.GetDeletionTimestamp() == nil || slices.Contains(hook.GetFinalizers(), manifest.HookFinalizer)) {
		p.Errorf("the running hook is left as it was: %v", hook)
	}
}

func abandonedRunIsContinued(p *place) {
	p.watch("Job")
	presync := rollouttest.Group(manifest.PreSync, 0, rollouttest.Hook(p.object("Job", "init", "ok@5s")))
	sync := rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "settings", "")))
	r := p.driver().Start(p.Context(), p.operation("op-1", presync, sync))
	p.until(event.Waiting, "init")
	r.Abandon()
	if outcome := p.await(r); !outcome.Abandoned || outcome.Err != nil {
		p.Fatalf("an abandoned run ended %+v", outcome)
	}
	before := p.get("Job", "init")
	p.mustEnd(p.run(p.operation("op-1", presync, sync)), machine.PhaseSucceeded)
	if after := p.get("Job", "init"); before == nil || after == nil || before.GetUID() != after.GetUID() {
		p.Errorf("the hook was run again: %v, then %v", before, after)
	}
}

func dryRunFailureWritesNone(p *place) {
	outcome := p.run(p.operation("op-1",
		rollouttest.Group(manifest.Sync, 0, rollouttest.Step(p.object("ConfigMap", "settings", ""))),
		rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("ConfigMap", "UPPER", ""))),
	))
	p.mustEnd(outcome, machine.PhaseFailed)
	if want := "one or more objects failed to apply (dry run): ConfigMap/UPPER: "; !strings.HasPrefix(outcome.Message, want) {
		p.Errorf("the message is %q, want prefix %q", outcome.Message, want)
	}
	if p.get("ConfigMap", "settings") != nil {
		p.Error("something was written")
	}
}

func tryStoresNothing(p *place) {
	p.watch("ConfigMap", "Namespace")
	u := p.object("ConfigMap", "settings", "")
	for _, anew := range []bool{false, true, false, true} {
		if err := p.cluster.Try(p.Context(), u, anew, cluster.ApplyOptions{}); err != nil {
			p.Errorf("trial, anew %t: %v", anew, err)
		}
	}
	if _, err := p.cluster.Fetch(p.Context(), manifest.KeyOf(u), "v1"); !apierrors.IsNotFound(err) {
		p.Errorf("after trials: %v, want NotFound", err)
	}
	p.apply(u)
	if err := p.cluster.Try(p.Context(), u, true, cluster.ApplyOptions{}); !apierrors.IsAlreadyExists(err) {
		p.Errorf("trial of making what exists: %v, want AlreadyExists", err)
	}
	for range 2 {
		if err := p.cluster.Try(p.Context(), p.object("ConfigMap", "UPPER", ""), false, cluster.ApplyOptions{}); !cluster.IsRejected(err) {
			p.Errorf("trial of an invalid object: %v, want a rejection", err)
		}
	}
}

func listShowsAKind(p *place) {
	p.watch("ConfigMap", "Deployment")
	p.apply(p.object("ConfigMap", "b", ""))
	p.apply(p.object("ConfigMap", "a", ""))
	var names []string
	for _, u := range p.cluster.List(schema.GroupKind{Kind: "ConfigMap"}) {
		if u.GetNamespace() == p.namespace && len(u.GetName()) == 1 {
			names = append(names, u.GetName())
		}
	}
	if !slices.Equal(names, []string{"a", "b"}) {
		p.Errorf("the ConfigMaps are %v", names)
	}
	for _, u := range p.cluster.List(schema.GroupKind{Group: "apps", Kind: "Deployment"}) {
		if u.GetKind() != "Deployment" {
			p.Errorf("a Deployment is %s", u.GetKind())
		}
	}
}

// A prune whose object something uses is put off, and carried out when nothing does.
func pruneYieldsToAUser(p *place) {
	p.watch("ConfigMap", "Job")
	old := p.apply(p.object("ConfigMap", "old", ""))
	user := p.object("Job", "never-ends", "never")
	containers := []any{map[string]any{
		"name": "main", "image": "registry.example.test/user:1",
		"envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "old"}}},
	}}
	if err := unstructured.SetNestedSlice(user.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		p.Fatal(err)
	}
	live := p.apply(user)
	step := rollouttest.Prune(old)
	step.Yields = true
	r := p.driver().Start(p.Context(), p.operation("op-1", rollouttest.Group(manifest.Sync, 0, step)))
	p.mustEnd(p.await(r), machine.PhaseSucceeded)
	if got := r.Snapshot().Results[0].Message; got != "deferred: still used by Job/never-ends" && !strings.HasPrefix(got, "deferred: still used by Pod/") {
		p.Errorf("the result says %q", got)
	}
	if state := p.store.load(p.T); p.get("ConfigMap", "old") == nil || len(state.Deferred) != 1 || state.Deferred[0].UID != old.GetUID() {
		p.Fatalf("the object was pruned, or is not noted: %v", state.Deferred)
	}
	if err := p.cluster.Delete(p.Context(), manifest.KeyOf(live), cluster.DeleteOptions{UID: live.GetUID(), Propagation: metav1.DeletePropagationForeground}); err != nil {
		p.Fatal(err)
	}
	p.gone(live)
	p.mustEnd(p.run(p.operation("op-2", rollouttest.Group(manifest.Sync, 0, step))), machine.PhaseSucceeded)
	p.gone(old)
	if deferred := p.store.load(p.T).Deferred; len(deferred) != 0 {
		p.Errorf("still noted: %v", deferred)
	}
}

// gone waits until an object and what it owns have disappeared.
func (p *place) gone(u *unstructured.Unstructured) {
	p.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		_, there := p.cluster.Get(manifest.KeyOf(u))
		if !there && len(p.cluster.Children(u.GetUID())) == 0 {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("%s does not go", u.GetName())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

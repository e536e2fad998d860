// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

var (
	object = rollouttest.Object
	step   = rollouttest.Step
	hook   = rollouttest.Hook
	group  = rollouttest.Group
)

// sync returns a group in phase Sync.
func sync(wave int, steps ...plan.Step) plan.Group { return group(manifest.Sync, wave, steps...) }

func key(kind, name string) manifest.Key { return manifest.KeyOf(object(kind, name, "")) }

// results words results in a line each: "ConfigMap/x Synced Succeeded: message".
func results(w *world) []string {
	out := []string{}
	for _, r := range machine.Results(w.plan, w.record) {
		out = append(out, fmt.Sprintf("%s %s %s: %s", r.Key.Short(), r.Status, r.HookPhase, r.Message))
	}
	return out
}

func TestAttempts(t *testing.T) {
	cases := map[string]struct {
		reason  string
		groups  func(w *world) []plan.Group
		phase   machine.Phase
		message string
		results []string
		retry   bool
		causes  []manifest.Key
	}{
		"LastWaveIsNotGated": {
			reason: "A single wave has succeeded as soon as it is applied.",
			groups: func(*world) []plan.Group {
				return []plan.Group{sync(0, step(object("Deployment", "web", "never")))}
			},
			phase: machine.PhaseSucceeded, message: "successfully synced (all tasks run)",
			results: []string{"Deployment/web Synced Succeeded: deployment.apps/web created"},
		},
		"LastWaveWaitsForItsHookOnly": {
			reason: "A Deployment beside a Sync hook in the last wave is not waited for.",
			groups: func(*world) []plan.Group {
				return []plan.Group{sync(0, step(object("Deployment", "web", "never")), hook(object("Job", "seed", "ok@3s")))}
			},
			phase: machine.PhaseSucceeded, message: "successfully synced (all tasks run)",
			results: []string{"Deployment/web Synced Succeeded: deployment.apps/web created", "Job/seed Synced Succeeded: 1 of 1 completed"},
		},
		"DegradedStopsTheNextWave": {
			reason: "An object that another wave waits for fails the attempt when it is Degraded, and is its cause.",
			groups: func(*world) []plan.Group {
				return []plan.Group{sync(0, step(object("Deployment", "web", "bad@3s"))), sync(1, step(object("ConfigMap", "late", "")))}
			},
			phase:   machine.PhaseFailed,
			message: "one or more synchronization tasks completed unsuccessfully, reason: apps/Deployment/web: ProgressDeadlineExceeded: deadline exceeded",
			results: []string{"Deployment/web Synced Failed: ProgressDeadlineExceeded: deadline exceeded"},
			causes:  []manifest.Key{key("Deployment", "web")},
		},
		"WhatDoesNotCountForTheApplicationStillGates": {
			reason: "ignore-healthcheck is about the health of the application; a wave does not begin on what is not well.",
			groups: func(*world) []plan.Group {
				web := object("Deployment", "web", "bad@3s")
				annotations := web.GetAnnotations()
				annotations[manifest.AnnotationIgnoreHealth] = "true"
				web.SetAnnotations(annotations)
				return []plan.Group{sync(0, step(web)), sync(1, step(object("ConfigMap", "late", "")))}
			},
			phase:   machine.PhaseFailed,
			message: "one or more synchronization tasks completed unsuccessfully, reason: apps/Deployment/web: ProgressDeadlineExceeded: deadline exceeded",
			results: []string{"Deployment/web Synced Failed: ProgressDeadlineExceeded: deadline exceeded"},
			causes:  []manifest.Key{key("Deployment", "web")},
		},
		"RefusalDoesNotStopItsWave": {
			reason: "Kinds that follow in the wave of a refused object are still applied.",
			groups: func(*world) []plan.Group {
				return []plan.Group{
					sync(0, step(object("ConfigMap", "a", "reject")), step(object("Deployment", "web", "ok"))),
					sync(1, step(object("ConfigMap", "late", ""))),
				}
			},
			phase:   machine.PhaseFailed,
			message: `one or more objects failed to apply, reason: /ConfigMap/a: apply ConfigMap/shop/a on memory: configmaps "a" is forbidden: refused by fate`,
			results: []string{
				`ConfigMap/a SyncFailed Failed: apply ConfigMap/shop/a on memory: configmaps "a" is forbidden: refused by fate`,
				"Deployment/web Synced Running: deployment.apps/web created",
			},
			causes: []manifest.Key{key("ConfigMap", "a")},
		},
		"HookFailureIsRetried": {
			reason: "A failed hook may succeed on a timer; what follows is not begun.",
			groups: func(*world) []plan.Group {
				return []plan.Group{group(manifest.PreSync, 0, hook(object("Job", "init", "bad@1s"))), sync(0, step(object("ConfigMap", "a", "")))}
			},
			phase:   machine.PhaseFailed,
			message: "one or more synchronization tasks completed unsuccessfully, reason: batch/Job/init: Job has reached the specified backoff limit",
			results: []string{"Job/init Synced Failed: Job has reached the specified backoff limit"},
			retry:   true,
		},
		"FailureWaitsForOtherHooks": {
			reason: "A failure is acted on when no hook of the wave runs any more.",
			groups: func(*world) []plan.Group {
				return []plan.Group{group(manifest.PreSync, 0, hook(object("Job", "bad", "bad@1s")), hook(object("Job", "slow", "ok@60s")))}
			},
			phase:   machine.PhaseFailed,
			message: "one or more synchronization tasks completed unsuccessfully, reason: batch/Job/bad: Job has reached the specified backoff limit",
			results: []string{"Job/bad Synced Failed: Job has reached the specified backoff limit", "Job/slow Synced Succeeded: 1 of 1 completed"},
			retry:   true,
		},
		"SyncFailHooksRunAfterAFailure": {
			reason: "All SyncFail hooks run together, whatever their waves; one that fails is told.",
			groups: func(*world) []plan.Group {
				return []plan.Group{
					group(manifest.PreSync, 0, hook(object("Job", "init", "bad@1s"))),
					group(manifest.SyncFail, 0, hook(object("Job", "alarm", "ok@1s"))),
					group(manifest.SyncFail, 1, hook(object("Job", "restore", "bad@1s"))),
				}
			},
			phase: machine.PhaseFailed,
			message: "one or more synchronization tasks completed unsuccessfully, reason: batch/Job/init: Job has reached the specified backoff limit; " +
				"one or more SyncFail hooks failed, reason: batch/Job/restore: Job has reached the specified backoff limit",
			results: []string{
				"Job/init Synced Failed: Job has reached the specified backoff limit",
				"Job/alarm Synced Succeeded: 1 of 1 completed",
				"Job/restore Synced Failed: Job has reached the specified backoff limit",
			},
			retry: true,
		},
		"SyncFailHooksDoNotRunOtherwise": {
			reason: "Without a failure a SyncFail hook has no result, and the last wave is not gated because of it.",
			groups: func(*world) []plan.Group {
				return []plan.Group{sync(0, step(object("Deployment", "web", "never"))), group(manifest.SyncFail, 0, hook(object("Job", "alarm", "ok")))}
			},
			phase: machine.PhaseSucceeded, message: "successfully synced (all tasks run)",
			results: []string{"Deployment/web Synced Succeeded: deployment.apps/web created"},
		},
		"PassiveHookSucceedsWhenItExists": {
			reason: "A hook of a kind without health has succeeded when it exists.",
			groups: func(*world) []plan.Group {
				return []plan.Group{group(manifest.PreSync, 0, hook(object("ConfigMap", "settings", "")))}
			},
			phase: machine.PhaseSucceeded, message: "successfully synced (all tasks run)",
			results: []string{"ConfigMap/settings Synced Succeeded: configmap/settings created"},
		},
		"PruneIsLeftToItsNewOwner": {
			reason: "An object that was made anew under the name of one to prune is not ours.",
			groups: func(w *world) []plan.Group {
				old := rollouttest.Prune(w.cluster.Put(object("ConfigMap", "old", "")))
				w.cluster.Evict(key("ConfigMap", "old"))
				w.cluster.Put(object("ConfigMap", "old", ""))
				return []plan.Group{sync(0, old)}
			},
			phase: machine.PhaseSucceeded, message: "successfully synced (all tasks run)",
			results: []string{"ConfigMap/old PruneSkipped Succeeded: ignored (created again by someone else)"},
		},
		"SkippedPruneSaysWhy": {
			reason: "A prune that must not be carried out is a success with its reason.",
			groups: func(w *world) []plan.Group {
				s := rollouttest.Prune(w.cluster.Put(object("ConfigMap", "old", "")))
				s.Action, s.Reason = plan.SkipPrune, "ignored (no prune)"
				return []plan.Group{sync(0, s)}
			},
			phase: machine.PhaseSucceeded, message: "successfully synced (all tasks run)",
			results: []string{"ConfigMap/old PruneSkipped Succeeded: ignored (no prune)"},
		},
		"ManyFailuresAreCounted": {
			reason: "A message names three objects and counts the others.",
			groups: func(*world) []plan.Group {
				var steps []plan.Step
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					steps = append(steps, hook(object("Job", name, "bad")))
				}
				return []plan.Group{group(manifest.PreSync, 0, steps...)}
			},
			phase: machine.PhaseFailed,
			message: "one or more synchronization tasks completed unsuccessfully, reason: " +
				"batch/Job/a: Job has reached the specified backoff limit; batch/Job/b: Job has reached the specified backoff limit; " +
				"batch/Job/c: Job has reached the specified backoff limit; and 2 more",
			retry: true,
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.begin(tt.groups(w)...)
			w.run(t)
			if got := w.record.Outcome; got.Phase != tt.phase || got.Message != tt.message || got.Retry != tt.retry {
				t.Errorf("%s\ngot  %s %q, retry %t\nwant %s %q, retry %t",
					tt.reason, got.Phase, got.Message, got.Retry, tt.phase, tt.message, tt.retry)
			}
			if diff := cmp.Diff(tt.causes, w.record.Outcome.Causes); diff != "" {
				t.Errorf("%s\ncauses (-want +got):\n%s", tt.reason, diff)
			}
			if tt.results == nil {
				return
			}
			if diff := cmp.Diff(tt.results, results(w)); diff != "" {
				t.Errorf("%s\nresults (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	ready := map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "SecretSynced", "message": "ok"}}}
	patient := object("Deployment", "web", "never")
	patient.SetAnnotations(map[string]string{rollouttest.AnnotationFate: "never", manifest.AnnotationWavetrainOptions: "GateTimeout=30m"})
	lenient := object("Deployment", "web", "bad@1s")
	lenient.SetAnnotations(map[string]string{rollouttest.AnnotationFate: "bad@1s", manifest.AnnotationWavetrainOptions: "GateGrace=10s"})
	limited := func(options string) func(w *world) {
		return func(w *world) { w.limits = machine.Limits{}.With(manifest.ParseOptions(options)) }
	}
	mends := func(after time.Duration) func(w *world) {
		return func(w *world) {
			w.later = []happening{{after, func() { w.cluster.SetStatus(key("ExternalSecret", "vault"), ready) }}}
		}
	}
	cases := map[string]struct {
		reason string
		first  *unstructured.Unstructured
		setup  func(w *world)
		phase  machine.Phase
		took   time.Duration
		says   string
	}{
		"FlapMends": {
			reason: "A kind that flaps by nature may be Degraded for a while.",
			first:  object("ExternalSecret", "vault", "bad@1s"), setup: mends(25 * time.Second),
			phase: machine.PhaseSucceeded, took: 25 * time.Second,
		},
		"FlapLasts": {
			reason: "Degraded counts after 30 s.",
			first:  object("ExternalSecret", "vault", "bad@1s"), setup: mends(40 * time.Second),
			phase: machine.PhaseFailed, took: 31 * time.Second, says: "SecretSyncedError: permission denied",
		},
		"NoProgress": {
			reason: "A gate ends when nothing has moved for ten minutes.",
			first:  object("Deployment", "web", "never"),
			phase:  machine.PhaseFailed, took: 10 * time.Minute, says: "apps/Deployment/web: no progress for 10m0s",
		},
		"OwnLimit": {
			reason: "An object may set its own limit.",
			first:  patient,
			phase:  machine.PhaseFailed, took: 30 * time.Minute, says: "no progress for 30m0s",
		},
		"OwnGrace": {
			reason: "An object of any kind may be Degraded for a time that it sets itself.",
			first:  lenient,
			phase:  machine.PhaseFailed, took: 11 * time.Second, says: "deadline exceeded",
		},
		"LimitOfTheApplication": {
			reason: "The application's limit is that of every wait.",
			first:  object("Deployment", "web", "never"), setup: limited("GateTimeout=2m"),
			phase: machine.PhaseFailed, took: 2 * time.Minute, says: "no progress for 2m0s",
		},
		"OwnLimitBeforeTheApplications": {
			reason: "The object's own limit wins over the application's.",
			first:  patient, setup: limited("GateTimeout=2m"),
			phase: machine.PhaseFailed, took: 30 * time.Minute, says: "no progress for 30m0s",
		},
		"GraceOfTheApplication": {
			reason: "The application's grace is that of kinds that flap.",
			first:  object("ExternalSecret", "vault", "bad@1s"), setup: limited("GateGrace=5s"),
			phase: machine.PhaseFailed, took: 6 * time.Second, says: "SecretSyncedError: permission denied",
		},
		"NoDuration": {
			reason: "What is no duration changes nothing.",
			first:  object("Deployment", "web", "never"), setup: limited("GateTimeout=soon"),
			phase: machine.PhaseFailed, took: 10 * time.Minute, says: "no progress for 10m0s",
		},
		"Progress": {
			reason: "Whatever moves begins the limit anew.",
			first:  object("Deployment", "web", "never"),
			setup: func(w *world) {
				w.later = []happening{{9 * time.Minute, func() {
					w.cluster.SetStatus(key("Deployment", "web"), map[string]any{"observedGeneration": int64(1), "replicas": int64(1)})
				}}}
			},
			phase: machine.PhaseFailed, took: 19 * time.Minute, says: "no progress for 10m0s",
		},
		"IngressAddress": {
			reason: "An Ingress without an address holds up a wave for a minute only.",
			first:  object("Ingress", "web", ""),
			phase:  machine.PhaseSucceeded, took: time.Minute,
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			if tt.setup != nil {
				tt.setup(w)
			}
			w.begin(sync(0, step(tt.first)), sync(1, step(object("ConfigMap", "late", ""))))
			w.run(t)
			if got := w.record.Outcome; got.Phase != tt.phase || !strings.Contains(got.Message, tt.says) {
				t.Errorf("%s\ngot %s %q, want %s and %q", tt.reason, got.Phase, got.Message, tt.phase, tt.says)
			}
			if got := w.now.Sub(w.start); got != tt.took {
				t.Errorf("%s\nit took %s, want %s", tt.reason, got, tt.took)
			}
		})
	}
}

// A verdict about the previous generation opens no gate.
func TestStaleHealthDoesNotCount(t *testing.T) {
	w := emptyWorld()
	old := w.cluster.Put(object("Deployment", "web", "ok"))
	w.cluster.Tick(w.now)
	w.now = w.now.Add(time.Minute)
	w.cluster.Tick(w.now)
	next := object("Deployment", "web", "ok@20s")
	if err := unstructured.SetNestedField(next.Object, int64(1), "spec", "minReadySeconds"); err != nil {
		t.Fatal(err)
	}
	update := step(next)
	update.Action, update.Precondition = plan.Update, "uid:"+string(old.GetUID())
	w.start = w.now
	w.begin(sync(0, update), sync(1, step(object("ConfigMap", "late", ""))))
	w.run(t)
	if w.record.Outcome.Phase != machine.PhaseSucceeded || w.now.Sub(w.start) != 20*time.Second {
		t.Errorf("%s after %s, want Succeeded after 20s", w.record.Outcome.Phase, w.now.Sub(w.start))
	}
}

// What somebody else deletes.
func TestVanishedObjects(t *testing.T) {
	cases := map[string]struct {
		reason string
		groups []plan.Group
		gone   manifest.Key
		phase  machine.Phase
		took   time.Duration
		says   string
	}{
		"AwaitedObject": {
			reason: "An object that a later wave waits for must be there.",
			groups: []plan.Group{sync(0, step(object("Deployment", "web", "never"))), sync(1, step(object("ConfigMap", "late", "")))},
			gone:   key("Deployment", "web"), phase: machine.PhaseFailed, took: 5 * time.Second,
			says: "Resource apps/Deployment/web is missing, it might have been deleted",
		},
		"RunningHook": {
			reason: "The result of a deleted hook is waited for for 20 s.",
			groups: []plan.Group{group(manifest.PreSync, 0, hook(object("Job", "init", "never")))},
			gone:   key("Job", "init"), phase: machine.PhaseFailed, took: 25 * time.Second, says: "deleted by someone else, result unknown",
		},
		"FinishingHook": {
			reason: "A deleted hook that ends in time counts with its result.",
			groups: []plan.Group{group(manifest.PreSync, 0, hook(object("Job", "init", "ok@15s")))},
			gone:   key("Job", "init"), phase: machine.PhaseSucceeded, took: 15 * time.Second,
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.later = []happening{{5 * time.Second, func() { w.cluster.Evict(tt.gone) }}}
			w.begin(tt.groups...)
			w.run(t)
			if got := w.record.Outcome; got.Phase != tt.phase || !strings.Contains(got.Message, tt.says) {
				t.Errorf("%s\ngot %s %q, want %s and %q", tt.reason, got.Phase, got.Message, tt.phase, tt.says)
			}
			if got := w.now.Sub(w.start); got != tt.took {
				t.Errorf("%s\nit took %s, want %s", tt.reason, got, tt.took)
			}
			if live, ok := w.cluster.Get(tt.gone); ok {
				t.Errorf("%s\n%v is still held by %v", tt.reason, tt.gone, live.GetFinalizers())
			}
		})
	}
}

// Delete policies look at the hook's own result, at the end of the operation.
func TestDeletePolicies(t *testing.T) {
	cases := map[string]struct {
		reason string
		fate   string
		policy manifest.DeletePolicy
		fails  bool
		left   bool
	}{
		"SucceededSucceeded":   {"It succeeded and is to go then.", "ok", manifest.HookSucceeded, false, false},
		"SucceededFailed":      {"It failed and is to go when it succeeds.", "bad", manifest.HookSucceeded, false, true},
		"FailedFailed":         {"It failed and is to go then.", "bad", manifest.HookFailed, false, false},
		"FailedSucceeded":      {"It succeeded and is to go when it fails.", "ok", manifest.HookFailed, false, true},
		"SucceededThenFailure": {"It succeeded; that the operation fails later does not matter.", "ok", manifest.HookSucceeded, true, false},
		"FailedThenFailure":    {"It succeeded; that the operation fails later is not its failure.", "ok", manifest.HookFailed, true, true},
		"None":                 {"Without such a policy it stays until the next operation.", "ok", manifest.BeforeHookCreation, false, true},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			groups := []plan.Group{group(manifest.PreSync, 0, hook(object("Job", "init", tt.fate), tt.policy))}
			if tt.fails {
				groups = append(groups, sync(0, step(object("ConfigMap", "a", "reject"))))
			}
			w.begin(groups...)
			w.run(t)
			if _, left := w.cluster.Get(key("Job", "init")); left != tt.left {
				t.Errorf("%s: left %t, want %t", tt.reason, left, tt.left)
			}
		})
	}
}

func TestWaitsAreWorded(t *testing.T) {
	w := emptyWorld()
	w.begin(
		group(manifest.PreSync, -1, hook(object("Job", "init", "ok@2s")), hook(object("Job", "prepare", "ok@2s"))),
		sync(0, step(object("Deployment", "api", "ok@2s")), step(object("Deployment", "web", "ok@3s")), step(object("Deployment", "worker", "ok@2s"))),
		sync(1, step(object("ConfigMap", "late", ""))),
	)
	w.run(t)
	want := []string{
		"PreSync wave -1 (1/3): waiting for completion of hook batch/Job/init and 1 more hook",
		"Sync wave 0 (2/3): waiting for healthy state of apps/Deployment/api and 2 more resources",
		"Sync wave 0 (2/3): waiting for healthy state of apps/Deployment/web",
	}
	for i, got := range w.waits {
		if i >= len(want) || !strings.HasPrefix(got, want[i]) {
			t.Errorf("wait %d: %q", i, got)
		}
	}
	if len(w.waits) != len(want) {
		t.Errorf("%d waits, want %d: %q", len(w.waits), len(want), w.waits)
	}
}

// What the prune guard is about is asked before the first prune, when everything
// that precedes it is done.
func TestGuardedPruneIsAskedBeforeTheFirstPrune(t *testing.T) {
	w := emptyWorld()
	plain := rollouttest.Prune(w.cluster.Put(object("ConfigMap", "plain", "")))
	guarded := rollouttest.Prune(w.cluster.Put(object("PersistentVolumeClaim", "data", "")))
	guarded.Action, guarded.Confirm, guarded.Risk = plan.SkipPrune, true, "the data may be lost"
	w.begin(sync(0, step(object("ConfigMap", "settings", ""))), sync(1, plain), sync(2, guarded))
	var writes []string
	note := func() {
		writes = writes[:0]
		for _, c := range w.cluster.Writes() {
			writes = append(writes, c.Verb+" "+c.Key.Short())
		}
	}
	var running *machine.Machine
	w.before = func(_ int, m *machine.Machine) { running = m }
	w.later = []happening{{time.Minute, func() {
		note()
		if diff := cmp.Diff([]string{"apply ConfigMap/settings"}, writes); diff != "" {
			t.Errorf("before the confirmation (-want +got):\n%s", diff)
		}
		running.Confirm()
	}}}
	w.run(t)
	note()
	if diff := cmp.Diff([]string{"apply ConfigMap/settings", "delete ConfigMap/plain", "delete PersistentVolumeClaim/data"}, writes); diff != "" {
		t.Errorf("after the confirmation (-want +got):\n%s", diff)
	}
	want := "waiting for pruning confirmation of /PersistentVolumeClaim/data: the data may be lost"
	if !slices.ContainsFunc(w.waits, func(text string) bool { return strings.HasSuffix(text, want) }) {
		t.Errorf("no wait says %q: %q", want, w.waits)
	}
}

func TestDeletionNamesTheFinalizer(t *testing.T) {
	w := emptyWorld()
	held := object("ConfigMap", "held", "")
	held.SetFinalizers([]string{"example.test/clean-up"})
	w.begin(sync(0, rollouttest.Prune(w.cluster.Put(held))), sync(1, step(object("ConfigMap", "next", ""))))
	w.later = []happening{{time.Second, func() {
		if err := w.cluster.RemoveFinalizer(t.Context(), key("ConfigMap", "held"), "example.test/clean-up"); err != nil {
			t.Error(err)
		}
	}}}
	w.run(t)
	want := "waiting for deletion of /ConfigMap/held: held by finalizer example.test/clean-up"
	if !slices.ContainsFunc(w.waits, func(text string) bool { return strings.HasSuffix(text, want) }) {
		t.Errorf("no wait says %q: %q", want, w.waits)
	}
}

// Inside a group: deletions, then kind after kind, producers before what needs
// their Secret.
func TestOrderInsideAGroup(t *testing.T) {
	w := emptyWorld()
	old := rollouttest.Prune(w.cluster.Put(object("ConfigMap", "old", "")))
	w.cluster.Put(object("Job", "seed", "ok"))
	w.begin(sync(0,
		old,
		step(object("ConfigMap", "settings", "")),
		step(object("Service", "web", "")),
		step(object("Deployment", "plain", "ok")),
		rollouttest.Needing(step(object("Deployment", "web", "ok")), "secret"),
		hook(object("Job", "seed", "ok")),
		step(object("ExternalSecret", "secret", "ok@2s")),
	))
	w.run(t)
	var got []string
	for _, c := range w.cluster.Writes() {
		got = append(got, c.Verb+" "+c.Key.Short())
	}
	want := []string{
		"delete ConfigMap/old", "delete Job/seed", "apply ConfigMap/settings", "apply Service/web",
		"apply ExternalSecret/secret", "apply Deployment/plain", "apply Deployment/web", "create Job/seed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHookName(t *testing.T) {
	named := func(generate string, phase manifest.Phase) string {
		u := object("Job", "", "")
		u.SetGenerateName(generate)
		s := group(phase, 0, hook(u)).Steps[0]
		return machine.HookName("op-7", &s)
	}
	pre, post := named("migrate-", manifest.PreSync), named("migrate-", manifest.PostSync)
	if pre != named("migrate-", manifest.PreSync) {
		t.Error("the name differs between attempts")
	}
	if !strings.HasPrefix(pre, "migrate-") || !strings.HasSuffix(pre, "-presync") || !strings.HasSuffix(post, "-postsync") || pre == post {
		t.Errorf("the names are %q and %q", pre, post)
	}
	if long := named(strings.Repeat("x", 80)+"-", manifest.PreSync); len(long) != 63 {
		t.Errorf("%q has %d characters", long, len(long))
	}
	u := object("Job", "fixed", "")
	s := group(manifest.PreSync, 0, hook(u)).Steps[0]
	if got := machine.HookName("op-7", &s); got != "fixed" {
		t.Errorf("a fixed name became %q", got)
	}
}

// The same hook in two phases runs in each.
func TestHookOfTwoPhases(t *testing.T) {
	w := emptyWorld()
	w.begin(
		group(manifest.PreSync, 0, hook(object("Job", "check", "ok@1s"))),
		group(manifest.PostSync, 0, hook(object("Job", "check", "ok@1s"))),
	)
	w.run(t)
	creates := slices.DeleteFunc(w.cluster.Writes(), func(c rollouttest.Write) bool { return c.Verb != "create" })
	if len(creates) != 2 || len(results(w)) != 2 || w.record.Outcome.Phase != machine.PhaseSucceeded {
		t.Errorf("%d creations, results %q", len(creates), results(w))
	}
}

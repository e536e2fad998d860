// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// maxQuestions bounds how many objects of an Application are followed.
const maxQuestions = 5

// Questions are the objects that explain why an Application is not done, the most
// telling first: what its operation waits for or failed at; of one that is through,
// what is not healthy. wait, if not nil, is what the operation's record says.
func Questions(app *v1alpha1.Application, wait *machine.Wait) []manifest.Key {
	var keys []manifest.Key
	add := func(more ...manifest.Key) {
		for _, key := range more {
			if key.Name != "" && !slices.Contains(keys, key) && len(keys) < maxQuestions {
				keys = append(keys, key)
			}
		}
	}
	state := app.Status.OperationState
	running := state != nil && !state.Phase.Completed()
	switch {
	case running && wait != nil && wait.Effect != nil:
		add(*wait.Effect)
	case running && wait != nil:
		add(wait.Object)
	case running, state != nil && !state.Phase.Successful():
		add(resolve(app, Named(state.Message, app.Spec.Destination.Namespace))...)
	}
	if running && wait == nil && len(keys) == 0 {
		add(runningHooks(state)...)
	}
	if running && wait != nil && wait.More == 0 {
		return keys
	}
	for _, r := range app.Status.Resources {
		if running && (wait == nil || r.SyncWave != int64(wait.Wave)) {
			continue
		}
		if unwell(r, running) {
			add(keyOf(r))
		}
	}
	return keys
}

// runningHooks are what the results of an operation say that runs, while its message
// says nothing yet.
func runningHooks(state *v1alpha1.OperationState) []manifest.Key {
	var keys []manifest.Key
	if state.SyncResult == nil {
		return keys
	}
	for _, r := range state.SyncResult.Resources {
		if r.HookPhase == v1alpha1.OperationRunning && r.HookType != "" {
			keys = append(keys, manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
		}
	}
	return keys
}

// unwell tells whether an object keeps its Application from being healthy. One that
// is missing is yet to come while an operation runs.
func unwell(r v1alpha1.ResourceStatus, running bool) bool {
	if r.Health == nil {
		return false
	}
	switch r.Health.Status {
	case v1alpha1.HealthProgressing, v1alpha1.HealthDegraded:
		return true
	case v1alpha1.HealthMissing:
		return !running
	case v1alpha1.HealthHealthy, v1alpha1.HealthSuspended, v1alpha1.HealthUnknown:
	}
	return false
}

func keyOf(r v1alpha1.ResourceStatus) manifest.Key {
	return manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// resolve gives names out of a message the group and namespace that the
// Application's objects have.
func resolve(app *v1alpha1.Application, named []manifest.Key) []manifest.Key {
	for i, key := range named {
		for _, r := range app.Status.Resources {
			if r.Kind == key.Kind && r.Name == key.Name && (key.Group == "" || key.Group == r.Group) {
				named[i] = keyOf(r)
			}
		}
	}
	return named
}

// Obstacles are the words of an Application about what keeps it that no object
// explains: windows, projects, sources, a wait for a person.
func Obstacles(app *v1alpha1.Application) []string {
	var words []string
	for _, c := range app.Status.Conditions {
		switch c.Type {
		case v1alpha1.ConditionSyncError:
			// It repeats the message of the operation.
		case v1alpha1.ConditionSyncWaiting, v1alpha1.ConditionRollbackPinned, v1alpha1.ConditionDeletionProgressing,
			v1alpha1.ConditionSharedResourceWarning, v1alpha1.ConditionFightWarning:
			words = append(words, string(c.Type)+": "+c.Message)
		default:
			if strings.HasSuffix(string(c.Type), "Error") {
				words = append(words, string(c.Type)+": "+c.Message)
			}
		}
	}
	annotations := app.GetAnnotations()
	outOfSync := app.Status.Sync.Status == v1alpha1.SyncStatusOutOfSync
	state := app.Status.OperationState
	idle := app.Operation == nil && (state == nil || state.Phase.Completed())
	switch {
	case annotations[v1alpha1.AnnotationSkipReconcileHere] == "true":
		words = append(words, "it is frozen: annotation "+v1alpha1.AnnotationSkipReconcileHere)
	case annotations[v1alpha1.AnnotationSkipReconcile] == "true" && annotations[v1alpha1.AnnotationAdopted] == "":
		words = append(words, "it is frozen: annotation "+v1alpha1.AnnotationSkipReconcile)
	case outOfSync && idle && !app.Spec.AutomatedEnabled():
		words = append(words, "it is OutOfSync and synced by hand: nobody has asked for a sync")
	case app.Status.Sync.Status == "" && len(app.Status.Conditions) == 0:
		words = append(words, "no controller has looked at it yet: does `wavetrain serve` run, and is it told to care for namespace "+app.Namespace+"?")
	}
	return append(words, waitingPrunes(app)...)
}

// waitingPrunes are the objects that are to go and wait for the end of who uses
// them, or for somebody's word.
func waitingPrunes(app *v1alpha1.Application) []string {
	var words []string
	for _, r := range app.Status.Resources {
		if told := pruneResult(app, keyOf(r)); r.RequiresPruning && told != "" {
			words = append(words, fmt.Sprintf("%s is to be pruned: %s", keyOf(r).Short(), told))
		}
	}
	return words
}

// pruneResult is what the last operation said about an object that it did not prune.
func pruneResult(app *v1alpha1.Application, key manifest.Key) string {
	state := app.Status.OperationState
	if state == nil || state.SyncResult == nil {
		return ""
	}
	for _, r := range state.SyncResult.Resources {
		if r.Status == v1alpha1.ResultCode(machine.PruneSkipped) && r.Kind == key.Kind && r.Name == key.Name && r.Group == key.Group && r.Namespace == key.Namespace {
			return r.Message
		}
	}
	return ""
}

// Standing is what an Application says of an object that it renders or is to prune:
// why it is not applied, or not gone. It is empty if there is nothing to say.
func Standing(app *v1alpha1.Application, key manifest.Key, missing bool) string {
	for _, r := range app.Status.Resources {
		if keyOf(r) != key || r.Hook {
			continue
		}
		switch told := pruneResult(app, key); {
		case r.RequiresPruning && told != "":
			return "to be pruned: " + told
		case r.RequiresPruning:
			return "no longer rendered, to be pruned"
		case missing && app.Status.OperationState != nil:
			return "not applied yet: " + app.Status.OperationState.Message
		case missing:
			return "not applied yet"
		}
	}
	return ""
}

func application(u *unstructured.Unstructured) bool {
	return u.GetKind() == "Application" && u.GroupVersionKind().Group == v1alpha1.GroupVersion().Group
}

// application is an Application that another waits for: its own words, and the
// object that it waits for itself if that is on the same cluster.
func (e Explainer) application(ctx context.Context, u *unstructured.Unstructured) (Link, target) {
	result := e.Judge(u)
	l := Link{Object: manifest.KeyOf(u), State: string(result.Status), Reason: result.Message, own: true}
	if result.Status == health.Healthy {
		return l, target{}
	}
	var app v1alpha1.Application
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &app); err != nil {
		return l, target{}
	}
	if state := app.Status.OperationState; state != nil && !state.Phase.Successful() {
		l.Reason, l.own, l.Since = state.Message, false, &state.StartedAt.Time
	} else if words := Obstacles(&app); len(words) > 0 {
		l.Reason, l.own = strings.Join(words, "; "), false
	}
	for _, key := range Questions(&app, nil) {
		if found, err := e.Cluster.Current(ctx, key); err == nil && e.complains(found) {
			// The rest of the message is what the chain says from here on.
			if at := strings.Index(l.Reason, key.Kind+"/"+key.Name); at >= 0 {
				l.Reason = l.Reason[:at+len(key.Kind+"/"+key.Name)]
			}
			return l, target{key: key}
		}
	}
	return l, target{}
}

// named finds objects in the message of an operation: "apps/Deployment/shop", and
// without a group "Secret/shop".
var named = regexp.MustCompile(`(?:^|[\s,;:(])((?:[a-z0-9.-]+/)?[A-Z][A-Za-z0-9]*/[a-z0-9][a-z0-9.-]*)`)

// elsewhere is what follows an object of another namespace in such a message.
var elsewhere = regexp.MustCompile(`^ in namespace ([a-z0-9-]+)`)

// Named returns the objects that the message of an operation names, in its order.
// Their namespace is the one given, unless the message names another.
func Named(message, namespace string) []manifest.Key {
	var keys []manifest.Key
	for _, at := range named.FindAllStringSubmatchIndex(message, -1) {
		parts := strings.Split(strings.TrimRight(message[at[2]:at[3]], "."), "/")
		key := manifest.Key{Namespace: namespace, Kind: parts[len(parts)-2], Name: parts[len(parts)-1]}
		if m := elsewhere.FindStringSubmatch(message[at[1]:]); m != nil {
			key.Namespace = m[1]
		}
		if len(parts) == 3 {
			key.Group = parts[0]
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

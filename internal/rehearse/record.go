// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// chronicle turns the states of objects into events.
type chronicle struct {
	mu sync.Mutex
	// rev is the revision that was committed last.
	rev     string
	objects map[types.UID]*seen
	// gone are the objects that were deleted.
	gone   map[types.UID]bool
	events []Event
	// operations are the attempts, in the order of their beginning.
	operations []Operation
	// changed is when something happened last that is not a heartbeat.
	changed time.Time
	// moved is when something happened last to an object that is no Application.
	moved time.Time
	// tell, if not nil, is told of every event.
	tell func(Event)
	// ahead is how far the time of the rehearsal is ahead of the real one.
	ahead func() time.Duration
	// revisions names commits.
	revisions map[string]string
}

// seen is what is known of an object.
type seen struct {
	object *unstructured.Unstructured
	key    manifest.Key
	// before is true for objects that were there before the rehearsal.
	before bool
	// generation at which the object was found healthy last.
	healthy bool
	health  health.Status
	waiting string
}

func newChronicle(tell func(Event)) *chronicle {
	return &chronicle{objects: map[types.UID]*seen{}, gone: map[types.UID]bool{}, tell: tell, revisions: map[string]string{}, ahead: func() time.Duration { return 0 }}
}

// step notes what is done by hand.
func (c *chronicle) step(at time.Time, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = at
	c.add(Event{Time: at, Object: "-", What: "step", Detail: text})
}

func (c *chronicle) add(e Event) {
	e.Rev = c.rev
	if !strings.HasPrefix(e.Object, "Application/") {
		c.moved = e.Time
	}
	c.events = append(c.events, e)
	if c.tell != nil {
		c.tell(e)
	}
}

// see takes a state of an object.
func (c *chronicle) see(s timeline.Sighting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := s.Object
	old, known := c.objects[u.GetUID()]
	event := func(what, detail string) {
		c.add(Event{
			Time: s.Time, App: c.appOf(u), Namespace: u.GetNamespace(), Object: manifest.KeyOf(u).Short(), What: what, Detail: detail,
		})
	}
	if s.Deleted {
		delete(c.objects, u.GetUID())
		c.gone[u.GetUID()] = true
		c.changed = s.Time
		event("deleted", "")
		return
	}
	now := &seen{object: u, key: manifest.KeyOf(u), before: !known && !s.Created}
	if known {
		now.before, now.healthy, now.health, now.waiting = old.before, old.healthy, old.health, old.waiting
	}
	c.objects[u.GetUID()] = now
	if !known && !s.Created {
		now.settle(u)
		return
	}
	if isApplication(u) {
		c.seeOperation(u, s.Time)
	}
	if !known {
		c.changed = s.Time
		event("created", "")
		now.judge(u, event)
		return
	}
	c.compare(old.object, u, s.Time, event)
	now.judge(u, event)
}

// compare tells what changed between two states of an object.
func (c *chronicle) compare(old, u *unstructured.Unstructured, at time.Time, event func(what, detail string)) {
	if old.GetDeletionTimestamp() == nil && u.GetDeletionTimestamp() != nil {
		c.changed = at
		event("deleting", strings.Join(u.GetFinalizers(), ", "))
	}
	if paths := changedPaths(content(old), content(u)); len(paths) > 0 {
		c.changed = at
		event("patched", strings.Join(paths, ", "))
	}
	if isApplication(u) {
		if changed := applicationChange(old, u); changed != "" {
			c.changed = at
			event("status", changed)
		}
		return
	}
	before, now := statusText(old), statusText(u)
	if before != now {
		c.changed = at
		event("status", now)
	}
}

// judge tells of what an object has become.
func (n *seen) judge(u *unstructured.Unstructured, event func(what, detail string)) {
	result := health.Of(u)
	if text := waitingText(u); text != n.waiting {
		if n.waiting = text; text != "" {
			event("waiting", text)
		}
	}
	if !result.Known {
		n.health = ""
		return
	}
	if result.Status == n.health {
		return
	}
	n.health = result.Status
	switch result.Status {
	case health.Healthy:
		if finished(u) {
			event("completed", result.Message)
		} else {
			event("ready", result.Message)
		}
	case health.Degraded:
		event("failed", result.Message)
	case health.Progressing, health.Suspended, health.Missing, health.Unknown:
	}
}

// settle notes the health of an object without telling of it.
func (n *seen) settle(u *unstructured.Unstructured) {
	n.judge(u, func(string, string) {})
}

func finished(u *unstructured.Unstructured) bool {
	return u.GetKind() == "Job" || u.GetKind() == "Pod" && field.Text(u.Object, "status.phase") == "Succeeded"
}

// waitingText says why the containers of a Pod wait.
func waitingText(u *unstructured.Unstructured) string {
	if u.GetKind() != "Pod" {
		return ""
	}
	var words []string
	for _, list := range []string{"status.initContainerStatuses", "status.containerStatuses"} {
		for _, s := range field.List(u.Object, list) {
			reason := field.Text(s, "state.waiting.reason")
			if reason == "" || reason == "PodInitializing" || reason == "ContainerCreating" {
				continue
			}
			words = append(words, strings.TrimSuffix(reason+": "+field.Text(s, "state.waiting.message"), ": "))
		}
	}
	return strings.Join(words, "; ")
}

// statusText is what matters of a status.
func statusText(u *unstructured.Unstructured) string {
	var words []string
	for _, c := range field.List(u.Object, "status.conditions") {
		words = append(words, strings.TrimSuffix(field.Text(c, "type")+"="+field.Text(c, "status")+" ("+field.Text(c, "reason")+")", " ()"))
	}
	for _, name := range []string{"phase", "syncedResourceVersion", "observedGeneration", "succeeded", "failed", "active", "replicas", "readyReplicas", "updatedReplicas"} {
		if v := field.At(u.Object, "status."+name); v != nil {
			words = append(words, fmt.Sprintf("%s=%v", name, v))
		}
	}
	return strings.Join(words, ", ")
}

func applicationChange(old, u *unstructured.Unstructured) string {
	var words []string
	for _, path := range []string{"status.sync.status", "status.health.status", "status.operationState.phase", "status.operationState.message"} {
		if was, is := field.Text(old.Object, path), field.Text(u.Object, path); was != is {
			words = append(words, strings.TrimPrefix(path, "status.")+"="+is)
		}
	}
	return strings.Join(words, ", ")
}

// content is an object without what the API server and controllers add to it.
func content(u *unstructured.Unstructured) map[string]any {
	object := maps.Clone(u.Object)
	delete(object, "status")
	delete(object, "operation")
	metadata := maps.Clone(field.Map(object, "metadata"))
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers"} {
		delete(metadata, name)
	}
	object["metadata"] = metadata
	return object
}

// maxPaths is how many changed fields an event names.
const maxPaths = 12

// changedPaths are the fields in which two objects differ. Values of Secrets are
// not shown, and neither are others.
func changedPaths(a, b any) []string {
	var paths []string
	collectPaths(a, b, "", &paths)
	slices.Sort(paths)
	if len(paths) > maxPaths {
		paths = append(paths[:maxPaths], fmt.Sprintf("and %d more", len(paths)-maxPaths))
	}
	return paths
}

func collectPaths(a, b any, path string, paths *[]string) {
	one, okOne := a.(map[string]any)
	other, okOther := b.(map[string]any)
	if okOne && okOther {
		for _, key := range slices.Sorted(maps.Keys(one)) {
			collectPaths(one[key], other[key], field.Join(path, key), paths)
		}
		for _, key := range slices.Sorted(maps.Keys(other)) {
			if _, both := one[key]; !both {
				*paths = append(*paths, field.Join(path, key))
			}
		}
		return
	}
	listA, okA := a.([]any)
	listB, okB := b.([]any)
	if okA && okB && len(listA) == len(listB) {
		for i := range listA {
			collectPaths(listA[i], listB[i], field.Index(path, i), paths)
		}
		return
	}
	if fmt.Sprint(a) != fmt.Sprint(b) {
		*paths = append(*paths, path)
	}
}

func isApplication(u *unstructured.Unstructured) bool {
	return u.GetKind() == "Application" && u.GroupVersionKind().Group == v1alpha1.GroupVersion().Group
}

// appOf is the Application that an object, or one of its owners, belongs to.
func (c *chronicle) appOf(u *unstructured.Unstructured) string {
	for range maxOwners {
		// A ReplicaSet has the annotations of its Deployment.
		if id, err := manifest.ParseTrackingID(u.GetAnnotations()[manifest.AnnotationTrackingID]); err == nil && id.Names(manifest.KeyOf(u)) {
			// An Application of another namespace is written with an underscore, which no
			// name has.
			return strings.Replace(id.App, "_", "/", 1)
		}
		owner := metav1.GetControllerOfNoCopy(u)
		if owner == nil || c.objects[owner.UID] == nil {
			return ""
		}
		u = c.objects[owner.UID].object
	}
	return ""
}

// maxOwners bounds how far owners are followed.
const maxOwners = 5

// named is the revision that a commit stands for.
func (c *chronicle) named(commit string) string {
	if name, ok := c.revisions[commit]; ok {
		return name
	}
	return commit
}

// committed notes that a revision is the branch's head now.
func (c *chronicle) committed(rev, commit string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rev, c.changed = rev, at
	c.revisions[commit] = rev
}

// quietSince is when something happened last.
func (c *chronicle) quietSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// stillSince is when something happened last to an object that is no Application.
func (c *chronicle) stillSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved
}

// state is what there is now, without what was there before the rehearsal.
func (c *chronicle) state() ([]ObjectState, map[string]AppState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects := []ObjectState{}
	apps := map[string]AppState{}
	for _, s := range c.objects {
		if isApplication(s.object) {
			apps[appLabel(s.key.Namespace, s.key.Name)] = appState(s.object)
		}
		if s.before {
			continue
		}
		result := health.Of(s.object)
		status := string(result.Status)
		if !result.Known {
			status = ""
		}
		objects = append(objects, ObjectState{
			Namespace: s.key.Namespace, Object: s.key.Short(), Health: status, ResourceVersion: s.object.GetResourceVersion(),
			UID: string(s.object.GetUID()), Generation: s.object.GetGeneration(),
		})
	}
	slices.SortFunc(objects, func(a, b ObjectState) int {
		return strings.Compare(a.Namespace+"\x00"+a.Object+"\x00"+a.UID, b.Namespace+"\x00"+b.Object+"\x00"+b.UID)
	})
	return objects, apps
}

func appState(u *unstructured.Unstructured) AppState {
	s := AppState{
		Sync: field.Text(u.Object, "status.sync.status"), Health: field.Text(u.Object, "status.health.status"),
		Operation: field.Text(u.Object, "status.operationState.phase"), Message: field.Text(u.Object, "status.operationState.message"),
	}
	for _, c := range field.List(u.Object, "status.conditions") {
		s.Conditions = append(s.Conditions, field.Text(c, "type")+": "+field.Text(c, "message"))
	}
	return s
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Recorder notes what happens on a cluster from the moment it was started.
type Recorder struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	notify    func(Moment)
	// see is told of every state of every object, silent are the resources that
	// nobody is told of.
	see    func(Sighting)
	silent []string

	mu       sync.Mutex
	watched  map[schema.GroupVersionResource]bool
	objects  map[types.UID]*known
	moments  []Moment
	watchers sync.WaitGroup
}

// Record starts watching every kind the cluster serves, and those it comes to
// serve later, until ctx ends. It returns once all watches of the present kinds
// are open, so that nothing that happens afterwards is missed. notify, if not
// nil, is told of every moment and must not block.
func Record(ctx context.Context, cfg *rest.Config, notify func(Moment)) (*Recorder, error) {
	return record(ctx, cfg, &Recorder{notify: notify, silent: quiet()})
}

// RecordPods is Record of Pods as well.
func RecordPods(ctx context.Context, cfg *rest.Config, notify func(Moment)) (*Recorder, error) {
	return record(ctx, cfg, &Recorder{notify: notify, silent: without(quiet(), "pods")})
}

func without(resources []string, names ...string) []string {
	return slices.DeleteFunc(resources, func(resource string) bool { return slices.Contains(names, resource) })
}

// Sighting is a state of an object as a watch showed it.
type Sighting struct {
	Object *unstructured.Unstructured
	Time   time.Time
	// Created is true for the first state of an object that was made during the
	// recording, Deleted for the last one of an object that is gone. An object
	// that was there before is neither at first.
	Created, Deleted bool
}

// Watch records like Record, and tells see of every state of every object, Pods
// included. see must not block, and must not change the object.
func Watch(ctx context.Context, cfg *rest.Config, see func(Sighting)) (*Recorder, error) {
	return record(ctx, cfg, &Recorder{see: see, silent: without(quiet(), "pods", "replicasets")})
}

func record(ctx context.Context, cfg *rest.Config, r *Recorder) (*Recorder, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", cfg.Host, err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", cfg.Host, err)
	}
	r.client, r.discovery = client, disco
	r.watched, r.objects = map[schema.GroupVersionResource]bool{}, map[types.UID]*known{}
	if err := r.watchServedKinds(ctx); err != nil {
		return nil, err
	}
	if err := r.watchDefinedKinds(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Moments returns what was noted so far, by resourceVersion.
func (r *Recorder) Moments() []Moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(r.moments), func(a, b Moment) int {
		if a.ResourceVersion < b.ResourceVersion {
			return -1
		}
		if a.ResourceVersion > b.ResourceVersion {
			return 1
		}
		return 0
	})
}

// Wait returns when all watches have ended after ctx was cancelled.
func (r *Recorder) Wait() { r.watchers.Wait() }

// quiet are resources whose every heartbeat would be an event and which no
// manifest orders.
func quiet() []string {
	return []string{"events", "leases", "endpoints", "endpointslices", "nodes", "pods", "replicasets", "controllerrevisions", "componentstatuses", "releaserecords"}
}

// watchServedKinds opens a watch for every kind that discovery lists.
func (r *Recorder) watchServedKinds(ctx context.Context) error {
	lists, err := r.discovery.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return fmt.Errorf("discover the kinds of the cluster: %w", err)
	}
	var opening sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "watch") || slices.Contains(r.silent, resource.Name) {
				continue
			}
			gvr := gv.WithResource(resource.Name)
			if !r.claim(gvr) {
				continue
			}
			opening.Go(func() {
				if err := r.open(ctx, gvr, false); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failures = append(failures, err)
				}
			})
		}
	}
	opening.Wait()
	return errors.Join(failures...)
}

func (r *Recorder) claim(gvr schema.GroupVersionResource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watched[gvr] {
		return false
	}
	r.watched[gvr] = true
	return true
}

func (r *Recorder) release(gvr schema.GroupVersionResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watched, gvr)
}

// open lists what exists and watches from there. What exists is news only when
// the kind itself appeared during the recording.
func (r *Recorder) open(ctx context.Context, gvr schema.GroupVersionResource, late bool) error {
	rv, err := r.listNow(ctx, gvr, appearance{created: late, inferred: late})
	if err != nil {
		return err
	}
	w, err := r.watchFrom(ctx, gvr, rv)
	if err != nil {
		return err
	}
	r.watchers.Go(func() { r.follow(ctx, gvr, w, rv) })
	return nil
}

// listNow notes what exists and returns the resourceVersion to watch from.
func (r *Recorder) listNow(ctx context.Context, gvr schema.GroupVersionResource, seenAs appearance) (string, error) {
	list, err := r.client.Resource(gvr).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("list %s: %w", gvr.GroupResource(), err)
	}
	now := time.Now()
	for i := range list.Items {
		r.note(&list.Items[i], now, seenAs)
	}
	return list.GetResourceVersion(), nil
}

func (r *Recorder) watchFrom(ctx context.Context, gvr schema.GroupVersionResource, rv string) (watch.Interface, error) {
	w, err := r.client.Resource(gvr).Watch(ctx, metav1.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", gvr.GroupResource(), err)
	}
	return w, nil
}

// follow notes the events of a watch and opens it again where it broke off, as it
// does when the definition of its kind changes. A kind that is no longer served
// ends it.
func (r *Recorder) follow(ctx context.Context, gvr schema.GroupVersionResource, w watch.Interface, rv string) {
	defer r.release(gvr)
	for {
		expired := false
		for e := range w.ResultChan() {
			if e.Type == watch.Error {
				expired = isExpired(apierrors.FromObject(e.Object))
				continue
			}
			if obj, ok := e.Object.(*unstructured.Unstructured); ok {
				rv = obj.GetResourceVersion()
				r.handle(ctx, e.Type, obj)
			}
		}
		var err error
		if w, rv, err = r.resume(ctx, gvr, rv, expired); err != nil {
			return
		}
	}
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// Limits of waiting for a kind that is not served at the moment: a definition
// that changes takes its kind away for some milliseconds, a server that restarts
// for some seconds.
const (
	servedAgain = 20 * time.Millisecond
	notServed   = 10 * time.Second
)

// resume opens a watch again where it broke off, at rv. Where the server no longer
// knows what happened since, what is there now is noted as inferred.
func (r *Recorder) resume(ctx context.Context, gvr schema.GroupVersionResource, rv string, expired bool) (w watch.Interface, from string, err error) {
	// The context of the poll ends with it, that of a watch must not.
	err = wait.PollUntilContextTimeout(ctx, servedAgain, notServed, true, func(context.Context) (bool, error) {
		var err error
		if expired {
			if rv, err = r.listNow(ctx, gvr, appearance{created: true, inferred: true}); err != nil {
				return false, nil //nolint:nilerr // the poll asks again
			}
			expired = false
		}
		w, err = r.watchFrom(ctx, gvr, rv)
		expired = isExpired(err)
		return err == nil, nil
	})
	return w, rv, err
}

func (r *Recorder) handle(ctx context.Context, kind watch.EventType, obj *unstructured.Unstructured) {
	switch kind {
	case watch.Added:
		r.note(obj, time.Now(), appearance{created: true})
	case watch.Modified:
		r.note(obj, time.Now(), appearance{})
		r.watchDefined(ctx, obj)
	case watch.Deleted:
		r.forget(obj, time.Now())
	case watch.Bookmark, watch.Error:
	}
}

// watchDefinedKinds opens watches for kinds that are defined already and that
// discovery, which lags behind, does not list yet.
func (r *Recorder) watchDefinedKinds(ctx context.Context) error {
	crds := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	list, err := r.client.Resource(crds).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", crds.GroupResource(), err)
	}
	var opening errgroup.Group
	for i := range list.Items {
		for _, gvr := range r.definedKinds(&list.Items[i]) {
			if r.claim(gvr) {
				opening.Go(func() error { return r.openWhenServed(ctx, gvr, false) })
			}
		}
	}
	return opening.Wait()
}

// watchDefined watches the kind that a CustomResourceDefinition has just begun to
// serve.
func (r *Recorder) watchDefined(ctx context.Context, obj *unstructured.Unstructured) {
	for _, gvr := range r.definedKinds(obj) {
		if r.claim(gvr) {
			r.watchers.Go(func() {
				// A kind that does not come to be served has nothing to record.
				_ = r.openWhenServed(ctx, gvr, true)
			})
		}
	}
}

// openWhenServed is open for a kind that is established, which it is a moment
// before it is really served.
func (r *Recorder) openWhenServed(ctx context.Context, gvr schema.GroupVersionResource, late bool) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, servedAgain, notServed, true, func(context.Context) (bool, error) {
		last = r.open(ctx, gvr, late)
		return last == nil, nil
	})
	if err != nil {
		r.release(gvr)
		return errors.Join(err, last)
	}
	return nil
}

// definedKinds are the kinds that an established CustomResourceDefinition stores.
func (r *Recorder) definedKinds(obj *unstructured.Unstructured) []schema.GroupVersionResource {
	if obj.GetKind() != "CustomResourceDefinition" || health.Of(obj).Status != health.Healthy {
		return nil
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &crd); err != nil {
		return nil
	}
	var kinds []schema.GroupVersionResource
	for _, v := range crd.Spec.Versions {
		if v.Storage && !slices.Contains(r.silent, crd.Spec.Names.Plural) {
			kinds = append(kinds, schema.GroupVersionResource{Group: crd.Spec.Group, Version: v.Name, Resource: crd.Spec.Names.Plural})
		}
	}
	return kinds
}

// appearance says whether a state of an object shows its creation.
type appearance struct {
	created bool
	// inferred creations were seen only after the fact.
	inferred bool
}

func (r *Recorder) note(obj *unstructured.Unstructured, at time.Time, seenAs appearance) {
	r.mu.Lock()
	k, seen := r.objects[obj.GetUID()]
	if !seen {
		k = &known{}
		r.objects[obj.GetUID()] = k
	}
	moments := k.observe(obj, at, seenAs.created && !seen)
	for i := range moments {
		moments[i].Inferred = seenAs.inferred
	}
	r.moments = append(r.moments, moments...)
	r.mu.Unlock()
	r.tell(moments)
	if r.see != nil {
		r.see(Sighting{Object: obj, Time: at, Created: seenAs.created && !seen})
	}
}

func (r *Recorder) forget(obj *unstructured.Unstructured, at time.Time) {
	m := Moment{Key: manifest.KeyOf(obj), UID: obj.GetUID(), What: Deleted, ResourceVersion: version(obj), Time: at}
	r.mu.Lock()
	delete(r.objects, obj.GetUID())
	r.moments = append(r.moments, m)
	r.mu.Unlock()
	r.tell([]Moment{m})
	if r.see != nil {
		r.see(Sighting{Object: obj, Time: at, Deleted: true})
	}
}

func (r *Recorder) tell(moments []Moment) {
	if r.notify == nil {
		return
	}
	for _, m := range moments {
		r.notify(m)
	}
}

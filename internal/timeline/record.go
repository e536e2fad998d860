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

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	r := &Recorder{
		client: client, discovery: disco, notify: notify,
		watched: map[schema.GroupVersionResource]bool{}, objects: map[types.UID]*known{},
	}
	if err := r.watchNewKinds(ctx); err != nil {
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

// watchNewKinds opens a watch for every kind that has none yet.
func (r *Recorder) watchNewKinds(ctx context.Context) error {
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
			if !slices.Contains(resource.Verbs, "watch") || slices.Contains(quiet(), resource.Name) {
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
	list, err := r.client.Resource(gvr).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", gvr.GroupResource(), err)
	}
	now := time.Now()
	for i := range list.Items {
		r.note(&list.Items[i], now, appearance{created: late, inferred: late})
	}
	w, err := r.watchFrom(ctx, gvr, list.GetResourceVersion())
	if err != nil {
		return err
	}
	r.watchers.Go(func() { r.follow(ctx, gvr, w, list.GetResourceVersion()) })
	return nil
}

func (r *Recorder) watchFrom(ctx context.Context, gvr schema.GroupVersionResource, rv string) (watch.Interface, error) {
	w, err := r.client.Resource(gvr).Watch(ctx, metav1.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", gvr.GroupResource(), err)
	}
	return w, nil
}

// follow notes the events of a watch and opens it again where it broke off. A
// kind that is no longer served ends it.
func (r *Recorder) follow(ctx context.Context, gvr schema.GroupVersionResource, w watch.Interface, rv string) {
	defer r.release(gvr)
	for {
		for e := range w.ResultChan() {
			obj, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			rv = obj.GetResourceVersion()
			r.handle(ctx, e.Type, obj)
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if w, err = r.watchFrom(ctx, gvr, rv); err != nil {
			if apierrors.IsNotFound(err) || ctx.Err() != nil {
				return
			}
			// The server is busy or restarting; it is asked again, as kubectl
			// would, after a breath.
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
			if w, err = r.watchFrom(ctx, gvr, rv); err != nil {
				return
			}
		}
	}
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

// watchDefined watches the kind that a CustomResourceDefinition has just begun to
// serve.
func (r *Recorder) watchDefined(ctx context.Context, obj *unstructured.Unstructured) {
	if obj.GetKind() != "CustomResourceDefinition" || health.Of(obj).Status != health.Healthy {
		return
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &crd); err != nil {
		return
	}
	for _, v := range crd.Spec.Versions {
		gvr := schema.GroupVersionResource{Group: crd.Spec.Group, Version: v.Name, Resource: crd.Spec.Names.Plural}
		if !v.Storage || slices.Contains(quiet(), gvr.Resource) || !r.claim(gvr) {
			continue
		}
		r.watchers.Go(func() {
			// Established comes a moment before the kind is really served.
			for range 50 {
				if r.open(ctx, gvr, true) == nil {
					return
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
			r.release(gvr)
		})
	}
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
}

func (r *Recorder) forget(obj *unstructured.Unstructured, at time.Time) {
	m := Moment{Key: manifest.KeyOf(obj), UID: obj.GetUID(), What: Deleted, ResourceVersion: version(obj), Time: at}
	r.mu.Lock()
	delete(r.objects, obj.GetUID())
	r.moments = append(r.moments, m)
	r.mu.Unlock()
	r.tell([]Moment{m})
}

func (r *Recorder) tell(moments []Moment) {
	if r.notify == nil {
		return
	}
	for _, m := range moments {
		r.notify(m)
	}
}

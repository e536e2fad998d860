// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// watches are the kinds that rules are about, whatever they are, watched from when they are served.
type watches struct {
	engine *engine
	ctx    context.Context // that of the simulation: informers start whenever a rule or a CRD appears
	mu     sync.Mutex
	// wg is waited for at the end; no informer is started after stopped.
	wg      sync.WaitGroup
	stopped bool
	active  map[schema.GroupKind]*watch
}

// watch is the watch of one kind.
type watch struct {
	kind     kind
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
}

func newWatches(ctx context.Context, e *engine) *watches {
	return &watches{engine: e, ctx: ctx, active: map[schema.GroupKind]*watch{}}
}

// crds is the resource of the kinds that come and go.
func crds() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// startCRDs follows the CRDs and returns once those that exist are known.
func (w *watches) startCRDs(ctx context.Context) bool {
	informer := dynamicinformer.NewFilteredDynamicInformer(w.engine.dynamic, crds(), "", 0, nil, nil).Informer()
	on(informer, func(crd *unstructured.Unstructured, gone bool) {
		if w.engine.kinds.setCRD(crd, gone) {
			w.adjust()
			w.engine.changed("")
		}
	})
	w.wg.Go(func() { informer.RunWithContext(w.ctx) })
	return cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
}

// adjust starts the watches that rules need and that can be had, and stops those of kinds that are gone.
func (w *watches) adjust() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	for _, name := range w.engine.rules.kinds() {
		for _, k := range w.engine.kinds.named(name) {
			if w.active[k.gvk.GroupKind()] == nil {
				w.start(k)
			}
		}
	}
	for key, running := range w.active {
		if k, err := w.engine.kinds.of(typed(running.kind.gvk)); err != nil || k.gvr.Resource != running.kind.gvr.Resource {
			running.stop()
			delete(w.active, key)
		}
	}
}

func typed(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	return o
}

func (w *watches) start(k kind) {
	ctx, stop := context.WithCancel(w.ctx)
	informer := dynamicinformer.NewFilteredDynamicInformer(w.engine.dynamic, k.gvr, "",
		0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, nil).Informer()
	// Setting a transform fails only on an informer that runs already.
	_ = informer.SetTransform(forgetManagers)
	on(informer, func(o *unstructured.Unstructured, gone bool) { w.engine.objectChanged(k, o, gone) })
	w.active[k.gvk.GroupKind()] = &watch{kind: k, informer: informer, stop: stop}
	w.wg.Go(func() { informer.RunWithContext(ctx) })
}

// wait returns when all informers have ended, which the end of the context brings about.
func (w *watches) wait() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.wg.Wait()
}

// get returns an object of a watched kind.
func (w *watches) get(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, running := range w.active {
		if running.kind.gvr == gvr {
			return running.get(namespace, name)
		}
	}
	return nil
}

func (r *watch) get(namespace, name string) *unstructured.Unstructured {
	key := name
	if r.kind.namespaced {
		key = namespace + "/" + name
	}
	o, found, err := r.informer.GetStore().GetByKey(key)
	if err != nil || !found {
		return nil
	}
	object, _ := o.(*unstructured.Unstructured)
	return object
}

// exists reports whether an object of a watched kind exists.
func (w *watches) exists(kind, namespace, name string) bool {
	served := w.engine.kinds.named(kind)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range served {
		if running := w.active[k.gvk.GroupKind()]; running != nil && running.get(namespace, name) != nil {
			return true
		}
	}
	return false
}

// enqueueAll has every object of a watched kind looked at again.
func (w *watches) enqueueAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, running := range w.active {
		for _, o := range running.informer.GetStore().List() {
			if object, ok := o.(*unstructured.Unstructured); ok {
				w.engine.queue.Add(objectItem(running.kind, object))
			}
		}
	}
}

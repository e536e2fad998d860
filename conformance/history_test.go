// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// history is what the watches of the stage have shown.
type history struct {
	mu sync.Mutex
	// moments by namespace; those of cluster-scoped objects under "".
	moments map[string][]timeline.Moment
	// applications holds every state of every Application, the latest last; a
	// deleted one has none.
	applications map[types.NamespacedName][]*v1alpha1.Application
}

func newHistory() *history {
	return &history{moments: map[string][]timeline.Moment{}, applications: map[types.NamespacedName][]*v1alpha1.Application{}}
}

func (h *history) note(m timeline.Moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moments[m.Key.Namespace] = append(h.moments[m.Key.Namespace], m)
}

// followApplications notes every state of every Application until ctx ends.
func (h *history) followApplications(ctx context.Context, cfg *rest.Config, kinds *runtime.Scheme) error {
	watches, err := cache.New(cfg, cache.Options{Scheme: kinds})
	if err != nil {
		return err
	}
	informer, err := watches.GetInformer(ctx, &v1alpha1.Application{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h.noteApplication(obj) },
		UpdateFunc: func(_, obj any) { h.noteApplication(obj) },
		DeleteFunc: func(obj any) { h.forgetApplication(obj) },
	})
	if err != nil {
		return err
	}
	go func() {
		// It ends with ctx, and the test with it.
		_ = watches.Start(ctx)
	}()
	if !watches.WaitForCacheSync(ctx) {
		return errors.New("the Applications cannot be watched")
	}
	return nil
}

func (h *history) noteApplication(obj any) {
	if app, ok := obj.(*v1alpha1.Application); ok {
		name := types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.applications[name] = append(h.applications[name], app)
	}
}

func (h *history) forgetApplication(obj any) {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if app, ok := obj.(*v1alpha1.Application); ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.applications, types.NamespacedName{Namespace: app.Namespace, Name: app.Name})
	}
}

// states returns every state of an Application so far.
func (h *history) states(name types.NamespacedName) []*v1alpha1.Application {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.applications[name]
}

// find returns what happened to the objects that r names, in order.
func (h *history) find(r ref, what timeline.What) []timeline.Moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []timeline.Moment
	for _, namespace := range []string{r.namespace, ""} {
		for _, m := range h.moments[namespace] {
			if m.What == what && r.matches(m) {
				found = append(found, m)
			}
		}
		if r.namespace == "" {
			break
		}
	}
	return found
}

// matches tells whether something happened to an object that r names.
func (r ref) matches(m timeline.Moment) bool {
	named, err := path.Match(r.name, m.Key.Name)
	return err == nil && named && m.Key.Kind == r.kind && (r.group == "" || r.group == m.Key.Group)
}

// ref names one object, or several if the name has wildcards.
type ref struct {
	kind, group, namespace, name string
}

func (r ref) String() string { return fmt.Sprintf("%s/%s", r.kind, r.name) }

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watcherAgent is the user agent of the bare watcher.
const watcherAgent = "bench-watcher"

// bareWatcher heals as simply as it can be done: a watch per kind, and an apply of
// what should be for every event that shows an edit. The function it returns stops
// it and says whether an apply failed.
func (s *stage) bareWatcher(ctx context.Context, workloads []workload) (stop func() error, err error) {
	cfg := rest.CopyConfig(s.config)
	cfg.UserAgent = watcherAgent
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	healer := *s
	healer.dynamic = client
	desired := map[objectRef]*unstructured.Unstructured{}
	kinds := map[schema.GroupVersionResource]bool{}
	for _, w := range workloads {
		for _, obj := range w.objects() {
			desired[refOf(obj)] = obj
			kinds[resourceOf(obj)] = true
		}
	}
	var watching, healing sync.WaitGroup
	var mu sync.Mutex
	var failed error
	var watches []watch.Interface
	for kind := range kinds {
		w, err := client.Resource(kind).Namespace(workloads[0].namespace).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		watches = append(watches, w)
		watching.Go(func() {
			for e := range w.ResultChan() {
				live, ok := e.Object.(*unstructured.Unstructured)
				if !ok || !edited(live) {
					continue
				}
				ref := objectRef{Resource: kind.Resource, Namespace: live.GetNamespace(), Name: live.GetName()}
				healing.Go(func() {
					if err := healer.apply(ctx, desired[ref], false); err != nil {
						mu.Lock()
						failed = err
						mu.Unlock()
					}
				})
			}
		})
	}
	return func() error {
		for _, w := range watches {
			w.Stop()
		}
		watching.Wait()
		healing.Wait()
		return failed
	}, nil
}

// edited tells whether somebody has edited a field and still owns it.
func edited(obj *unstructured.Unstructured) bool {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == editManager {
			return true
		}
	}
	return false
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// KindsLabelled returns the namespaced kinds, of those that are served and not
// watched, of which an object that no other owns has a label with this value. A kind
// that may not be read is left out.
func (c *Cluster) KindsLabelled(ctx context.Context, label, value string) ([]schema.GroupKind, error) {
	if err := c.catalog.load(ctx); err != nil {
		return nil, err
	}
	options := metav1.ListOptions{Limit: pageOfUnowned, LabelSelector: labels.Set{label: value}.String()}
	var mu sync.Mutex
	var found []schema.GroupKind
	var faults []error
	var running sync.WaitGroup
	places := make(chan struct{}, listsAtOnce)
	for _, res := range c.unwatched() {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			has, err := c.hasUnowned(ctx, res, options)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				faults = append(faults, err)
			}
			if has {
				found = append(found, res.GVK.GroupKind())
			}
		})
	}
	running.Wait()
	slices.SortFunc(found, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return found, errors.Join(faults...)
}

func (c *Cluster) hasUnowned(ctx context.Context, res Resource, options metav1.ListOptions) (bool, error) {
	for {
		var page *metav1.PartialObjectMetadataList
		about := manifest.Key{Group: res.GVK.Group, Kind: res.GVK.Kind}
		_, _, err := c.try(ctx, call{op: "list", key: about, do: func(ctx context.Context) (out *unstructured.Unstructured, err error) {
			page, err = c.meta.Resource(res.GVR).List(ctx, options)
			return nil, err
		}})
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(page.Items, func(m metav1.PartialObjectMetadata) bool { return len(m.OwnerReferences) == 0 }) {
			return true, nil
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return false, nil
		}
	}
}

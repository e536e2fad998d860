// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// FetchAll lists the objects of a kind in a namespace, in all of them within reach
// if it is empty, from the API server.
func (c *Cluster) FetchAll(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error) {
	res, err := c.catalog.resolve(ctx, gvk)
	if err != nil {
		return nil, err
	}
	if namespace == "" && res.Namespaced && c.reach.Bounded() {
		return c.fetchEach(ctx, gvk)
	}
	var list *unstructured.UnstructuredList
	key := manifest.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace}
	_, _, err = c.try(ctx, call{op: "list", key: key, do: func(ctx context.Context) (*unstructured.Unstructured, error) {
		var err error
		list, err = c.client(res, namespace).List(ctx, metav1.ListOptions{})
		return nil, err
	}})
	return list, err
}

// fetchEach lists namespace by namespace.
func (c *Cluster) fetchEach(ctx context.Context, gvk schema.GroupVersionKind) (*unstructured.UnstructuredList, error) {
	var all *unstructured.UnstructuredList
	for _, namespace := range c.reach.Namespaces {
		list, err := c.FetchAll(ctx, gvk, namespace)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = list
		default:
			all.Items = append(all.Items, list.Items...)
		}
	}
	return all, nil
}

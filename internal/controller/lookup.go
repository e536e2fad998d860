// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/helm"
)

// Switches of what makes a rendering depend on the cluster.
const (
	optionNoLookup = "Lookup=false"
	optionRenew    = "KeepUnstable=false"
)

// lookup answers a chart's lookup from the destination: what the Application's
// project permits to be deployed there may be read. For everything else, and for
// kinds that the cluster does not serve, the answer is that there is nothing.
func (s *session) lookup(ctx context.Context, q helm.Lookup) (map[string]any, error) {
	if err := s.loadProject(ctx); err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(q.APIVersion, q.Kind)
	namespaced, served := s.dest.Scope(gvk.GroupKind())
	if !served {
		return nil, nil
	}
	key := manifest.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: q.Namespace, Name: q.Name}
	if !namespaced {
		key.Namespace = ""
	}
	if q.Name == "" {
		return s.lookupAll(ctx, gvk, key.Namespace)
	}
	if s.forbids(key) != "" {
		return nil, nil
	}
	live, err := s.dest.Fetch(ctx, key, gvk.Version)
	if err != nil {
		return nil, unlessNothing(err)
	}
	return live.Object, nil
}

// lookupAll lists a kind, without what the project does not permit.
func (s *session) lookupAll(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (map[string]any, error) {
	list, err := s.dest.FetchAll(ctx, gvk, namespace)
	if err != nil {
		return nil, unlessNothing(err)
	}
	kept := list.Items[:0]
	for _, item := range list.Items {
		if s.forbids(manifest.KeyOf(&item)) == "" {
			kept = append(kept, item)
		}
	}
	list.Items = kept
	return (&unstructured.UnstructuredList{Object: list.Object, Items: kept}).UnstructuredContent(), nil
}

// unlessNothing returns errors that are no answer. That something does not exist,
// is not served or may not be read is one: there is nothing.
func unlessNothing(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || cluster.IsUnknownKind(err) {
		return nil
	}
	return err
}

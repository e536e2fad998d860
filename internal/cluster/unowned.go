// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Unowned is an object of a namespace that no other object owns.
type Unowned struct {
	Key manifest.Key
	// TrackingID is the object's tracking annotation, as it is written.
	TrackingID string
}

const (
	// listsAtOnce bounds how many kinds are listed side by side.
	listsAtOnce = 4
	// pageOfUnowned bounds one answer of a list.
	pageOfUnowned = 500
)

// WatchedUnowned returns the unowned objects of a namespace whose kinds are
// watched, ordered by key. It asks nobody.
func (c *Cluster) WatchedUnowned(namespace string) []Unowned {
	var found []Unowned
	for _, e := range c.store.unownedIn(namespace) {
		key := e.key()
		// Only these need to be decoded: what owns them is written elsewhere.
		if key.GroupKind() == secretKind() && e.tracking() == "" && ofServiceAccount(e.object().GetAnnotations()) {
			continue
		}
		found = append(found, Unowned{Key: key, TrackingID: e.tracking()})
	}
	return found
}

// ListUnowned lists the unowned objects of a namespace whose kinds are served but
// not watched, their metadata alone, ordered by key. A kind that may not be read
// is left out.
func (c *Cluster) ListUnowned(ctx context.Context, namespace string) ([]Unowned, error) {
	if err := c.catalog.load(ctx); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []Unowned
	var faults []error
	var running sync.WaitGroup
	places := make(chan struct{}, listsAtOnce)
	for _, res := range c.unwatched() {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			list, err := c.listUnowned(ctx, res, namespace)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				faults = append(faults, err)
			}
			found = append(found, list...)
		})
	}
	running.Wait()
	slices.SortFunc(found, func(a, b Unowned) int { return a.Key.Compare(b.Key) })
	return found, errors.Join(faults...)
}

// Watches reports whether somebody has asked to watch a kind.
func (c *Cluster) Watches(gk schema.GroupKind) bool { return c.watchOf(gk) != nil }

// unwatched are the namespaced kinds that are served, each in its preferred
// version, except those that are watched or excluded. Endpoints belong to their
// Services, which no owner reference says.
func (c *Cluster) unwatched() []Resource {
	kinds := c.catalog.namespaced()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(kinds, func(res Resource) bool {
		gk := res.GVK.GroupKind()
		return c.watches[gk] != nil || c.excludes(gk) || gk == schema.GroupKind{Kind: "Endpoints"}
	})
}

// namespaced returns the namespaced kinds that can be watched, each in its
// preferred version.
func (c *catalog) namespaced() []Resource {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var kinds []Resource
	for _, versions := range c.groups {
		seen := map[string]bool{}
		for _, v := range versions {
			for kind, res := range v.kinds {
				if !seen[kind] && res.Namespaced && res.Watchable {
					kinds = append(kinds, res)
				}
				seen[kind] = true
			}
		}
	}
	return kinds
}

func (c *Cluster) listUnowned(ctx context.Context, res Resource, namespace string) ([]Unowned, error) {
	var found []Unowned
	options := metav1.ListOptions{Limit: pageOfUnowned}
	for {
		var page *metav1.PartialObjectMetadataList
		about := manifest.Key{Group: res.GVK.Group, Kind: res.GVK.Kind, Namespace: namespace}
		_, _, err := c.try(ctx, call{op: "list", key: about, do: func(ctx context.Context) (out *unstructured.Unstructured, err error) {
			page, err = c.meta.Resource(res.GVR).Namespace(namespace).List(ctx, options)
			return nil, err
		}})
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			m := &page.Items[i]
			if len(m.OwnerReferences) > 0 || res.GVK.GroupKind() == secretKind() && ofServiceAccount(m.Annotations) {
				continue
			}
			key := about
			key.Name = m.Name
			found = append(found, Unowned{Key: key, TrackingID: m.Annotations[manifest.AnnotationTrackingID]})
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

// unownedIn returns the entries of a namespace without owners, ordered by key.
func (s *store) unownedIn(namespace string) []*entry {
	where := unique.Make(namespace)
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []*entry
	for gk, k := range s.kinds {
		if gk == (schema.GroupKind{Kind: "Endpoints"}) {
			continue
		}
		for at, e := range k.objects {
			if at.namespace == where && len(e.owners()) == 0 {
				found = append(found, e)
			}
		}
	}
	return inOrder(found)
}

func secretKind() schema.GroupKind { return schema.GroupKind{Kind: "Secret"} }

// ofServiceAccount tells whether a Secret is the token of a service account.
func ofServiceAccount(annotations map[string]string) bool {
	return annotations[corev1.ServiceAccountUIDKey] != ""
}

// ClaimsOfSets returns what tells whether the name of a PersistentVolumeClaim is
// that of a claim which a StatefulSet of the namespace has made: those outlive
// their Pods, and nothing owns them.
func (c *Cluster) ClaimsOfSets(ctx context.Context, namespace string) (func(name string) bool, error) {
	res, err := c.Resolve(schema.GroupVersionKind{Group: "apps", Kind: "StatefulSet"})
	if err != nil {
		return nil, err
	}
	sets, err := c.list(ctx, "list", manifest.Key{Group: "apps", Kind: "StatefulSet", Namespace: namespace}, res.GVR, namespace, nil)
	if err != nil {
		return nil, err
	}
	var names []*regexp.Regexp
	for _, set := range sets {
		templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
		for _, t := range templates {
			template, _ := t.(map[string]any)
			if claim, _, _ := unstructured.NestedString(template, "metadata", "name"); claim != "" {
				names = append(names, regexp.MustCompile("^"+regexp.QuoteMeta(claim+"-"+set.GetName())+"-[0-9]+$"))
			}
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(names, func(re *regexp.Regexp) bool { return re.MatchString(name) })
	}, nil
}

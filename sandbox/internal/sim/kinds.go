// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// kind is a kind of objects that the API server serves.
type kind struct {
	gvk        schema.GroupVersionKind
	gvr        schema.GroupVersionResource
	namespaced bool
}

// kinds knows what is served: the built-in kinds from discovery, once, and those of CRDs as they come and
// go.
type kinds struct {
	mu      sync.RWMutex
	byGroup map[schema.GroupKind]kind
}

func newKinds() *kinds { return &kinds{byGroup: map[schema.GroupKind]kind{}} }

// discover reads the served kinds. A group that does not answer, such as one behind an APIService that is
// not up yet, is left out.
func (k *kinds) discover(client discovery.DiscoveryInterface) error {
	lists, err := client.ServerPreferredResources()
	if len(lists) == 0 && err != nil {
		return fmt.Errorf("discover the served kinds: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "watch") {
				continue
			}
			gvk := gv.WithKind(r.Kind)
			k.byGroup[gvk.GroupKind()] = kind{gvk: gvk, gvr: gv.WithResource(r.Name), namespaced: r.Namespaced}
		}
	}
	return nil
}

// setCRD takes over what a CRD says, and reports whether that changed what is served.
func (k *kinds) setCRD(crd *unstructured.Unstructured, gone bool) bool {
	served, ok := kindOfCRD(crd)
	k.mu.Lock()
	defer k.mu.Unlock()
	key := served.gvk.GroupKind()
	before, had := k.byGroup[key]
	if gone || !ok {
		delete(k.byGroup, key)
		return had
	}
	k.byGroup[key] = served
	return !had || before != served
}

// kindOfCRD reads a CRD; it is not ok as long as the API server does not serve it. The stored version is
// preferred, since every object can be had in it without loss.
func kindOfCRD(crd *unstructured.Unstructured) (kind, bool) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	name, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	version := ""
	for _, v := range versions {
		v, _ := v.(map[string]any)
		served, _ := v["served"].(bool)
		storage, _ := v["storage"].(bool)
		if served && (version == "" || storage) {
			version, _ = v["name"].(string)
		}
	}
	gv := schema.GroupVersion{Group: group, Version: version}
	served := kind{gvk: gv.WithKind(name), gvr: gv.WithResource(plural), namespaced: scope == "Namespaced"}
	return served, version != "" && conditionIs(crd, "Established", "True")
}

// conditionIs reports whether an object's condition has that status.
func conditionIs(o *unstructured.Unstructured, kind, status string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == kind && m["status"] == status
	})
}

// named returns the served kinds of that name, which may carry a group (Cluster.postgresql.cnpg.io);
// built-in groups come first.
func (k *kinds) named(name string) []kind {
	name, group, withGroup := strings.Cut(name, ".")
	k.mu.RLock()
	defer k.mu.RUnlock()
	var out []kind
	for key, served := range k.byGroup {
		if key.Kind == name && (!withGroup || key.Group == group) {
			out = append(out, served)
		}
	}
	slices.SortFunc(out, func(a, b kind) int {
		return cmp.Or(cmp.Compare(strings.Count(a.gvk.Group, "."), strings.Count(b.gvk.Group, ".")),
			cmp.Compare(a.gvk.Group, b.gvk.Group))
	})
	return out
}

// of returns the served kind of an object's apiVersion and kind, or of its kind alone.
func (k *kinds) of(o *unstructured.Unstructured) (kind, error) {
	if o.GetAPIVersion() == "" {
		if served := k.named(o.GetKind()); len(served) > 0 {
			return served[0], nil
		}
		return kind{}, fmt.Errorf("kind %s is not served (yet)", o.GetKind())
	}
	gvk := o.GroupVersionKind()
	k.mu.RLock()
	defer k.mu.RUnlock()
	served, ok := k.byGroup[gvk.GroupKind()]
	if !ok {
		return kind{}, fmt.Errorf("kind %s of %s is not served (yet)", gvk.Kind, o.GetAPIVersion())
	}
	served.gvk.Version, served.gvr.Version = gvk.Version, gvk.Version
	return served, nil
}

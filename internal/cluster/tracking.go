// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// labelIndex finds objects by the value of one label. Most installations track by
// annotation; without a key the index holds and costs nothing.
type labelIndex struct {
	key    string
	values map[manifest.Key]string
	keys   map[string]map[manifest.Key]bool
}

func (x *labelIndex) add(e *entry) {
	if x.key == "" {
		return
	}
	value := e.object().GetLabels()[x.key]
	if value == "" {
		return
	}
	key := e.key()
	x.values[key] = value
	if x.keys[value] == nil {
		x.keys[value] = map[manifest.Key]bool{}
	}
	x.keys[value][key] = true
}

func (x *labelIndex) remove(e *entry) {
	if x.key == "" {
		return
	}
	key := e.key()
	value, ok := x.values[key]
	if !ok {
		return
	}
	delete(x.values, key)
	if delete(x.keys[value], key); len(x.keys[value]) == 0 {
		delete(x.keys, value)
	}
}

// index makes the index anew for a key.
func (s *store) index(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labels.key == key {
		return
	}
	s.labels = labelIndex{key: key, values: map[manifest.Key]string{}, keys: map[string]map[manifest.Key]bool{}}
	for _, k := range s.kinds {
		for _, e := range k.objects {
			s.labels.add(e)
		}
	}
}

// labelled returns the entries with a value of the label, ordered by key.
func (s *store) labelled(value string) []*entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var entries []*entry
	for _, key := range slices.SortedFunc(maps.Keys(s.labels.keys[value]), manifest.Key.Compare) {
		entries = append(entries, s.at(key))
	}
	return entries
}

// Track sets how the objects of applications are marked.
func (c *Cluster) Track(t manifest.Tracking) {
	c.tracking.Store(&t)
	key := ""
	if t.Method == manifest.TrackByLabel {
		key = t.Label()
	}
	c.store.index(key)
}

// Labelled returns the watched objects with an application's label, which no other
// object owns, ordered by key; none unless objects are tracked by label.
func (c *Cluster) Labelled(app string) []*unstructured.Unstructured {
	entries := slices.DeleteFunc(c.store.labelled(app), func(e *entry) bool { return len(e.owners()) > 0 })
	return slices.DeleteFunc(objects(entries), c.othersObject)
}

// othersObject reports whether an object is marked as another installation's.
func (c *Cluster) othersObject(obj *unstructured.Unstructured) bool {
	t := c.tracking.Load()
	return t != nil && t.OfOther(obj)
}

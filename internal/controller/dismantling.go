// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Dismantling is what deleting an Application would do besides running its hooks.
type Dismantling struct {
	// Waves are the objects that go, the first wave first.
	Waves []DismantlingWave
	// Stays are the managed objects that outlive the Application, with the reason.
	Stays map[manifest.Key]string
}

// DismantlingWave is objects that are deleted together.
type DismantlingWave struct {
	Wave    int
	Objects []manifest.Key
}

// Dismantle plans the deletion of the Application.
func (p *Preview) Dismantle(ctx context.Context) (*Dismantling, error) {
	s := p.session
	var kinds []schema.GroupKind
	add := func(gk schema.GroupKind) {
		if _, served := s.dest.Scope(gk); served && !slices.Contains(kinds, gk) {
			kinds = append(kinds, gk)
		}
	}
	owned := s.st.memory.Owned()
	for _, e := range owned {
		add(e.GroupKind())
	}
	if err := s.dest.Watch(ctx, kinds...); err != nil {
		return nil, err
	}
	managed := map[types.UID]*unstructured.Unstructured{}
	for _, obj := range s.dest.Tracked(s.instance) {
		managed[obj.GetUID()] = obj
	}
	for _, e := range owned {
		if obj, ok := s.dest.Get(e.Key); ok && obj.GetUID() == e.UID {
			managed[obj.GetUID()] = obj
		}
	}
	d := &Dismantling{Stays: map[manifest.Key]string{}}
	_, _, cascades := cascade(s.app)
	for _, obj := range managed {
		key := manifest.KeyOf(obj)
		_, definition := manifest.DefinesKind(obj)
		switch {
		case !cascades:
			d.Stays[key] = "stays: the Application has no finalizer that deletes what it manages"
		case definition:
			d.Stays[key] = "stays: CustomResourceDefinitions outlive the Application, others may need them"
		case stays(s.app, obj):
			d.Stays[key] = "stays: it asks to be kept"
		case s.forbids(key) != "":
			d.Stays[key] = "stays: " + s.forbids(key)
		default:
			d.add(manifest.Wave(obj), key)
		}
	}
	slices.SortFunc(d.Waves, func(a, b DismantlingWave) int { return cmp.Compare(b.Wave, a.Wave) })
	for _, w := range d.Waves {
		slices.SortFunc(w.Objects, manifest.Key.Compare)
	}
	return d, nil
}

func (d *Dismantling) add(wave int, key manifest.Key) {
	i := slices.IndexFunc(d.Waves, func(w DismantlingWave) bool { return w.Wave == wave })
	if i < 0 {
		d.Waves = append(d.Waves, DismantlingWave{Wave: wave})
		i = len(d.Waves) - 1
	}
	d.Waves[i].Objects = append(d.Waves[i].Objects, key)
}

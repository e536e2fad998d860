// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// maxRecent bounds how many objects are kept decoded, of all applications together:
// those of an application, live and in its draft, count once.
const maxRecent = 1536

// recent keeps what the last comparisons were made of. Who is looked at is soon looked
// at again, because one of its objects has changed: then that one is decoded and
// compared, and nothing else.
type recent struct {
	mu sync.Mutex
	of map[string]*recently
	// order are the applications, the one that was compared last at the end.
	order   []string
	objects int
}

// recently is what a comparison was made of. It is not changed once made.
type recently struct {
	sketch sketch
	draft  *plan.Plan
	live   map[manifest.Key]decoded
}

// size is how many objects of the application are kept. Of one that is delivered for
// the first time there is nothing but the draft.
func (r *recently) size() int {
	n := len(r.draft.InSync)
	for _, g := range r.draft.Groups {
		n += len(g.Steps)
	}
	return max(n, len(r.live))
}

// sketch is what a draft depends on.
type sketch struct {
	desired                *Desired
	app, server, namespace string

	tracking manifest.Tracking
	options  plan.Options
	kinds    []servedKind
	// stable is false if the rendered set takes values from live objects.
	stable bool
}

// servedKind is what a cluster and an installation say of a kind.
type servedKind struct {
	kind                        schema.GroupKind
	namespaced, known, excluded bool
}

// decoded is a live object in one state. Owners are only there if somebody asked.
type decoded struct {
	uid     types.UID
	version string
	object  *unstructured.Unstructured
	owners  []metav1.ManagedFieldsEntry
}

func newRecent() *recent { return &recent{of: map[string]*recently{}} }

// last returns what the last comparison of an application was made of, nothing if
// that is not known any more.
func (r *recent) last(app string) *recently {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.of[app]; known != nil {
		return known
	}
	return &recently{}
}

// keep replaces it. What was compared longest ago makes room.
func (r *recent) keep(app string, now *recently) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(app)
	if app == "" || now.size() > maxRecent/2 {
		return
	}
	r.of[app] = now
	r.order = append(r.order, app)
	for r.objects += now.size(); r.objects > maxRecent; {
		r.drop(r.order[0])
	}
}

// drop forgets an application. The caller holds mu.
func (r *recent) drop(app string) {
	known := r.of[app]
	if known == nil {
		return
	}
	r.objects -= known.size()
	delete(r.of, app)
	r.order = slices.DeleteFunc(r.order, func(name string) bool { return name == app })
}

func (r *recent) forget(app string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(app)
}

// Delivers drops what was decoded of an application whose objects are all about to
// change.
func (c *Comparer) Delivers(app string) { c.recent.forget(app) }

// Rest drops what only makes the next comparisons quicker.
func (c *Comparer) Rest() {
	c.recent.mu.Lock()
	defer c.recent.mu.Unlock()
	c.recent.of, c.recent.order, c.recent.objects = map[string]*recently{}, nil, 0
}

// sketchOf says what a draft for an input depends on.
func sketchOf(s Subject, in plan.Input) sketch {
	k := sketch{
		desired: s.Desired, app: s.App, server: s.Server, namespace: s.Namespace, tracking: s.Tracking, options: in.Options,
	}
	// Values that are kept from live objects are part of what is rendered.
	fields, _ := s.Desired.unstable()
	k.stable = len(fields) == 0
	seen := map[schema.GroupKind]bool{}
	for _, obj := range in.Objects {
		gk := obj.GroupVersionKind().GroupKind()
		if seen[gk] {
			continue
		}
		seen[gk] = true
		kind := servedKind{kind: gk}
		kind.namespaced, kind.known = in.Scope(gk)
		kind.excluded = in.Excluded != nil && in.Excluded(gk)
		k.kinds = append(k.kinds, kind)
	}
	return k
}

// draftFor returns the draft if it was made of the same.
func (r *recently) draftFor(k sketch) (*plan.Plan, bool) {
	was := r.sketch
	same := r.draft != nil && k.stable && was.desired == k.desired && was.app == k.app && was.server == k.server && was.namespace == k.namespace &&
		slices.Equal(was.kinds, k.kinds) && reflect.DeepEqual(was.tracking, k.tracking) && reflect.DeepEqual(was.options, k.options)
	return r.draft, same
}

// inState returns a live object that is decoded already.
func (r *recently) inState(key manifest.Key, uid types.UID, version string) (decoded, bool) {
	known, ok := r.live[key]
	return known, ok && version != "" && known.version == version && known.uid == uid
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// listOrphansEvery is how often kinds that are not watched are listed in a
// namespace whose orphans somebody wants to know.
const listOrphansEvery = 5 * time.Minute

// orphanage knows the namespaces whose orphaned objects projects want to be told
// of, and what lies in them. Applications of one namespace share it.
type orphanage struct {
	mu     sync.Mutex
	spaces map[space]*unownedIn
	// follows are the namespaces that Applications are told of.
	follows map[types.NamespacedName]space
}

// space is a namespace on a cluster.
type space struct{ server, namespace string }

// unownedIn is what lies in a namespace and nothing there owns.
type unownedIn struct {
	followers map[types.NamespacedName]bool

	// reading lets one Application read while the others wait for it.
	reading sync.Mutex
	// listed are the objects of kinds that are not watched, watched the others:
	// they are read anew when something in the namespace has stirred.
	listed   []cluster.Unowned
	listedAt time.Time
	watched  []cluster.Unowned
	quiet    atomic.Bool

	// reported are the orphans that an Application was told of last.
	reported map[manifest.Key]bool
}

func newOrphanage() *orphanage {
	return &orphanage{spaces: map[space]*unownedIn{}, follows: map[types.NamespacedName]space{}}
}

// follow has the Application looked at when a namespace changes.
func (o *orphanage) follow(app types.NamespacedName, at space) *unownedIn {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before, ok := o.follows[app]; ok && before != at {
		o.leave(app)
	}
	in := o.spaces[at]
	if in == nil {
		in = &unownedIn{followers: map[types.NamespacedName]bool{}}
		o.spaces[at] = in
	}
	in.followers[app], o.follows[app] = true, at
	return in
}

// unfollow forgets the Application, and its namespace with the last one.
func (o *orphanage) unfollow(app types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leave(app)
}

func (o *orphanage) leave(app types.NamespacedName) {
	at, ok := o.follows[app]
	if !ok {
		return
	}
	delete(o.follows, app)
	if delete(o.spaces[at].followers, app); len(o.spaces[at].followers) == 0 {
		delete(o.spaces, at)
	}
}

// told notes what orphans a namespace has.
func (o *orphanage) told(in *unownedIn, orphans []manifest.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	in.reported = make(map[manifest.Key]bool, len(orphans))
	for _, key := range orphans {
		in.reported[key] = true
	}
}

// concerned returns the Applications to which a change can make a difference: an
// orphan may have come, gone, or found somebody.
func (o *orphanage) concerned(server string, change cluster.Change) []types.NamespacedName {
	o.mu.Lock()
	defer o.mu.Unlock()
	in := o.spaces[space{server, change.Key.Namespace}]
	if in == nil {
		return nil
	}
	in.quiet.Store(false)
	came := change.Type == cluster.Added && len(change.Owners) == 0 && change.TrackingID == ""
	found := in.reported[change.Key] && (change.Type == cluster.Deleted || len(change.Owners) > 0 || change.TrackingID != "")
	if !came && !found {
		return nil
	}
	names := make([]types.NamespacedName, 0, len(in.followers))
	for name := range in.followers {
		names = append(names, name)
	}
	return names
}

// unowned returns all that lies in the namespace and nothing there owns. Kinds
// that are not watched are listed when it is due or somebody asks.
func (in *unownedIn) unowned(ctx context.Context, dest *destination, at space, fresh bool, now time.Time) ([]cluster.Unowned, error) {
	in.reading.Lock()
	defer in.reading.Unlock()
	if fresh || now.Sub(in.listedAt) >= listOrphansEvery {
		listed, err := dest.ListUnowned(ctx, at.namespace)
		if err != nil {
			return nil, err
		}
		in.listed, in.listedAt = listed, now
	}
	// What stirs from here on is seen at the next look.
	if !in.quiet.Swap(true) || fresh {
		in.watched = dest.WatchedUnowned(at.namespace)
	}
	all := slices.Clone(in.watched)
	for _, u := range in.listed {
		// A kind that is watched since it was listed is known better.
		if !dest.Watches(u.Key.GroupKind()) {
			all = append(all, u)
		}
	}
	return all, nil
}

// findOrphans notes the objects in the destination namespace that nobody manages,
// if the project wants its Applications to warn of them.
func (s *session) findOrphans(ctx context.Context) {
	s.orphans = nil
	namespace := s.app.Spec.Destination.Namespace
	if s.comparing || namespace == "" || s.permits == nil || !s.permits.WarnOfOrphans() {
		s.orphanage.unfollow(nameOf(s.app))
		return
	}
	at := space{s.dest.Server, namespace}
	in := s.orphanage.follow(nameOf(s.app), at)
	_, asked := s.app.Annotations[v1alpha1.AnnotationRefresh]
	orphans, err := s.orphansIn(ctx, in, at, asked)
	if err != nil {
		s.problem(v1alpha1.ConditionUnknownError, fmt.Errorf("look for orphaned resources in namespace %s: %w", namespace, err))
		s.by(s.now.Add(retryAfterError))
		return
	}
	s.orphans = orphans
	s.orphanage.told(in, orphans)
	s.by(s.now.Add(listOrphansEvery))
}

// orphansIn returns the objects of a namespace that no Application manages and
// that the project wants to be told of, ordered by key.
func (s *session) orphansIn(ctx context.Context, in *unownedIn, at space, fresh bool) ([]manifest.Key, error) {
	judge, ok := s.permits.Orphans()
	if !ok {
		return nil, nil
	}
	unowned, err := in.unowned(ctx, s.dest, at, fresh, s.now)
	if err != nil {
		return nil, err
	}
	var orphans []manifest.Key
	claims := false
	for _, u := range unowned {
		if !judge.Reports(u.Key) || s.excludes(u.Key.GroupKind()) || s.managed(u) {
			continue
		}
		orphans = append(orphans, u.Key)
		claims = claims || u.Key.GroupKind() == claimKind()
	}
	if claims {
		made, err := s.dest.ClaimsOfSets(ctx, at.namespace)
		if err != nil {
			return nil, err
		}
		orphans = slices.DeleteFunc(orphans, func(key manifest.Key) bool { return key.GroupKind() == claimKind() && made(key.Name) })
	}
	slices.SortFunc(orphans, manifest.Key.Compare)
	return orphans, nil
}

func claimKind() schema.GroupKind { return schema.GroupKind{Kind: "PersistentVolumeClaim"} }

// managed tells whether an Application manages an object: its mark is on it, or it
// renders it.
func (s *session) managed(u cluster.Unowned) bool {
	if id, err := manifest.ParseTrackingID(u.TrackingID); err == nil && inventory.SelfTracked(id.App, u.TrackingID, u.Key) {
		return true
	}
	return len(s.renderings.others(types.NamespacedName{}, s.dest.Server, u.Key)) > 0
}

// orphanWarning is the condition about orphans; ok is false if there are none.
func (s *session) orphanWarning() (condition v1alpha1.ApplicationCondition, ok bool) {
	if len(s.orphans) == 0 {
		return v1alpha1.ApplicationCondition{}, false
	}
	names := make([]string, len(s.orphans))
	for i, key := range s.orphans {
		names[i] = key.Short()
	}
	return v1alpha1.ApplicationCondition{
		Type:    v1alpha1.ConditionOrphanedResourceWarning,
		Message: fmt.Sprintf("Application has %d orphaned resources in namespace %s: %s", len(names), s.app.Spec.Destination.Namespace, bounded(names)),
	}, true
}

// Orphans returns the objects in an Application's destination namespace that no
// Application manages, as far as its project wants to be told of them. It asks the
// cluster for every kind and knows of other Applications what their objects and
// their status say. No source is read.
func Orphans(ctx context.Context, opts Options, c client.Client, app *v1alpha1.Application) ([]manifest.Key, error) {
	s, err := newGlance(ctx, opts, c, app)
	if err != nil {
		return nil, err
	}
	defer s.end()
	if s.dest, err = s.destinations.get(ctx, s.life, app.Spec.Destination); err != nil {
		return nil, err
	}
	if err := s.loadProject(ctx); err != nil {
		return nil, err
	}
	if _, wanted := s.permits.Orphans(); !wanted {
		return nil, fmt.Errorf("project %s does not monitor orphaned resources: set spec.orphanedResources of AppProject %s/%s, {} is enough", s.project.Name, s.project.Namespace, s.project.Name)
	}
	at := space{s.dest.Server, app.Spec.Destination.Namespace}
	orphans, err := s.orphansIn(ctx, s.orphanage.follow(nameOf(app), at), at, true)
	if err != nil {
		return nil, err
	}
	rendered := s.findUnseen()
	if rendered == nil {
		return nil, errors.New(s.problems[0].Message)
	}
	for _, r := range app.Status.Resources {
		rendered[manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}] = true
	}
	return slices.DeleteFunc(orphans, func(key manifest.Key) bool { return rendered[key] }), nil
}

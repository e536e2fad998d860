// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// codeShared is the finding of an object that another Application has too.
const codeShared = "shared-resource"

// sharedObject is an object that belongs to another Application as well.
type sharedObject struct {
	key manifest.Key
	// apps are the other Applications by their instance names.
	apps []string
	// foreign is true when the live object carries the mark of one of them that
	// still renders it: it is left to that one.
	foreign bool
}

func (o sharedObject) message(instance string) string {
	return o.key.Short() + " is part of applications " + strings.Join(append([]string{instance}, o.apps...), " and ")
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// renderedKeys are the ordinary objects that a plan of the whole application is
// about. A namespace that is made by option belongs to nobody.
func renderedKeys(p *plan.Plan) []manifest.Key {
	var keys []manifest.Key
	add := func(steps []plan.Step) {
		for _, step := range steps {
			switch step.Action {
			case plan.Hook, plan.Prune, plan.SkipPrune:
				continue
			}
			if !step.Untracked {
				keys = append(keys, step.Key)
			}
		}
	}
	for _, g := range p.Groups {
		add(g.Steps)
	}
	add(p.InSync)
	return keys
}

// findShared notes what the Application renders and which of it others have too.
func (s *session) findShared(c *pipeline.Comparison) {
	keys := renderedKeys(c.Plan)
	s.wakeups.add(s.renderings.set(nameOf(s.app), s.dest.Server, keys)...)
	s.shared = nil
	for _, key := range keys {
		// Definitions carry no mark: several applications may ship the same one.
		if !inventory.Tracked(key.GroupKind()) {
			continue
		}
		var apps []string
		for _, other := range s.renderings.others(nameOf(s.app), s.dest.Server, key) {
			apps = append(apps, s.applications.instance(other))
		}
		owner, foreign := "", false
		if live := c.Live[key]; live != nil {
			owner, foreign = s.owner(key, live, apps)
		}
		if owner != "" && !slices.Contains(apps, owner) && !s.renderings.known(s.nameOfInstance(owner)) {
			apps = append(apps, owner)
		}
		if len(apps) > 0 {
			s.shared = append(s.shared, sharedObject{key: key, apps: apps, foreign: foreign})
		}
	}
	slices.SortFunc(s.shared, func(a, b sharedObject) int { return a.key.Compare(b.key) })
}

// owner returns the instance name of the other Application whose mark an object
// carries, empty if there is none; foreign is true if the object is left to it. Of
// labels only those of Applications count that render the object: charts have labels
// of that name for themselves. What another installation renders nobody knows here.
func (s *session) owner(key manifest.Key, live *unstructured.Unstructured, renderers []string) (owner string, foreign bool) {
	tracking := s.settings.Tracking
	mark := live.GetAnnotations()[manifest.AnnotationTrackingID]
	id, err := manifest.ParseTrackingID(mark)
	named := err == nil && inventory.SelfTracked(id.App, mark, key)
	switch {
	case tracking.OfOther(live):
		owner = live.GetAnnotations()[manifest.AnnotationInstallationID]
		if named {
			owner = id.App + " of installation " + owner
		}
		return owner, true
	case named && id.App != s.instance:
		return id.App, slices.Contains(renderers, id.App)
	case named || tracking.Method != manifest.TrackByLabel:
		return "", false
	}
	for _, other := range renderers {
		if tracking.Labelled(live, other) {
			return other, true
		}
	}
	return "", false
}

// sharing describes which objects the Application shares with whom.
func (s *session) sharing() string {
	texts := make([]string, len(s.shared))
	for i, o := range s.shared {
		texts[i] = o.message(s.instance)
	}
	return strings.Join(texts, "; ")
}

// mayBeRendered tells whether an Application that has not been looked at yet may
// render an object: then who shares it is not known.
func (s *session) mayBeRendered(key manifest.Key) bool {
	if s.unseen == nil {
		s.unseen = s.findUnseen()
	}
	return s.unseen == nil || s.unseen[key]
}

// renderedElsewhere tells whether another Application renders an object: then it
// is handed over, not deleted. After a restart the status of Applications that
// have not been looked at yet speaks for them.
func (s *session) renderedElsewhere(key manifest.Key) bool {
	if len(s.renderings.others(nameOf(s.app), s.dest.Server, key)) > 0 {
		return true
	}
	// Nothing is deleted while the others are not known at all.
	return s.mayBeRendered(key)
}

// owners are the other Applications to which rendered objects belong in the cluster,
// as far as they are still there.
func (s *session) owners(ctx context.Context) (map[manifest.Key][]string, error) {
	if len(s.shared) == 0 {
		return nil, nil
	}
	list, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for i := range list {
		there[s.applications.instance(nameOf(&list[i]))] = true
	}
	owners := map[manifest.Key][]string{}
	for _, o := range s.shared {
		for _, app := range o.apps {
			// Of other installations nobody here knows.
			if there[app] || strings.Contains(app, " ") {
				owners[o.key] = append(owners[o.key], app)
			}
		}
	}
	return owners, nil
}

// findUnseen returns what Applications render according to their status that
// this process has not looked at yet. Where they deliver to is not asked: for
// this short time an object is rather kept than deleted.
func (s *session) findUnseen() map[manifest.Key]bool {
	keys := map[manifest.Key]bool{}
	list, err := s.all(s.life)
	if err != nil {
		s.problem(v1alpha1.ConditionUnknownError, err)
		return nil
	}
	for i := range list {
		app := &list[i]
		if name := nameOf(app); name == nameOf(s.app) || app.DeletionTimestamp != nil || s.renderings.known(name) {
			continue
		}
		for _, r := range app.Status.Resources {
			if !r.RequiresPruning && !r.Hook {
				keys[manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}] = true
			}
		}
	}
	return keys
}

// sharedWarning is the condition for shared objects; ok is false if there are
// none.
func (s *session) sharedWarning() (condition v1alpha1.ApplicationCondition, ok bool) {
	var texts []string
	for _, o := range s.shared {
		texts = append(texts, o.message(s.instance))
	}
	if len(texts) == 0 {
		return v1alpha1.ApplicationCondition{}, false
	}
	return v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionSharedResourceWarning, Message: bounded(texts)}, true
}

// refuseShared adds a finding for every object of an operation's plan that
// another Application has too, if the operation must fail then.
func (s *session) refuseShared(p *plan.Plan, op v1alpha1.Operation) {
	if !manifest.ParseOptions(op.Sync.SyncOptions...).Has("FailOnSharedResource=true") {
		return
	}
	for _, o := range s.shared {
		p.Findings = append(p.Findings, diag.Diagnostic{
			Code: codeShared, Severity: diag.Error, Subject: o.key,
			Message: "Shared resource found: " + o.message(s.instance),
			Hint:    "let one of them render it, or drop FailOnSharedResource=true",
		})
	}
	diag.Sort(p.Findings)
}

// foreign are the objects that other Applications own and still render: healing
// them would go back and forth for ever.
func (s *session) foreign() []manifest.Key {
	var keys []manifest.Key
	for _, o := range s.shared {
		if o.foreign {
			keys = append(keys, o.key)
		}
	}
	return keys
}

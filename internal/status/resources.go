// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Observation is what was found out about an application.
type Observation struct {
	// Plan is the plan of the whole application, never a partial one. Its actions
	// say what is in sync.
	Plan *plan.Plan
	// Live holds the live objects that the rendered set names, hooks included.
	Live map[manifest.Key]*unstructured.Unstructured
	// Superfluous are objects of the application that are no longer rendered.
	Superfluous []inventory.Candidate
	// Health judges a live object; nil means health.Of.
	Health func(*unstructured.Unstructured) health.Result
	// Deferred are superfluous objects whose prune waits for the end of what still
	// uses them: they do not count.
	Deferred map[manifest.Key]bool
	// Self is the Application, which has no part in its own health.
	Self manifest.Key
	// Options are the sync options of the application's policy.
	Options manifest.OptionSet
}

// Part is the part that an object plays.
type Part int

// Parts of objects.
const (
	// Managed objects are rendered and kept in sync.
	Managed Part = iota
	// Superfluous objects are ours and no longer rendered.
	Superfluous
	// LiveHook objects are left by hooks; they are shown and count for nothing.
	LiveHook
)

// Object is one object of an application.
type Object struct {
	Key     manifest.Key
	Version string
	// Wave is what the object asks for, not where the plan moved it.
	Wave int
	Part Part
	// Live is nil for an object that does not exist.
	Live   *unstructured.Unstructured
	InSync bool
	Health health.Result
	// Deferred objects wait to be pruned and do not count as out of sync.
	Deferred bool
	// Confirm is true when somebody must agree before the object is deleted.
	Confirm bool
}

// State is an application as its status describes it.
type State struct {
	// Objects ordered by key.
	Objects []Object
	// NamespaceOutdated is true when the destination namespace lacks metadata that
	// the application manages.
	NamespaceOutdated bool
	self              manifest.Key
}

// Observe brings an observation into the form the status is made from.
func Observe(o Observation) State {
	if o.Health == nil {
		o.Health = health.Of
	}
	s := State{self: o.Self}
	seen := map[manifest.Key]bool{}
	for _, g := range o.Plan.Groups {
		o.addSteps(&s, g.Steps, seen)
	}
	o.addSteps(&s, o.Plan.InSync, seen)
	for _, c := range o.Superfluous {
		if seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		obj := o.object(c.Key, c.Object, c.Object)
		obj.Part, obj.Deferred = Superfluous, o.Deferred[c.Key]
		s.Objects = append(s.Objects, obj)
	}
	slices.SortFunc(s.Objects, func(a, b Object) int { return a.Key.Compare(b.Key) })
	return s
}

// addSteps adds to s what steps of the plan bring about or have left behind.
func (o Observation) addSteps(s *State, steps []plan.Step, seen map[manifest.Key]bool) {
	for i := range steps {
		step := &steps[i]
		if step.Untracked {
			s.NamespaceOutdated = step.Action == plan.Update
			continue
		}
		live := o.Live[step.Key]
		if step.Action == plan.Prune || step.Action == plan.SkipPrune || seen[step.Key] || step.Action == plan.Hook && live == nil {
			continue
		}
		seen[step.Key] = true
		obj := o.object(step.Key, step.Object.Unstructured, live)
		obj.InSync = step.Action == plan.None
		if step.Action == plan.Hook {
			obj.Part = LiveHook
		}
		s.Objects = append(s.Objects, obj)
	}
}

// object describes an object by its manifest, which is the live object for one
// that has none.
func (o Observation) object(key manifest.Key, written, live *unstructured.Unstructured) Object {
	obj := Object{
		Key: key, Version: written.GroupVersionKind().Version, Wave: manifest.Wave(written), Live: live,
		Confirm: o.confirms(written) || live != nil && o.confirms(live),
	}
	if live == nil {
		obj.Health = health.Of(nil)
	} else {
		obj.Health = o.Health(live)
	}
	return obj
}

func (o Observation) confirms(u *unstructured.Unstructured) bool {
	own := manifest.SyncOptions(u)
	return slices.ContainsFunc([]string{"Delete=confirm", "Prune=confirm"}, func(option string) bool {
		return own.Has(option) || o.Options.Has(option)
	})
}

// Resources returns the rows of status.resources, ordered by group, kind,
// namespace and name. Health is not among them: with it, the status of a large
// application does not fit into one object.
func (s State) Resources() []v1alpha1.ResourceStatus {
	rows := make([]v1alpha1.ResourceStatus, 0, len(s.Objects))
	for _, obj := range s.Objects {
		row := v1alpha1.ResourceStatus{
			Group: obj.Key.Group, Version: obj.Version, Kind: obj.Key.Kind, Namespace: obj.Key.Namespace, Name: obj.Key.Name,
			SyncWave: int64(obj.Wave), RequiresDeletionConfirmation: obj.Confirm,
			// Argo CD's clients know live hooks by these two together.
			Hook: obj.Part == LiveHook, RequiresPruning: obj.Part != Managed,
		}
		switch {
		case obj.Part == LiveHook:
		case obj.InSync:
			row.Status = v1alpha1.SyncStatusSynced
		default:
			row.Status = v1alpha1.SyncStatusOutOfSync
		}
		rows = append(rows, row)
	}
	return rows
}

// Sync returns the application's sync status: out of sync as soon as one object
// is, except for a superfluous one that asks to be overlooked.
func (s State) Sync() v1alpha1.SyncStatusCode {
	if s.NamespaceOutdated {
		return v1alpha1.SyncStatusOutOfSync
	}
	for _, obj := range s.Objects {
		switch {
		case obj.Part == LiveHook, obj.InSync, obj.Deferred:
		case obj.Part == Superfluous && compareOptions(obj.Live).Has("IgnoreExtraneous"):
		default:
			return v1alpha1.SyncStatusOutOfSync
		}
	}
	return v1alpha1.SyncStatusSynced
}

func compareOptions(u *unstructured.Unstructured) manifest.OptionSet {
	return manifest.ParseOptions(u.GetAnnotations()[manifest.AnnotationCompareOptions])
}

// Unknown returns rows of an earlier comparison as they stand when a new one was
// not possible: their status is no longer known.
func Unknown(rows []v1alpha1.ResourceStatus) []v1alpha1.ResourceStatus {
	rows = slices.Clone(rows)
	for i := range rows {
		if !rows[i].Hook {
			rows[i].Status = v1alpha1.SyncStatusUnknown
		}
	}
	return rows
}

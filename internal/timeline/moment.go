// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// What names something that happened to an object.
type What string

// Things that happen to objects.
const (
	// Created is the first state of an object that was made during the
	// recording.
	Created What = "created"
	// Done is the first healthy state at the object's newest generation: a Job
	// that completed, a Deployment that is rolled out. A kind whose health is
	// not known is done when it is created.
	Done What = "done"
	// Failed is the first degraded state.
	Failed What = "failed"
	// Deleted is the end of the object.
	Deleted What = "deleted"
)

// Moment is one thing that happened to one object.
type Moment struct {
	Key  manifest.Key `json:"key"`
	UID  types.UID    `json:"uid"`
	What What         `json:"what"`
	// ResourceVersion of the event that showed it.
	ResourceVersion uint64 `json:"resourceVersion"`
	// Time is when the event arrived.
	Time time.Time `json:"time"`
	// App, Phase and Wave are those of a managed object: from its tracking id
	// and annotations. App is empty for other objects.
	App   string         `json:"app,omitempty"`
	Phase manifest.Phase `json:"phase,omitempty"`
	Wave  int            `json:"wave"`
	// Detail is the object's own words on its state.
	Detail string `json:"detail,omitempty"`
	// Needs are the objects that this one refers to and cannot start without;
	// set on Created.
	Needs []manifest.Key `json:"needs,omitempty"`
	// Inferred moments were seen after the fact, when a kind had just begun to be
	// served: the resourceVersion is one at which it had already happened.
	Inferred bool `json:"inferred,omitempty"`
	// Owned is true for objects with an owner.
	Owned bool `json:"owned,omitempty"`
}

// observe returns the moments that the present state of an object adds to what
// was known of it.
func (k *known) observe(obj *unstructured.Unstructured, at time.Time, first bool) []Moment {
	base := Moment{
		Key: manifest.KeyOf(obj), UID: obj.GetUID(), ResourceVersion: version(obj), Time: at,
		Wave: manifest.Wave(obj), Owned: len(obj.GetOwnerReferences()) > 0,
	}
	if class := manifest.Classify(obj); len(class.Phases) > 0 {
		base.Phase = class.Phases[0]
	}
	if id, err := manifest.ParseTrackingID(obj.GetAnnotations()[manifest.AnnotationTrackingID]); err == nil && id.Names(base.Key) && !base.Owned {
		base.App = id.App
	}
	var moments []Moment
	add := func(what What, detail string) {
		m := base
		m.What, m.Detail = what, detail
		if what == Created {
			m.Needs = required(obj)
		}
		moments = append(moments, m)
	}
	if first {
		add(Created, "")
	}
	result := health.Of(obj)
	switch {
	case !result.Known:
		if first {
			add(Done, "")
		}
	case result.Status == health.Healthy && !k.done:
		k.done = true
		add(Done, result.Message)
	case result.Status == health.Degraded && !k.failed:
		k.failed = true
		add(Failed, result.Message)
	}
	return moments
}

// known is what was already noted of an object.
type known struct{ done, failed bool }

func required(obj *unstructured.Unstructured) []manifest.Key {
	var keys []manifest.Key
	for _, ref := range manifest.References(obj) {
		if ref.AtStart && !ref.Optional && !slices.Contains(keys, ref.Target) {
			keys = append(keys, ref.Target)
		}
	}
	return keys
}

func version(obj *unstructured.Unstructured) uint64 {
	v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

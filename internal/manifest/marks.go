// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DefaultInstanceLabel is the label that marks objects with their application
// unless an installation chooses another.
const DefaultInstanceLabel = "app.kubernetes.io/instance"

// maxLabel is how long the value of a label may be.
const maxLabel = 63

// TrackingMethod says with what objects are marked.
type TrackingMethod string

// Methods, as settings name them; the empty one is the first.
const (
	TrackByAnnotation TrackingMethod = "annotation"
	TrackByBoth       TrackingMethod = "annotation+label"
	TrackByLabel      TrackingMethod = "label"
)

// Tracking is how an installation marks the objects of its applications. The zero
// value marks them with an annotation.
type Tracking struct {
	Method TrackingMethod `json:"method,omitempty"`
	// LabelKey of methods with a label. Defaults to DefaultInstanceLabel.
	LabelKey string `json:"labelKey,omitempty"`
	// Installation tells installations apart that share a cluster and have
	// applications of the same name.
	Installation string `json:"installation,omitempty"`
}

// Label is the key of the label that marks objects.
func (t Tracking) Label() string {
	if t.LabelKey == "" {
		return DefaultInstanceLabel
	}
	return t.LabelKey
}

// annotates and labels report what the method does.
func (t Tracking) annotates() bool { return t.Method != TrackByLabel }
func (t Tracking) labels() bool    { return t.Method == TrackByLabel || t.Method == TrackByBoth }

// labelFor is the value of the label. Where the annotation decides, it is made to
// fit; where the label decides, one that does not fit is left to be refused.
func (t Tracking) labelFor(app string) string {
	if t.Method == TrackByLabel || len(app) <= maxLabel {
		return app
	}
	return strings.TrimRight(app[:maxLabel], "-_.")
}

// Mark sets the marks of an application in an object's metadata, whose maps are
// replaced, not changed. What is no map is left to the finding about it.
func (t Tracking) Mark(metadata map[string]any, app, destNamespace string, key Key) {
	change(metadata, "annotations", func(annotations map[string]any) {
		delete(annotations, AnnotationInstallationID)
		if t.annotates() {
			annotations[AnnotationTrackingID] = FormatTrackingID(app, destNamespace, key)
		} else {
			delete(annotations, AnnotationTrackingID)
		}
		if t.Installation != "" {
			annotations[AnnotationInstallationID] = t.Installation
		}
	})
	if t.labels() {
		change(metadata, "labels", func(labels map[string]any) { labels[t.Label()] = t.labelFor(app) })
	}
}

// change replaces a map in metadata by a changed copy; one that would be empty is
// left out.
func change(metadata map[string]any, field string, do func(map[string]any)) {
	old, ok := metadata[field].(map[string]any)
	if !ok && metadata[field] != nil {
		return
	}
	copied := maps.Clone(old)
	if copied == nil {
		copied = map[string]any{}
	}
	do(copied)
	if len(copied) == 0 && len(old) == 0 {
		return
	}
	if len(copied) == 0 {
		delete(metadata, field)
		return
	}
	metadata[field] = copied
}

// OfOther reports whether an object is marked as another installation's.
func (t Tracking) OfOther(obj *unstructured.Unstructured) bool {
	id := obj.GetAnnotations()[AnnotationInstallationID]
	return t.Installation != "" && id != "" && id != t.Installation
}

// OfThis reports whether an object's marks are of this installation.
func (t Tracking) OfThis(obj *unstructured.Unstructured) bool {
	return t.Installation == "" || obj.GetAnnotations()[AnnotationInstallationID] == t.Installation
}

// Labelled reports whether an object has an application's label.
func (t Tracking) Labelled(obj *unstructured.Unstructured, app string) bool {
	value, ok := obj.GetLabels()[t.Label()]
	return ok && value == t.labelFor(app)
}

// Settled returns desired with the marks that live has, as far as these show in
// another way that the object belongs to the application: another method of
// marking is no difference, the next sync writes the marks anew. Both stay as they
// are.
func (t Tracking) Settled(desired, live *unstructured.Unstructured, app string) *unstructured.Unstructured {
	mark, marked := live.GetAnnotations()[AnnotationTrackingID]
	if t.OfOther(live) || !marked && !t.Labelled(live, app) {
		return desired
	}
	if marked {
		id, err := ParseTrackingID(mark)
		if err != nil || id.App != app || !id.Names(KeyOf(desired)) {
			return desired
		}
	}
	out := *desired
	out.Object = maps.Clone(desired.Object)
	metadata, ok := out.Object["metadata"].(map[string]any)
	if !ok {
		return desired
	}
	metadata = maps.Clone(metadata)
	out.Object["metadata"] = metadata
	change(metadata, "annotations", func(annotations map[string]any) {
		if marked {
			annotations[AnnotationTrackingID] = mark
		} else {
			delete(annotations, AnnotationTrackingID)
		}
		if _, has := live.GetAnnotations()[AnnotationInstallationID]; !has {
			delete(annotations, AnnotationInstallationID)
		}
	})
	change(metadata, "labels", func(labels map[string]any) {
		_, wanted := labels[t.Label()]
		value, has := live.GetLabels()[t.Label()]
		switch {
		case t.labels() && !has:
			delete(labels, t.Label())
		case !t.labels() && !wanted && has && value == t.labelFor(app):
			labels[t.Label()] = value
		}
	})
	return &out
}

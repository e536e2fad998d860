// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	trackingID     = "argocd.argoproj.io/tracking-id"
	installationID = "argocd.argoproj.io/installation-id"
	instance       = "app.kubernetes.io/instance"
)

func marked(annotations, labels map[string]any) *unstructured.Unstructured {
	metadata := map[string]any{"name": "c", "namespace": "ns"}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	if labels != nil {
		metadata["labels"] = labels
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}}
}

func TestMark(t *testing.T) {
	const id = "shop:/ConfigMap:ns/c"
	long := strings.Repeat("a", 61) + ".-b"
	type m = map[string]any
	tests := map[string]struct {
		reason              string
		tracking            Tracking
		app                 string
		annotations, labels m
		wantA, wantL        m
	}{
		"Default":      {"an annotation", Tracking{}, "shop", nil, nil, m{trackingID: id}, nil},
		"Kept":         {"what is there stays", Tracking{}, "shop", m{"a": "b"}, m{instance: "release"}, m{"a": "b", trackingID: id}, m{instance: "release"}},
		"Copied":       {"an id that was copied along is replaced, one of an installation that there is not goes", Tracking{}, "shop", m{trackingID: "x:/y:z/w", installationID: "south"}, nil, m{trackingID: id}, nil},
		"Both":         {"annotation and label", Tracking{Method: TrackByBoth}, "shop", nil, m{instance: "release"}, m{trackingID: id}, m{instance: "shop"}},
		"BothLong":     {"the label is made to fit", Tracking{Method: TrackByBoth}, long, nil, nil, m{trackingID: long + ":/ConfigMap:ns/c"}, m{instance: strings.Repeat("a", 61)}},
		"Label":        {"the label alone", Tracking{Method: TrackByLabel}, "shop", m{trackingID: "x:/y:z/w"}, nil, nil, m{instance: "shop"}},
		"LabelLong":    {"one that decides stays whole", Tracking{Method: TrackByLabel}, long, nil, nil, nil, m{instance: long}},
		"OtherKey":     {"under the chosen key", Tracking{Method: TrackByLabel, LabelKey: "garden"}, "shop", nil, m{instance: "release"}, nil, m{instance: "release", "garden": "shop"}},
		"Installation": {"and of which installation", Tracking{Installation: "north"}, "shop", nil, nil, m{trackingID: id, installationID: "north"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			obj := marked(tt.annotations, tt.labels)
			before, metadata := obj.DeepCopy(), maps.Clone(obj.Object["metadata"].(map[string]any))
			tt.tracking.Mark(metadata, tt.app, "dest", KeyOf(obj))
			got := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
			want := marked(tt.wantA, tt.wantL)
			if diff := cmp.Diff(want.GetAnnotations(), got.GetAnnotations()); diff != "" {
				t.Errorf("annotations: %s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(want.GetLabels(), got.GetLabels()); diff != "" {
				t.Errorf("labels: %s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
				t.Errorf("the maps of the object were changed:\n%s", diff)
			}
		})
	}
}

func TestSettled(t *testing.T) {
	const id = "shop:/ConfigMap:ns/c"
	type m = map[string]any
	byLabel, both := Tracking{Method: TrackByLabel}, Tracking{Method: TrackByBoth}
	tests := map[string]struct {
		reason       string
		tracking     Tracking
		desired      *unstructured.Unstructured
		live         *unstructured.Unstructured
		wantA, wantL m
	}{
		"Same":            {"equal marks", Tracking{}, marked(m{trackingID: id}, nil), marked(m{trackingID: id}, nil), m{trackingID: id}, nil},
		"FromLabel":       {"the label says the same", Tracking{}, marked(m{trackingID: id}, nil), marked(nil, m{instance: "shop"}), nil, m{instance: "shop"}},
		"OwnLabel":        {"a label that Git sets is Git's", Tracking{}, marked(m{trackingID: id}, m{instance: "release"}), marked(nil, m{instance: "shop"}), nil, m{instance: "release"}},
		"ToLabel":         {"the annotation says the same", byLabel, marked(nil, m{instance: "shop"}), marked(m{trackingID: id}, nil), m{trackingID: id}, nil},
		"ToBoth":          {"the label comes with the next sync", both, marked(m{trackingID: id}, m{instance: "shop"}), marked(m{trackingID: id}, nil), m{trackingID: id}, nil},
		"FromBoth":        {"the label goes with the next sync", Tracking{}, marked(m{trackingID: id}, nil), marked(m{trackingID: id}, m{instance: "shop"}), m{trackingID: id}, m{instance: "shop"}},
		"Nothing":         {"without any mark it is nobody's", Tracking{}, marked(m{trackingID: id}, nil), marked(nil, nil), m{trackingID: id}, nil},
		"OtherApp":        {"another application's mark is a difference", Tracking{}, marked(m{trackingID: id}, nil), marked(m{trackingID: "other:/ConfigMap:ns/c"}, m{instance: "shop"}), m{trackingID: id}, nil},
		"OtherObject":     {"so is one of another object", byLabel, marked(nil, m{instance: "shop"}), marked(m{trackingID: "shop:/ConfigMap:ns/d"}, nil), nil, m{instance: "shop"}},
		"OtherLabel":      {"and another label", byLabel, marked(nil, m{instance: "shop"}), marked(nil, m{instance: "other"}), nil, m{instance: "shop"}},
		"NewInstallation": {"the id comes with the next sync", Tracking{Installation: "north"}, marked(m{trackingID: id, installationID: "north"}, nil), marked(m{trackingID: id}, nil), m{trackingID: id}, nil},
		"Other":           {"another installation's object is a difference", Tracking{Installation: "north"}, marked(m{trackingID: id, installationID: "north"}, nil), marked(m{trackingID: id, installationID: "south"}, nil), m{trackingID: id, installationID: "north"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			desired, live := tt.desired.DeepCopy(), tt.live.DeepCopy()
			got, want := tt.tracking.Settled(tt.desired, tt.live, "shop"), marked(tt.wantA, tt.wantL)
			if diff := cmp.Diff(want.GetAnnotations(), got.GetAnnotations()); diff != "" {
				t.Errorf("annotations: %s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(want.GetLabels(), got.GetLabels()); diff != "" {
				t.Errorf("labels: %s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff([]any{desired.Object, live.Object}, []any{tt.desired.Object, tt.live.Object}); diff != "" {
				t.Errorf("an object was changed:\n%s", diff)
			}
		})
	}
}

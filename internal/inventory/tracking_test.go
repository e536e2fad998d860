// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestTracking(t *testing.T) {
	const id, installation = manifest.AnnotationTrackingID, manifest.AnnotationInstallationID
	labelled := func(u *unstructured.Unstructured, app string) *unstructured.Unstructured {
		u.SetLabels(map[string]string{manifest.DefaultInstanceLabel: app})
		return u
	}
	object := func(annotations ...string) *unstructured.Unstructured {
		return live("v1", "ConfigMap", "ns", "a", annotations...)
	}
	child := labelled(object(), "shop")
	child.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Operator", Name: "o", UID: "u"}})
	const self, copied, others = "shop:/ConfigMap:ns/a", "shop:/Queue:ns/main", "other:/ConfigMap:ns/a"
	byLabel, both, north := manifest.Tracking{Method: manifest.TrackByLabel}, manifest.Tracking{Method: manifest.TrackByBoth}, manifest.Tracking{Installation: "north"}
	const recorded, unknown = true, false
	tests := map[string]struct {
		reason   string
		tracking manifest.Tracking
		object   *unstructured.Unstructured
		record   bool
		ours     bool
		unproven bool
	}{
		"LabelAlone":        {"a label proves nothing", byLabel, labelled(object(), "shop"), unknown, false, true},
		"LabelRecorded":     {"our record does", byLabel, labelled(object(), "shop"), recorded, true, false},
		"LabelOfOther":      {"another application's label", byLabel, labelled(object(), "other"), unknown, false, false},
		"LabelOwned":        {"a child is its owner's", byLabel, child, recorded, false, false},
		"LabelCopied":       {"an id that was copied along says nothing", byLabel, labelled(object(id, copied), "shop"), unknown, false, true},
		"LabelCopiedRecord": {"nor does it speak against the record", byLabel, labelled(object(id, copied), "shop"), recorded, true, false},
		"LabelAndSelf":      {"an id that names the object does: it is from before", byLabel, object(id, self), unknown, true, false},
		"LabelAndOther":     {"also another application's", byLabel, labelled(object(id, others), "shop"), recorded, false, false},
		"BothLabelAlone":    {"where the annotation decides, labels do not", both, labelled(object(), "shop"), unknown, false, false},
		"BothCopied":        {"nor does the record over an annotation", both, labelled(object(id, copied), "shop"), recorded, false, false},
		"BothSelf":          {"the annotation", both, labelled(object(id, self), "shop"), unknown, true, false},
		"Installation":      {"ours by name and installation", north, object(id, self, installation, "north"), unknown, true, false},
		"OtherInstallation": {"an application of the same name elsewhere", north, object(id, self, installation, "south"), recorded, false, false},
		"NoInstallation":    {"who made it nobody knows", north, object(id, self), unknown, false, false},
		"Before":            {"unless it is on record, from before there was an id", north, object(id, self), recorded, true, false},
		"Ignored":           {"without an id of our own those of others count for nothing", manifest.Tracking{}, object(id, self, installation, "south"), unknown, true, false},
		"LabelElsewhere":    {"labels of another installation's objects", manifest.Tracking{Method: manifest.TrackByLabel, Installation: "north"}, labelled(object(installation, "south"), "shop"), recorded, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{App: "shop", Tracking: tt.tracking, Live: []*unstructured.Unstructured{tt.object, tt.object}, Namespaced: scopes}
			if tt.record {
				in.Record = Entries([]*unstructured.Unstructured{tt.object})
			}
			if got := len(Prunable(in)) == 1; got != tt.ours {
				t.Errorf("%s: ours = %t", tt.reason, got)
			}
			if got := len(Unproven(in)) == 1; got != tt.unproven {
				t.Errorf("%s: unproven = %t", tt.reason, got)
			}
			in.Rendered = []manifest.Key{manifest.KeyOf(tt.object)}
			if len(Unproven(in))+len(Prunable(in)) > 0 {
				t.Error("what is rendered stays")
			}
		})
	}
}

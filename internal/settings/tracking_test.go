// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/settings"
)

func TestTracking(t *testing.T) {
	const method, label = "application.resourceTrackingMethod", "application.instanceLabelKey"
	type data = map[string]string
	cases := map[string]struct {
		reason  string
		data    data
		want    manifest.Tracking
		problem string
	}{
		"Default":      {"an annotation", nil, manifest.Tracking{}, ""},
		"Annotation":   {"the default by its name", data{method: "annotation"}, manifest.Tracking{}, ""},
		"Both":         {"annotation and label", data{method: "annotation+label"}, manifest.Tracking{Method: manifest.TrackByBoth}, ""},
		"Label":        {"a label of one's own", data{method: "label", label: "garden.example.test/app"}, manifest.Tracking{Method: manifest.TrackByLabel, LabelKey: "garden.example.test/app"}, ""},
		"DefaultLabel": {"the default by its name", data{label: "app.kubernetes.io/instance"}, manifest.Tracking{}, ""},
		"Installation": {"an id", data{"installationID": "north"}, manifest.Tracking{Installation: "north"}, ""},
		"Unknown":      {"no method", data{method: "both"}, manifest.Tracking{}, `application.resourceTrackingMethod: "both" is no tracking method`},
		"BadLabel":     {"no label", data{label: "a b"}, manifest.Tracking{}, `application.instanceLabelKey: "a b" is no key of a label`},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			got := settings.Parse(tt.data)
			if diff := cmp.Diff(tt.want, got.Tracking); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if tt.problem == "" && len(got.Problems) > 0 || tt.problem != "" && (len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0].String(), tt.problem)) {
				t.Errorf("problems %v, want %q", got.Problems, tt.problem)
			}
			for key := range tt.data {
				if !settings.Reads(key) {
					t.Errorf("a change of %s is not seen", key)
				}
			}
		})
	}
}

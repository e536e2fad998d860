// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

const (
	keyMethod       = "application.resourceTrackingMethod"
	keyLabel        = "application.instanceLabelKey"
	keyInstallation = "installationID"
)

// tracking reads how objects are marked. A method that is none counts as the
// default: every other would mark objects in a way that nobody asked for.
func (r *reader) tracking() manifest.Tracking {
	t := manifest.Tracking{Installation: strings.TrimSpace(r.data[keyInstallation])}
	switch method := manifest.TrackingMethod(strings.TrimSpace(r.data[keyMethod])); method {
	case manifest.TrackByBoth, manifest.TrackByLabel:
		t.Method = method
	case "", manifest.TrackByAnnotation:
	default:
		r.problem(keyMethod, fmt.Sprintf("%q is no tracking method and counts as annotation: use annotation, annotation+label or label", method))
	}
	label := strings.TrimSpace(r.data[keyLabel])
	if problems := validation.IsQualifiedName(label); label != "" && len(problems) > 0 {
		r.problem(keyLabel, fmt.Sprintf("%q is no key of a label: %s", label, strings.Join(problems, ", ")))
		label = ""
	}
	if label != manifest.DefaultInstanceLabel {
		t.LabelKey = label
	}
	return t
}

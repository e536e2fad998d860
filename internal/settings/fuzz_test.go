// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/settings"
)

// FuzzParse reads values of argocd-cm that nobody would write: what cannot be read
// is a problem that names the key.
func FuzzParse(f *testing.F) {
	for key, value := range map[string]string{
		"resource.exclusions":                           "- apiGroups: ['*']\n  kinds: [Event]\n  clusters: ['https://*']\n",
		"resource.inclusions":                           "- {kinds: [1]}\n",
		"resource.customizations":                       "apps/*:\n  health.lua: return {}\n  ignoreDifferences: |\n    jqPathExpressions: ['.a']\n",
		"resource.customizations.health.a_B":            "- when: object.a\n",
		"resource.customizations.ignoreDifferences.all": "jsonPointers: [/a~1b, '']\n",
		"globalProjects":                                "- labelSelector: {matchExpressions: [{key: a, operator: Im, values: [b]}]}\n  projectName: p\n",
		"application.resourceTrackingMethod":            "label\n",
		"timeout.reconciliation":                        "99999999h",
		"kustomize.buildOptions":                        "--enable-helm --x='$(a)'",
	} {
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		data := map[string]string{key: value}
		s := settings.Parse(data)
		s.Filter.Excludes("https://a", schema.GroupKind{Group: "apps", Kind: "Deployment"})
		for _, p := range s.Problems {
			if p.Key == "" || p.Message == "" {
				t.Errorf("%q: a problem without a place: %+v", value, p)
			}
		}
		settings.Relevant(data)
	})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/wavetrain/wavetrain/internal/settings"
)

func TestGlobalProjects(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		text   string
		// want names, per project, whether it is for one with the label team=a.
		want   string
		broken string
	}{
		"None":      {"an installation without the key has none", "", "", ""},
		"Selected":  {"labels select", "- projectName: limits\n  labelSelector: {matchLabels: {team: a}}\n", "limits:true ", ""},
		"Not":       {"and leave out", "- projectName: limits\n  labelSelector: {matchExpressions: [{key: team, operator: NotIn, values: [a]}]}\n", "limits:false ", ""},
		"All":       {"without a selector it is for all", "- projectName: limits\n", "limits:true ", ""},
		"Order":     {"the order is that of the list", "- projectName: b\n- projectName: a\n", "b:true a:true ", ""},
		"NoName":    {"an entry without a project protects nothing", "- labelSelector: {}\n- projectName: a\n", "", "entry 1 has no projectName"},
		"BadLabels": {"nor one whose selector is malformed", "- projectName: a\n  labelSelector: {matchExpressions: [{key: team, operator: Maybe}]}\n", "", "labelSelector of project a"},
		"Misspelt":  {"a key that is not known would widen what it was to narrow", "- projectName: a\n  labelselectors: {}\n", "", "unknown field"},
		"NoList":    {"nor is a text a list", "limits", "", "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings.Parse(map[string]string{"globalProjects": c.text})
			got := ""
			for _, p := range s.GlobalProjects {
				got += p.Name + ":"
				if p.Selector.Matches(labels.Set{"team": "a"}) {
					got += "true "
				} else {
					got += "false "
				}
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
			if (c.broken == "") != (s.NoGlobalProjects == "") || !strings.Contains(s.NoGlobalProjects, c.broken) || len(s.Problems) > 0 != (c.broken != "") {
				t.Errorf("%s: broken %q, problems %v", c.reason, s.NoGlobalProjects, s.Problems)
			}
		})
	}
}

func TestImpersonation(t *testing.T) {
	const enabled, enforced = "application.sync.impersonation.enabled", "application.sync.impersonation.enforced"
	for name, c := range map[string]struct {
		reason   string
		data     map[string]string
		want     settings.Impersonation
		problems int
	}{
		"Nothing":  {"off, as in Argo CD", nil, settings.Impersonation{Enforced: true}, 0},
		"On":       {"on, and enforced unless told otherwise", map[string]string{enabled: "true"}, settings.Impersonation{Enabled: true, Enforced: true}, 0},
		"Lenient":  {"not enforced", map[string]string{enabled: "true", enforced: "false"}, settings.Impersonation{Enabled: true}, 0},
		"Misspelt": {"what cannot be read protects", map[string]string{enabled: "yes", enforced: "nope"}, settings.Impersonation{Enabled: true, Enforced: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings.Parse(c.data)
			if s.Impersonation != c.want || len(s.Problems) != c.problems {
				t.Errorf("%s: %+v, problems %v", c.reason, s.Impersonation, s.Problems)
			}
		})
	}
	for _, key := range []string{enabled, enforced, "globalProjects"} {
		if !settings.Reads(key) {
			t.Errorf("a change of %s goes unnoticed", key)
		}
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/settings"
)

func TestDifferences(t *testing.T) {
	const split, updates = "resource.customizations.ignoreDifferences.", "resource.customizations.ignoreResourceUpdates."
	pointers := func(group, kind string, pointers ...string) v1alpha1.ResourceIgnoreDifferences {
		return v1alpha1.ResourceIgnoreDifferences{Group: group, Kind: kind, JSONPointers: pointers}
	}
	type rules = []v1alpha1.ResourceIgnoreDifferences
	cases := map[string]struct {
		reason  string
		data    map[string]string
		compare diff.Rules
		updates rules
		off     bool
	}{
		"Nothing": {reason: "an installation without settings ignores nothing"},
		"Split": {
			reason:  "the end of the key names the kind; what is no difference is no update either",
			data:    map[string]string{split + "apps_Deployment": "jsonPointers: [/spec/replicas]"},
			compare: diff.Rules{Ignore: rules{pointers("apps", "Deployment", "/spec/replicas")}}, updates: rules{pointers("apps", "Deployment", "/spec/replicas")},
		},
		"Core": {
			reason:  "the core group has no name",
			data:    map[string]string{split + "ConfigMap": "managedFieldsManagers: [tuner]\njqPathExpressions: ['.data.a']"},
			compare: diff.Rules{Ignore: rules{{Kind: "ConfigMap", ManagedFieldsManagers: []string{"tuner"}, JQPathExpressions: []string{".data.a"}}}},
			updates: rules{{Kind: "ConfigMap", ManagedFieldsManagers: []string{"tuner"}, JQPathExpressions: []string{".data.a"}}},
		},
		"All": {
			reason:  "all stands for every kind",
			data:    map[string]string{split + "all": "jsonPointers: [/metadata/labels/x]"},
			compare: diff.Rules{Ignore: rules{pointers("*", "*", "/metadata/labels/x")}}, updates: rules{pointers("*", "*", "/metadata/labels/x")},
		},
		"Combined": {
			reason: "the key for all kinds holds texts or what they would be",
			data: map[string]string{"resource.customizations": "'*.test/*':\n  ignoreDifferences: |\n    jsonPointers: [/spec/a]\n" +
				"x.test/Y:\n  ignoreDifferences: {jsonPointers: [/spec/b]}\n  ignoreResourceUpdates: |\n    jsonPointers: [/status]\n  knownTypeFields: [{field: spec.c, type: core/Quantity}]\n  actions: x\n"},
			compare: diff.Rules{
				Ignore:     rules{pointers("*.test", "*", "/spec/a"), pointers("x.test", "Y", "/spec/b")},
				KnownTypes: []diff.KnownType{{Group: "x.test", Kind: "Y", Field: "spec.c", Type: "core/Quantity"}},
			},
			updates: rules{pointers("*.test", "*", "/spec/a"), pointers("x.test", "Y", "/spec/b"), pointers("x.test", "Y", "/status")},
		},
		"SplitWins": {
			reason: "a key for one kind counts more than the key for all",
			data: map[string]string{
				"resource.customizations": "x.test/Y: {ignoreDifferences: {jsonPointers: [/spec/a]}}\n", split + "x.test_Y": "jsonPointers: [/spec/b]",
			},
			compare: diff.Rules{Ignore: rules{pointers("x.test", "Y", "/spec/b")}}, updates: rules{pointers("x.test", "Y", "/spec/b")},
		},
		"UpdatesOnly": {
			reason:  "an ignored update may be a difference",
			data:    map[string]string{updates + "all": "jsonPointers: [/status]"},
			updates: rules{pointers("*", "*", "/status")},
		},
		"Apart": {
			reason:  "ignored differences are updates where they shall be",
			data:    map[string]string{split + "ConfigMap": "jsonPointers: [/data/a]", "resource.compareoptions": "ignoreDifferencesOnResourceUpdates: false"},
			compare: diff.Rules{Ignore: rules{pointers("", "ConfigMap", "/data/a")}},
		},
		"UpdatesOff": {reason: "every update is looked at", data: map[string]string{"resource.ignoreResourceUpdatesEnabled": "false"}, off: true},
		"KnownTypes": {
			reason:  "a list",
			data:    map[string]string{"resource.customizations.knownTypeFields.x.test_Y": "- {field: spec.a, type: core/v1/PodSpec}\n- {field: spec.b, type: meta/v1/Duration}\n"},
			compare: diff.Rules{KnownTypes: []diff.KnownType{{Group: "x.test", Kind: "Y", Field: "spec.a", Type: "core/v1/PodSpec"}, {Group: "x.test", Kind: "Y", Field: "spec.b", Type: "meta/v1/Duration"}}},
		},
		"StatusAll":  {reason: "the default, in words", data: map[string]string{"resource.compareoptions": "ignoreResourceStatusField: all\nignoreAggregatedRoles: true"}},
		"StatusCRD":  {reason: "only definitions", data: map[string]string{"resource.compareoptions": "ignoreResourceStatusField: crd"}, compare: diff.Rules{Status: diff.IgnoredForDefinitions}},
		"StatusNone": {reason: "none", data: map[string]string{"resource.compareoptions": "ignoreResourceStatusField: none"}, compare: diff.Rules{Status: diff.IgnoredForNone}},
		"StatusOff":  {reason: "to YAML, off is no word", data: map[string]string{"resource.compareoptions": "ignoreResourceStatusField: off"}, compare: diff.Rules{Status: diff.IgnoredForNone}},
		"StatusText": {reason: "in quotes it is", data: map[string]string{"resource.compareoptions": "ignoreResourceStatusField: 'false'"}, compare: diff.Rules{Status: diff.IgnoredForNone}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			got := settings.Parse(tt.data)
			if len(got.Problems) > 0 {
				t.Errorf("problems: %v", got.Problems)
			}
			if diff := cmp.Diff(tt.compare, got.Compare); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(settings.Updates{Enabled: !tt.off, Ignore: tt.updates}, got.Updates); diff != "" {
				t.Errorf("updates: %s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestProblemsOfDifferences(t *testing.T) {
	const key = "resource.customizations.ignoreDifferences.ConfigMap"
	cases := map[string]struct {
		reason    string
		key, text string
		says      string
		rules     int
	}{
		"NotYAML":      {"nothing can be read", key, "a: [", key + ": ", 0},
		"Misspelt":     {"the rest holds", key, "jsonPointer: [/a]\njsonPointers: [/b]", "jsonPointer", 1},
		"NotAPointer":  {"it selects nothing", key, "jsonPointers: [data.a]", `"data.a" selects nothing: it has to begin with /`, 1},
		"NotJQ":        {"who needs it must not go on without", key, "jqPathExpressions: ['.data[']", `jq expression ".data["`, 1},
		"UnknownType":  {"the field stays text", "resource.customizations.knownTypeFields.x_Y", "[{field: a, type: core/v1/Nonsense}]", "core/v1/Nonsense", 0},
		"NoField":      {"there is nothing to compare", "resource.customizations.knownTypeFields.x_Y", "[{type: core/Quantity}]", "field is missing", 0},
		"Status":       {"an unknown word counts as all", "resource.compareoptions", "ignoreResourceStatusField: some", `"some" counts as all`, 0},
		"RespectRBAC":  {"an unknown word counts as no", "resource.respectRBAC", "yes", `"yes" is neither normal nor strict`, 0},
		"CombinedRule": {"the entry is named", "resource.customizations", "ConfigMap: {ignoreDifferences: {jqPathExpressions: ['.data[']}}", "resource.customizations.ConfigMap.ignoreDifferences: ", 1},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			got := settings.Parse(map[string]string{tt.key: tt.text})
			if len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0].Key, tt.key) || !strings.Contains(got.Problems[0].String(), tt.says) {
				t.Errorf("%s: problems %q, want one that says %q", tt.reason, got.Problems, tt.says)
			}
			if len(got.Compare.Ignore) != tt.rules {
				t.Errorf("%s: rules %v", tt.reason, got.Compare.Ignore)
			}
		})
	}
}

func TestRespectRBAC(t *testing.T) {
	for value, want := range map[string]bool{"": false, "normal": true, "strict": true} {
		if got := settings.Parse(map[string]string{"resource.respectRBAC": value}); got.RespectRBAC != want || len(got.Problems) > 0 {
			t.Errorf("%q: %t, problems %v", value, got.RespectRBAC, got.Problems)
		}
	}
}

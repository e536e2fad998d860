// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/settings"
)

func TestHealthRules(t *testing.T) {
	const lua, ours = "resource.customizations.health.", "wavetrain.dev.health."
	rule := func(target, from, script string) settings.HealthRule {
		return settings.HealthRule{Target: target, From: from, Lua: script}
	}
	cases := map[string]struct {
		reason string
		data   map[string]string
		want   []settings.HealthRule
	}{
		"Nothing":  {"an installation without settings has no rules", nil, nil},
		"Split":    {"the end of the key names the kind", map[string]string{lua + "a.b_C": "x"}, []settings.HealthRule{rule("a.b/C", lua+"a.b_C", "x")}},
		"Core":     {"the core group has no name", map[string]string{lua + "Pod": "x"}, []settings.HealthRule{rule("Pod", lua+"Pod", "x")}},
		"Combined": {"patterns stand in the key for all kinds", map[string]string{"resource.customizations": "'*.b/*':\n  health.lua: x\n"}, []settings.HealthRule{rule("*.b/*", "resource.customizations.*.b/*", "x")}},
		"Order": {
			"the order does not depend on chance",
			map[string]string{lua + "z_Z": "z", lua + "a_A": "a", "resource.customizations": "m/M: {health.lua: m}\n"},
			[]settings.HealthRule{rule("a/A", lua+"a_A", "a"), rule("m/M", "resource.customizations.m/M", "m"), rule("z/Z", lua+"z_Z", "z")},
		},
		"SplitWins": {"a key for one kind counts more than the key for all", map[string]string{lua + "a_B": "split", "resource.customizations": "a/B: {health.lua: all}\n"}, []settings.HealthRule{rule("a/B", lua+"a_B", "split")}},
		"OursWins": {
			"and our own more than Argo CD's",
			map[string]string{lua + "a_B": "x", ours + "a_B": "[{status: Healthy}]"},
			[]settings.HealthRule{{Target: "a/B", From: ours + "a_B", Cases: []settings.HealthCase{{Status: "Healthy"}}}},
		},
		"NoHealth": {"an entry about something else is no rule", map[string]string{"resource.customizations": "a/B: {actions: x}\n"}, nil},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			got := settings.Parse(tt.data)
			if diff := cmp.Diff(tt.want, got.Health); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if len(got.Problems) > 0 {
				t.Errorf("problems: %v", got.Problems)
			}
		})
	}
}

func TestAHealthRuleThatCannotBeReadIsARuleThatDoesNotWork(t *testing.T) {
	got := settings.Parse(map[string]string{"wavetrain.dev.health.a_B": "[{if: 'true', status: Healthy}]"}).Health
	if len(got) != 1 || !strings.HasPrefix(got[0].Broken, "wavetrain.dev.health.a_B: ") || strings.Contains(got[0].Broken, "\n") {
		t.Errorf("rules %+v", got)
	}
}

func TestProblemsNameTheKeyAndKeepNothingElseFromBeingRead(t *testing.T) {
	cases := map[string]struct {
		data map[string]string
		says string
	}{
		"NotYAML":    {map[string]string{"resource.customizations": "a: ["}, "resource.customizations: "},
		"NotAString": {map[string]string{"resource.customizations": "a/B: {health.lua: [1]}\n"}, "resource.customizations: a/B: "},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			tt.data["resource.customizations.health.x_Y"] = "return nil"
			got := settings.Parse(tt.data)
			if len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0].String(), tt.says) || strings.Contains(got.Problems[0].Message, "\n") {
				t.Errorf("problems %q, want one that begins with %q", got.Problems, tt.says)
			}
			if len(got.Health) != 1 {
				t.Errorf("the other rule is lost: %v", got.Health)
			}
		})
	}
}

func TestRelevantKeepsWhatIsRead(t *testing.T) {
	got := settings.Relevant(map[string]string{
		"resource.customizations": "x", "resource.customizations.health.a_B": "x", "wavetrain.dev.health.a_B": "x",
		"resource.customizations.actions.a_B": "x", "url": "x",
	})
	want := map[string]string{"resource.customizations": "x", "resource.customizations.health.a_B": "x", "wavetrain.dev.health.a_B": "x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestParse(t *testing.T) {
	got, err := config.Parse(".wavetrain.yaml", []byte(`
repository: https://example.com/repo.git
bootstrap: [root.yaml]
purposes:
- {match: "Service/redis-*", purpose: endpoints}
- {match: "*/redis-*", purpose: redis}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Repository: "https://example.com/repo.git",
		Bootstrap:  []string{"root.yaml"},
		Purposes:   []config.Purpose{{Match: "Service/redis-*", Purpose: "endpoints"}, {Match: "*/redis-*", Purpose: "redis"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for object, purpose := range map[[2]string]string{
		{"Service", "redis-master"}: "endpoints", {"Secret", "redis-auth"}: "redis", {"Secret", "other"}: "",
	} {
		if text, ok := got.PurposeOf(object[0], object[1]); text != purpose || ok != (purpose != "") {
			t.Errorf("%v: want %q, got %q", object, purpose, text)
		}
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "---\n"} {
		if got, err := config.Parse(".wavetrain.yaml", []byte(text)); err != nil || !cmp.Equal(got, config.Config{}) {
			t.Errorf("%q: want an empty configuration, got %v, %v", text, got, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"UnknownKey":   {reason: "A misspelt key must not pass.", in: "repository: x\npurpose: []\n", want: `.wavetrain.yaml:2: unknown key "purpose"`},
		"UnknownInner": {reason: "Nor one inside.", in: "purposes:\n- match: a/b\n  purpose: c\n  kind: d\n", want: `.wavetrain.yaml:4: unknown key "kind"`},
		"Type":         {reason: "A wrong type has a line.", in: "repository: x\nbootstrap: {a: b}\n", want: ".wavetrain.yaml:2: cannot unmarshal !!map into []string"},
		"YAML":         {reason: "Broken YAML has a line.", in: "repository: x\n\tbootstrap: y\n", want: ".wavetrain.yaml:2: found a tab character that violates indentation"},
		"Incomplete":   {reason: "Half an entry says nothing.", in: "purposes:\n- {match: a/b}\n", want: ".wavetrain.yaml:2: an entry of purposes needs match and purpose"},
		"NoKind":       {reason: "A name without a kind matches nothing.", in: "purposes:\n\n- {match: redis-*, purpose: x}\n", want: `.wavetrain.yaml:3: match "redis-*" is not of the form Kind/name`},
		"Pattern":      {reason: "A broken pattern matches nothing.", in: "purposes:\n- {match: \"a/[\", purpose: x}\n", want: `.wavetrain.yaml:2: match "a/[" is not a pattern`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse(".wavetrain.yaml", []byte(tc.in))
			var fault *manifest.ParseError
			if !errors.As(err, &fault) || err.Error() != tc.want {
				t.Errorf("%s\nwant %s\ngot  %v", tc.reason, tc.want, err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("repository: x\nbootstrap: [a]\npurposes:\n- {match: a/b, purpose: c}\n")
	f.Add("purposes: {}\n")
	f.Add("- a\n- b\n")
	f.Add("&a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse(".wavetrain.yaml", []byte(text))
		var fault *manifest.ParseError
		if err != nil && !errors.As(err, &fault) {
			t.Fatalf("an error that names no place: %v", err)
		}
		if err == nil {
			c.PurposeOf("Service", "a")
		}
		if _, other := config.ParseExternal(".wavetrain.yaml", []byte(text)); err == nil && other != nil {
			t.Fatalf("what is no error of the whole is one of a part: %v", other)
		}
	})
}

func TestVerify(t *testing.T) {
	got, err := config.Parse(".wavetrain.yaml", []byte(`
external: [Secret/shop-*]
verify:
  ignore:
  - {code: replica-fight, match: Deployment/web, reason: scaled by hand}
  layout:
  - {path: "apps/*.yaml", only: [Application], reason: r}
  rules:
  - name: r
    holds: "true"
    message: m
    tests: [{object: {a: 1}, holds: true}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		External: []config.External{{Object: "Secret/shop-*", Line: 2}},
		Verify: config.Verify{
			Ignore: []config.Ignore{{Code: "replica-fight", Match: "Deployment/web", Reason: "scaled by hand", Line: 5}},
			Layout: []config.Layout{{Path: "apps/*.yaml", Only: []string{"Application"}, Reason: "r", Line: 7}},
			Rules:  []config.Rule{{Name: "r", Holds: "true", Message: "m", Line: 9, Tests: []config.RuleTest{{Object: map[string]any{"a": 1}, Holds: true}}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, tt := range []struct{ text, want string }{
		{"verify:\n  ignore:\n  - {code: a}", ".wavetrain.yaml:3: an entry of verify.ignore needs code and reason"},
		{"verify:\n  rules:\n  - {name: a}", ".wavetrain.yaml:3: an entry of verify.rules needs name, holds and message"},
		{"verify:\n  rules:\n  - {name: a, holds: b, message: c, severity: bad}", `.wavetrain.yaml:3: severity "bad" is not known: use error, warning or info`},
		{"verify:\n  ignore:\n  - {code: a, reason: b, matches: c}", `.wavetrain.yaml:3: unknown key "matches"`},
		{"external:\n- Secret/a\n- Secret", `.wavetrain.yaml:3: external: "Secret" is no object: write Kind/name, Kind/namespace/name or group/Kind/namespace/name`},
		{"external:\n- {object: Secret/a, by: b}", `.wavetrain.yaml:2: unknown key "by"`},
		{"external:\n- {object: Secret/a*, neededBy: [Sync]}", `.wavetrain.yaml:2: external: "Secret/a*" is no single object: neither wildcards nor spaces belong into it`},
		{"external:\n- {object: Secret/a, neededBy: [Snyc]}", `.wavetrain.yaml:2: external: neededBy: "Snyc" is no object: write Kind/name, Kind/namespace/name or group/Kind/namespace/name, or a phase such as PreSync`},
		{"references:\n- {kind: a.io/B, to: Secret}", `.wavetrain.yaml:2: an entry of references needs kind, path and to`},
		{"references:\n- {kind: a.io/B, path: \"spec.a[0]\", to: Secret}", `.wavetrain.yaml:2: references: path "spec.a[0]" is no path: write spec.list[*].field`},
		{"references:\n- {kind: a.io/B, path: spec.a, to: Widget}", `.wavetrain.yaml:2: references: kind "Widget" is not Kubernetes' own, so its group is needed: write group/Widget`},
		{"nodes:\n- {labels: {a: b}}", ".wavetrain.yaml:2: nodes: an entry needs a name"},
		{"nodes:\n- {name: a, taints: [gpu]}", `.wavetrain.yaml:2: nodes: "gpu" is no taint: write key=value:NoSchedule`},
		{"nodes:\n- {name: a, memory: much}", `.wavetrain.yaml:2: nodes: "much" is no quantity such as 8 or 32Gi`},
		{"verify:\n  layout:\n  - {path: a}", ".wavetrain.yaml:3: an entry of verify.layout needs path and only"},
	} {
		if _, err := config.Parse(".wavetrain.yaml", []byte(tt.text)); err == nil || err.Error() != tt.want {
			t.Errorf("%q: error %v, want %s", tt.text, err, tt.want)
		}
	}
}

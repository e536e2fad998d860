// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/settings"
)

func TestRendering(t *testing.T) {
	cases := map[string]struct {
		reason, options string
		schemes         *string
		want            settings.Rendering
		problems        int
	}{
		"Default": {"Charts in kustomizations are off, value files come by http and https.", "", nil, settings.Rendering{FileSchemes: []string{"http", "https"}}, 0},
		"Helm":    {"The option of the tool allows charts.", "--load-restrictor LoadRestrictionsNone --enable-helm", nil, settings.Rendering{KustomizeHelm: true, FileSchemes: []string{"http", "https"}}, 0},
		"Off":     {"And takes them back.", "--enable-helm=false", nil, settings.Rendering{FileSchemes: []string{"http", "https"}}, 0},
		"Plugins": {"What starts programs has no meaning.", "--enable-helm --enable-exec", nil, settings.Rendering{KustomizeHelm: true, FileSchemes: []string{"http", "https"}}, 1},
		"Schemes": {"A list of schemes; what cannot be read is named.", "", new("https, ftp"), settings.Rendering{FileSchemes: []string{"https"}}, 1},
		"None":    {"An empty list forbids all.", "", new(""), settings.Rendering{}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := map[string]string{"kustomize.buildOptions": tc.options}
			if tc.schemes != nil {
				data["helm.valuesFileSchemes"] = *tc.schemes
			}
			got := settings.Parse(settings.Relevant(data))
			if diff := cmp.Diff(tc.want, got.Rendering); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if len(got.Problems) != tc.problems {
				t.Errorf("%s: problems %v", tc.reason, got.Problems)
			}
		})
	}
}

func TestRemoteBases(t *testing.T) {
	got := settings.Parse(settings.Relevant(map[string]string{
		"wavetrain.dev.kustomize.remoteBases": "https://git.example.com/platform, git@git.example.com:acme/\nssh://git@git.example.com https:// example.com file:///srv",
	}))
	if diff := cmp.Diff([]string{"https://git.example.com/platform", "git@git.example.com:acme/", "ssh://git@git.example.com"}, got.Rendering.RemoteBases); diff != "" {
		t.Error(diff)
	}
	if len(got.Problems) != 3 {
		t.Errorf("problems %v", got.Problems)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package jq

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func object() map[string]any {
	return map[string]any{"spec": map[string]any{
		"replicas": int64(3), "ratio": 0.5, "paused": false, "none": nil,
		"containers": []any{map[string]any{"name": "app", "port": int64(80)}, map[string]any{"name": "proxy"}},
	}}
}

func TestDelete(t *testing.T) {
	tests := map[string]struct {
		expression string
		change     func(spec map[string]any)
	}{
		"field":   {".spec.replicas", func(spec map[string]any) { delete(spec, "replicas") }},
		"several": {".spec.replicas, .spec.ratio", func(spec map[string]any) { delete(spec, "replicas"); delete(spec, "ratio") }},
		"item": {`.spec.containers[] | select(.name == "proxy")`, func(spec map[string]any) {
			spec["containers"] = spec["containers"].([]any)[:1]
		}},
		"in items": {".spec.containers[].port", func(spec map[string]any) {
			delete(spec["containers"].([]any)[0].(map[string]any), "port")
		}},
		"nothing":        {".metadata.labels.x", func(map[string]any) {}},
		"no environment": {".spec | select($ENV.PATH != null)", func(map[string]any) {}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, err := Delete(tt.expression)
			if err != nil {
				t.Fatal(err)
			}
			given, want := object(), object()
			got, err := d.From(given)
			if err != nil {
				t.Fatal(err)
			}
			tt.change(want["spec"].(map[string]any))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(object(), given); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for _, expression := range []string{".spec[", ".spec | nope"} {
		if _, err := Delete(expression); err == nil || !strings.Contains(err.Error(), expression) {
			t.Errorf("%s: error %v, want one that names the expression", expression, err)
		}
	}
	for expression, want := range map[string]string{
		".spec.replicas.x":                       "jq expression",
		".spec) , (.x":                           "more than one result",
		"(def f: f; f)":                          "stopped after 1s",
		".spec.containers | map(.name) | .[0].x": "jq expression",
	} {
		d, err := Delete(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if _, err := d.From(object()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", expression, err, want)
		}
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func TestLocalManifests(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".wavetrain.yaml", "")
	write("charts/shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n")
	write("charts/shop/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {v: '{{ .Values.v }}'}\n")
	write("empty/notes.txt", "nothing")
	source := v1alpha1.ApplicationSource{Path: "somewhere/else", Helm: &v1alpha1.ApplicationSourceHelm{Parameters: []v1alpha1.HelmParameter{{Name: "v", Value: "set"}}}}
	app := &v1alpha1.Application{Spec: v1alpha1.ApplicationSpec{Source: &source, Destination: v1alpha1.ApplicationDestination{Server: "https://elsewhere.example.test"}}}
	app.Name = "frontend"

	manifests, err := localManifests(t.Context(), &rest.Config{}, app, filepath.Join(root, "charts/shop"))
	if err != nil {
		t.Fatal(err)
	}
	if len(manifests) != 1 || !strings.Contains(manifests[0], `"name":"frontend"`) || !strings.Contains(manifests[0], `"v":"set"`) {
		t.Errorf("manifests = %q, want the directory rendered with the source's own settings", manifests)
	}
	app.Spec.Source = &v1alpha1.ApplicationSource{}
	if _, err := localManifests(t.Context(), &rest.Config{}, app, filepath.Join(root, "empty")); err == nil || !strings.Contains(err.Error(), "renders no object") {
		t.Errorf("an empty directory: %v", err)
	}
	app.Spec.Sources = []v1alpha1.ApplicationSource{source, source}
	if _, err := localManifests(t.Context(), &rest.Config{}, app, root); err == nil || !strings.Contains(err.Error(), "has 2 sources") {
		t.Errorf("several sources: %v", err)
	}
}

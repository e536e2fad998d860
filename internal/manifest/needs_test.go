// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestParseNeed(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want, fault string }{
		{text: "postgresql.cnpg.io/Cluster/databases/core-pg", want: "postgresql.cnpg.io/Cluster/databases/core-pg"},
		{text: "apps/Deployment/core", want: "apps/Deployment/core anywhere"},
		{text: "Deployment/core", want: "apps/Deployment/core anywhere"},
		{text: "Deployment/shop/core", want: "apps/Deployment/shop/core"},
		{text: "Secret/db", want: "Secret/db anywhere"},
		{text: "Cluster.postgresql.cnpg.io/core-pg", want: "postgresql.cnpg.io/Cluster/core-pg anywhere"},
		{text: "storage.k8s.io/StorageClass/fast", want: "storage.k8s.io/StorageClass/fast anywhere"},
		{text: "Cluster/core-pg", fault: "its group is needed"},
		{text: "Secret", fault: "is no object"},
		{text: "Secret/", fault: "lacks a kind or a name"},
		{text: "Secret//db", fault: "empty namespace"},
		{text: "Secret/db*", fault: "no single object"},
		{text: "a/b/c/d/e", fault: "is no object"},
	}
	for _, tt := range tests {
		need, err := manifest.ParseNeed(tt.text)
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%q: error %v, want one that says %q", tt.text, err, tt.fault)
			}
			continue
		}
		got := strings.TrimPrefix(strings.ReplaceAll(need.String(), "//", "/"), "/")
		if need.Anywhere {
			got += " anywhere"
		}
		if err != nil || got != tt.want {
			t.Errorf("%q: got %s, %v; want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	core := manifest.Key{Group: "postgresql.cnpg.io", Kind: "Cluster", Namespace: "databases", Name: "core-pg"}
	secret := manifest.Key{Kind: "Secret", Namespace: "shop", Name: "shop-db"}
	for pattern, wants := range map[string][2]bool{
		"Cluster/core-pg":                              {true, false},
		"postgresql.cnpg.io/Cluster/*":                 {true, false},
		"postgresql.cnpg.io/Cluster/databases/core-pg": {true, false},
		"other.io/Cluster/databases/core-pg":           {false, false},
		"Cluster.postgresql.cnpg.io/databases/core-*":  {true, false},
		"Secret/shop-*":                                {false, true},
		"Secret/elsewhere/shop-*":                      {false, false},
		"*/*":                                          {true, true},
	} {
		p, err := manifest.ParsePattern(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		if got := [2]bool{p.Matches(core), p.Matches(secret)}; got != wants {
			t.Errorf("%s: matches %v, want %v", pattern, got, wants)
		}
	}
}

// TestTable adds references and products that only somebody's own table knows.
func TestTable(t *testing.T) {
	t.Parallel()
	of, err := manifest.ParseKind("acme.io/Widget")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := manifest.ParseKind("Secret")
	if err != nil {
		t.Fatal(err)
	}
	table := manifest.Table{
		{Of: of, Path: "spec.logins[*].secretName", To: secret},
		{Of: of, Path: "spec.writes", To: secret, Makes: true},
	}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "shop"},
		"spec": map[string]any{
			"logins": []any{map[string]any{"secretName": "a"}, map[string]any{"secretName": "b"}},
			"writes": map[string]any{"name": "made", "namespace": "other"},
		},
	}}
	var got []string
	for _, ref := range table.References(widget) {
		got = append(got, ref.Field+" "+ref.Target.String())
		if !ref.Blocks(widget) {
			t.Errorf("%s: the object is taken to work without it", ref.Field)
		}
	}
	want := []string{"spec.logins[0].secretName " + (manifest.Key{Kind: "Secret", Namespace: "shop", Name: "a"}).String(), "spec.logins[1].secretName " + (manifest.Key{Kind: "Secret", Namespace: "shop", Name: "b"}).String()}
	if !slices.Equal(got, want) {
		t.Errorf("references %q, want %q", got, want)
	}
	products := table.Products(widget)
	if len(products) != 1 || products[0].Object != (manifest.Key{Kind: "Secret", Namespace: "other", Name: "made"}) || products[0].KeysKnown {
		t.Errorf("products %v, want Secret other/made with keys that are not known", products)
	}
}

func FuzzNeeds(f *testing.F) {
	for _, seed := range []string{"postgresql.cnpg.io/Cluster/databases/core-pg", "Secret/a, Secret/b\nPod/c", "*/[", "//", "a/b/c/d", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetAnnotations(map[string]string{manifest.AnnotationNeeds: text})
		needs, err := manifest.Needs(u)
		for _, n := range needs {
			if err != nil || n.Kind == "" || n.Name == "" {
				t.Errorf("%q: need %v, error %v", text, n, err)
			}
		}
		if p, err := manifest.ParsePattern(text); err == nil {
			p.Matches(manifest.Key{Kind: "Secret", Name: "a"})
		}
		if gk, err := manifest.ParseKind(text); err == nil && gk.Kind == "" {
			t.Errorf("%q: a kind without a name", text)
		}
	})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/provider"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// What is read from nodes is what a reader of the text reads: scalars of every look,
// as they are written and as values that nodes were given by transformers.
func TestNodesAreReadAsTheirTextIs(t *testing.T) {
	scalars := []string{
		"text", "yes", "no", "on", "y", "n", "True", "false", "~", "null", "", "0", "-0", "1", "+1", "0777", "0o17", "0x1F", "0b101", "1_000", "1e3", "1E-3", "1.0", ".5", "5.",
		"1.50", "123456789012345678", "9223372036854775808", "1e21", "1e400", ".inf", ".nan", "2026-01-02", "12:30:45", "'1'", "\"yes\"", "'~'", "\"a\\u2028b\\x01\"", "|\n  a\n  b\n",
		"|\n\n  a\n", ">-\n  a\n  b\n", "!!str 1", "!!int \"1\"", "!!binary aGk=", "&x 1", "{}", "[]", "{a: [1, {b: c}]}", "<<", "=", "naïve", "{1: a}", "{yes: a}", "{true: a}", "a: b # c",
	}
	factory := provider.NewDefaultDepProvider().GetResourceFactory()
	direct := 0
	for _, scalar := range scalars {
		if strings.Contains(scalar, ": b #") {
			scalar = "\n  " + scalar
		}
		text := "apiVersion: v1\nkind: X\nmetadata: {name: obj}\nspec: " + scalar + "\n"
		resources, err := factory.SliceFromBytes([]byte(text))
		if err != nil {
			continue
		}
		content, ok := valueOf(resources[0].YNode())
		if !ok {
			continue
		}
		direct++
		out, err := resources[0].AsYAML()
		if err != nil {
			t.Errorf("%q has no text: %v", scalar, err)
			continue
		}
		want, err := manifest.Decode("f", out)
		if err != nil {
			t.Errorf("%q: %v", scalar, err)
			continue
		}
		if diff := cmp.Diff(want[0].Object, content); diff != "" {
			t.Errorf("%q: text -, nodes +\n%s", scalar, diff)
		}
	}
	if direct < len(scalars)/2 {
		t.Errorf("only %d of %d are read from nodes", direct, len(scalars))
	}
}

// Where each resource comes from is found as Kustomize tells it.
func TestPlacesAreThoseThatKustomizeTells(t *testing.T) {
	object := func(kind, name string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s}\n---\n", kind, name)
	}
	files := fstest.MapFS{}
	add := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
	add("base/a.yaml", object("ConfigMap", "app")+object("Service", "app"))
	add("base/b.yaml", object("Secret", "keys"))
	add("base/kustomization.yaml", "resources: [a.yaml, b.yaml]\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n")
	add("part/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [c.yaml]\n")
	add("part/c.yaml", object("ServiceAccount", "part"))
	add("plain/kustomization.yaml", "namePrefix: x-\nresources: [../base, own.yaml]\ncomponents: [../part]\n")
	add("plain/own.yaml", object("Service", "own"))
	// Names that contain each other: Kustomize has to be asked.
	add("alike/kustomization.yaml", "namePrefix: x-\nresources: [../base, own.yaml]\n")
	add("alike/own.yaml", object("Service", "app-two"))
	// A name that a patch changes.
	add("renamed/kustomization.yaml", "resources: [../base]\npatches: [{target: {kind: Service}, patch: '- {op: replace, path: /metadata/name, value: other}', options: {allowNameChange: true}}]\n")
	add("twice/kustomization.yaml", "resources: [one, two]\n")
	add("twice/one/kustomization.yaml", "namePrefix: one-\nresources: [../../base]\n")
	add("twice/two/kustomization.yaml", "namePrefix: two-\nresources: [../../base]\n")
	want := map[string]map[string]string{
		"plain": {
			"ConfigMap/x-app": "base/a.yaml", "Service/x-app": "base/a.yaml", "Secret/x-keys": "base/b.yaml", "Service/x-own": "plain/own.yaml",
			"ServiceAccount/x-part": "part/c.yaml", "ConfigMap/x-made-": "base/kustomization.yaml",
		},
		"alike": {
			"ConfigMap/x-app": "base/a.yaml", "Service/x-app": "base/a.yaml", "Secret/x-keys": "base/b.yaml", "Service/x-app-two": "alike/own.yaml",
			"ConfigMap/x-made-": "base/kustomization.yaml",
		},
		"renamed": {"ConfigMap/app": "base/a.yaml", "Service/other": "base/a.yaml", "Secret/keys": "base/b.yaml", "ConfigMap/made-": "base/kustomization.yaml"},
		"twice": {
			"ConfigMap/one-app": "base/a.yaml", "Service/one-app": "base/a.yaml", "Secret/one-keys": "base/b.yaml", "ConfigMap/one-made-": "base/kustomization.yaml",
			"ConfigMap/two-app": "base/a.yaml", "Service/two-app": "base/a.yaml", "Secret/two-keys": "base/b.yaml", "ConfigMap/two-made-": "base/kustomization.yaml",
		},
	}
	for dir, places := range want {
		objects, _, err := Render(t.Context(), Input{
			Files: files, Path: dir, Options: v1alpha1.ApplicationSourceKustomize{}, Expand: func(s string) string { return s },
		})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, o := range objects {
			name := o.GetKind() + "/" + o.GetName()
			if before, _, made := strings.Cut(name, "made-"); made {
				name = before + "made-"
			}
			got[name] = o.Provenance.File
		}
		if diff := cmp.Diff(places, got); diff != "" {
			t.Errorf("%s: want -, got +\n%s", dir, diff)
		}
	}
}

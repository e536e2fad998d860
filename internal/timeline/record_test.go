// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package timeline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

func widgets(description string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster",
			"names": map[string]any{"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "description": description}},
			}},
		},
	}}
}

// TestRecordLosesNothingWhenDefinitionsChange: a kind that is defined while
// discovery lags behind, and one whose definition changes, are recorded all the
// same.
func TestRecordLosesNothingWhenDefinitionsChange(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Own: true})
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	objects := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	apply := metav1.ApplyOptions{FieldManager: "test", Force: true}
	define := func(description string) {
		t.Helper()
		if _, err := crds.Apply(t.Context(), "widgets.example.com", widgets(description), apply); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(chan timeline.Moment, 10000)
	awaitMoment := func(what timeline.What, kind, name string) timeline.Moment {
		t.Helper()
		timeout := time.After(30 * time.Second)
		for {
			select {
			case m := <-seen:
				if m.What == what && m.Key.Kind == kind && m.Key.Name == name {
					return m
				}
			case <-timeout:
				t.Fatalf("%s/%s was not noted as %s", kind, name, what)
			}
		}
	}
	// A definition that has just been changed takes its kind away for a moment.
	create := func(name string) {
		t.Helper()
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}}}
		for range 500 {
			if _, err = objects.Create(t.Context(), obj, metav1.CreateOptions{}); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal(err)
	}

	define("first")
	create("before")
	ctx, stop := context.WithCancel(t.Context())
	recorder, err := timeline.Record(ctx, env.Config, func(m timeline.Moment) { seen <- m })
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for i := range 5 {
		define(fmt.Sprintf("change %d", i))
		names = append(names, fmt.Sprintf("widget-%d", i))
		create(names[i])
		awaitMoment(timeline.Created, "Widget", names[i])
	}
	stop()
	recorder.Wait()
	var created []string
	for _, m := range recorder.Moments() {
		if m.Key.Kind == "Widget" && m.What == timeline.Created {
			created = append(created, m.Key.Name)
		}
	}
	if !slices.Equal(created, names) {
		t.Errorf("created were noted %q, want %q, each once", created, names)
	}
}

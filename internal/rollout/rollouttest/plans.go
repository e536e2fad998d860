// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollouttest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Namespace is where the objects of test plans live.
const Namespace = "shop"

// Object returns a minimal object of a kind with a fate.
func Object(kind, name, fate string) *unstructured.Unstructured {
	versions := map[string]string{
		"Deployment": "apps/v1", "Job": "batch/v1", "ExternalSecret": "external-secrets.io/v1", "Ingress": "networking.k8s.io/v1",
	}
	version := versions[kind]
	if version == "" {
		version = "v1"
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	if kind != "Namespace" {
		u.SetNamespace(Namespace)
	}
	u.SetName(name)
	if fate != "" {
		u.SetAnnotations(map[string]string{AnnotationFate: fate})
	}
	if spec := specOf(kind, name); spec != nil {
		u.Object["spec"] = spec
	}
	return u
}

// specOf returns a spec that an API server accepts.
func specOf(kind, name string) map[string]any {
	labels := map[string]any{"app": name}
	pod := func(restart string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{
				"restartPolicy": restart,
				"containers":    []any{map[string]any{"name": "main", "image": "registry.example.test/" + name + ":1"}},
			},
		}
	}
	switch kind {
	case "Deployment":
		return map[string]any{
			"replicas": int64(1), "selector": map[string]any{"matchLabels": labels}, "template": pod("Always"),
		}
	case "Job":
		return map[string]any{"backoffLimit": int64(0), "template": pod("Never")}
	}
	return nil
}

// Group returns a group of a plan with its steps.
func Group(phase manifest.Phase, wave int, steps ...plan.Step) plan.Group {
	g := plan.Group{Phase: phase, Wave: wave}
	for _, s := range steps {
		name := s.Key.Name
		if name == "" {
			name = s.Object.GetGenerateName()
		}
		s.ID = strings.Join([]string{string(phase), fmt.Sprint(wave), s.Key.Group, s.Key.Kind, s.Key.Namespace, name}, "/")
		if s.Action == plan.Hook {
			s.HookType = phase
		}
		for i := range s.Needs {
			s.Needs[i].ByStep = strings.Join([]string{
				string(phase), fmt.Sprint(wave), s.Needs[i].Producer.Group, s.Needs[i].Producer.Kind,
				s.Needs[i].Producer.Namespace, s.Needs[i].Producer.Name,
			}, "/")
			s.After = append(s.After, s.Needs[i].ByStep)
		}
		g.Steps = append(g.Steps, s)
	}
	return g
}

// Step returns a step that applies an object.
func Step(u *unstructured.Unstructured) plan.Step {
	return plan.Step{
		Action: plan.Create, Key: manifest.KeyOf(u), Version: u.GroupVersionKind().Version,
		Object: &manifest.Object{Unstructured: u}, Precondition: "absent",
	}
}

// Hook returns a step that runs a hook.
func Hook(u *unstructured.Unstructured, policies ...manifest.DeletePolicy) plan.Step {
	s := Step(u)
	s.Action, s.Policies, s.Precondition = plan.Hook, policies, ""
	return s
}

// Prune returns a step that deletes a live object.
func Prune(live *unstructured.Unstructured) plan.Step {
	s := Step(live)
	s.Action, s.Precondition = plan.Prune, "uid:"+string(live.GetUID())
	return s
}

// Needing makes a step need the Secret of an ExternalSecret of the same group.
func Needing(s plan.Step, external string) plan.Step {
	s.Needs = append(s.Needs, plan.Effect{
		Object:   manifest.Key{Kind: "Secret", Namespace: Namespace, Name: external},
		Keys:     []string{"token"},
		Producer: manifest.Key{Group: "external-secrets.io", Kind: "ExternalSecret", Namespace: Namespace, Name: external},
	})
	return s
}

// Plan returns a plan of the groups.
func Plan(groups ...plan.Group) *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, ID: "plan-1", App: "shop", Namespace: Namespace, RenderDigest: "render-1",
		Revisions: []string{"4f2c1d9"}, Groups: groups,
	}
}

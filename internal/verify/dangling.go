// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// dangling finds references and selectors that match nothing.
func dangling(w *world) {
	for _, s := range w.stages {
		switch {
		case s.Key.Kind == "Service" && s.Key.Group == "":
			w.danglingSelector(s, "spec.selector", field.Map(s.content(), "spec.selector"))
		case s.Key.Kind == "PodDisruptionBudget":
			w.danglingSelector(s, "spec.selector.matchLabels", field.Map(s.content(), "spec.selector.matchLabels"))
		}
		w.danglingReferences(s)
	}
}

// danglingSelector judges a selector of Pods. Pods may come from objects that
// checks cannot look into; then the finding is a remark.
func (w *world) danglingSelector(s *stage, path string, selector map[string]any) {
	if len(selector) == 0 || len(w.workloads(s.Key.Namespace, selector)) > 0 {
		return
	}
	f := problem("dangling-reference", diag.Warning, path,
		fmt.Sprintf("%s selects Pods with %s, and no rendered workload of its namespace has them", s.Key.Short(), labelText(selector)),
		"make the selector agree with the labels of spec.template.metadata of the workload")
	if w.opaque[s.Key.Namespace] || !w.peopled[s.Key.Namespace] {
		f.Severity = diag.Info
		f.Message += "; they may come from elsewhere"
	}
	w.add(s, f)
}

// makesPods reports whether an operator may make Pods from objects of a kind:
// true of every kind that is not Kubernetes' own.
func makesPods(gk schema.GroupKind) bool {
	return strings.Contains(gk.Group, ".") && !strings.HasSuffix(gk.Group, ".k8s.io")
}

func labelText(selector map[string]any) string {
	names := make([]string, 0, len(selector))
	for key, value := range selector {
		names = append(names, key+"="+fmt.Sprint(value))
	}
	slices.Sort(names)
	return some(names)
}

// danglingReferences judges references whose absence stops nothing from being
// created, and something from working.
func (w *world) danglingReferences(s *stage) {
	seen := map[manifest.Key]bool{}
	for _, ref := range w.references(s) {
		if ref.Optional || ref.AtStart || ref.Blocks(s.Object.Unstructured) && !scales(s) || seen[ref.Target] || !concrete(s, ref) {
			continue
		}
		seen[ref.Target] = true
		if len(w.providers[ref.Target]) > 0 {
			w.danglingPort(s, ref)
			continue
		}
		live, known := w.live(ref.Target)
		if live != nil || w.declared(ref.Target) || w.elsewhere(ref.Target) != "" {
			continue
		}
		f := problem("dangling-reference", diag.Info, ref.Field,
			fmt.Sprintf("%s names %s, which is not rendered; it may be in the cluster", s.Key.Short(), ref.Target.Short()),
			"correct the name, or declare the object under external in .wavetrain.yaml")
		if known {
			f.Severity = diag.Warning
			f.Message = fmt.Sprintf("%s names %s, which is neither rendered nor in the cluster", s.Key.Short(), ref.Target.Short())
		}
		f.Needs = ref.Target
		w.add(s, f)
	}
}

func scales(s *stage) bool {
	return s.Key.Kind == "HorizontalPodAutoscaler" || s.Key.Kind == "ScaledObject"
}

// concrete reports whether a reference is to an object that must exist for the
// referring one to be of use.
func concrete(s *stage, ref manifest.Reference) bool {
	switch s.Key.Group {
	case "rbac.authorization.k8s.io", "networking.k8s.io", "gateway.networking.k8s.io", "autoscaling", "autoscaling.k8s.io", "keda.sh",
		"admissionregistration.k8s.io":
		return ref.Target.Kind != "IngressClass" && ref.Target.Kind != "GatewayClass"
	}
	return false
}

// danglingPort judges the port of an Ingress backend against the rendered
// Service.
func (w *world) danglingPort(s *stage, ref manifest.Reference) {
	if s.Key.Kind != "Ingress" || ref.Target.Kind != "Service" {
		return
	}
	service, ok := w.first(ref.Target)
	if !ok || field.Text(service.content(), "spec.type") == "ExternalName" {
		return
	}
	field.Each(s.content(), "spec.rules[*].http.paths[*].backend.service", func(path string, value any) {
		if field.Text(value, "name") != ref.Target.Name || hasPort(service, field.Map(value, "port")) {
			return
		}
		f := problem("dangling-reference", diag.Warning, path+".port",
			fmt.Sprintf("%s sends to port %s of %s, which has no such port", s.Key.Short(), portText(field.Map(value, "port")), ref.Target.Short()),
			"name one of the Service's ports")
		f.Needs = ref.Target
		w.add(s, f)
	})
}

func hasPort(service *stage, want map[string]any) bool {
	name := field.Text(want, "name")
	n, byNumber := number(want["number"])
	if name == "" && !byNumber {
		return true
	}
	for _, port := range field.List(service.content(), "spec.ports") {
		have, _ := number(field.At(port, "port"))
		if name != "" && field.Text(port, "name") == name || byNumber && have == n {
			return true
		}
	}
	return false
}

func portText(port map[string]any) string {
	if name := field.Text(port, "name"); name != "" {
		return name
	}
	n, _ := number(port["number"])
	return strconv.FormatInt(n, 10)
}

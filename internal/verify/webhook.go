// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// webhooks finds admission webhooks that refuse objects because what answers them
// starts later.
func webhooks(w *world) {
	for _, s := range w.stages {
		if s.Key.Kind != "ValidatingWebhookConfiguration" && s.Key.Kind != "MutatingWebhookConfiguration" {
			continue
		}
		field.Each(s.content(), "webhooks[*]", func(path string, hook any) {
			if field.Text(hook, "failurePolicy") != "Ignore" {
				w.webhook(s, path, hook)
			}
		})
	}
}

// webhook judges one fail-closed webhook.
func (w *world) webhook(s *stage, path string, hook any) {
	ref := field.Map(hook, "clientConfig.service")
	service, ok := w.first(manifest.Key{Kind: "Service", Namespace: field.Text(ref, "namespace"), Name: field.Text(ref, "name")})
	if !ok {
		return
	}
	backends := w.selected(service)
	if len(backends) == 0 {
		return
	}
	backend := slices.MinFunc(backends, func(a, b *stage) int { return a.at - b.at })
	for _, guarded := range w.stages {
		// A webhook that checks what answers it keeps it from ever being made.
		early := guarded.at >= s.at && guarded.at < backend.at || guarded == backend && s.at < backend.at
		if !early || guarded == s || !guards(hook, guarded) || !w.inScope(hook, guarded) {
			continue
		}
		f := problem("webhook-not-ready", diag.Warning, path+".clientConfig.service",
			fmt.Sprintf("%s (%s) is checked by webhook %s, which %s of %s answers: the API server refuses it until then",
				guarded.Key.Short(), guarded.place(), field.Text(hook, "name"), backend.Key.Short(), backend.place()),
			fmt.Sprintf("put %s into a wave before %s, or %s into a wave after %d", backend.Key.Short(), guarded.Key.Short(), s.Key.Short(), guarded.wave))
		if guarded == backend {
			f.Message = fmt.Sprintf("%s (%s) is checked by webhook %s, which it answers itself: the API server refuses it for ever", guarded.Key.Short(), guarded.place(), field.Text(hook, "name"))
			f.Hint = fmt.Sprintf("leave it out by namespaceSelector or objectSelector, or put %s into a wave after %d", s.Key.Short(), guarded.wave)
		}
		f.Needs, f.AvailableAt = backend.Key, backend.place()
		w.add(s, f)
		return
	}
}

// guards reports whether a webhook's rules cover an object.
func guards(hook any, s *stage) bool {
	for _, rule := range field.List(hook, "rules") {
		operations, groups := field.List(rule, "operations"), field.List(rule, "apiGroups")
		if !has(groups, s.Key.Group, "*") || !has(operations, "CREATE", "*") && !has(operations, "UPDATE", "*") {
			continue
		}
		for _, resource := range field.List(rule, "resources") {
			if name, _ := resource.(string); name == "*" || name == "*/*" || name == plural(s.Key.Kind) {
				return true
			}
		}
	}
	return false
}

// inScope reports whether an object and its namespace are among those that a webhook
// selects. Of a namespace only what is rendered and its name are known: labels that it
// may have besides are taken to be missing.
func (w *world) inScope(hook any, s *stage) bool {
	if !matches(field.Map(hook, "objectSelector"), s.Object.GetLabels()) {
		return false
	}
	if s.Key.Namespace == "" {
		return true
	}
	labels := map[string]string{"kubernetes.io/metadata.name": s.Key.Namespace}
	if namespace, ok := w.first(manifest.Key{Kind: "Namespace", Name: s.Key.Namespace}); ok {
		maps.Copy(labels, namespace.Object.GetLabels())
	}
	return matches(field.Map(hook, "namespaceSelector"), labels)
}

// matches reports whether labels are what a label selector asks for.
func matches(selector map[string]any, labels map[string]string) bool {
	for key, value := range field.Map(selector, "matchLabels") {
		if has, ok := labels[key]; !ok || has != value {
			return false
		}
	}
	node := Node{Labels: labels}
	return !slices.ContainsFunc(field.List(selector, "matchExpressions"), func(e any) bool { return !node.matches(e) })
}

func has(list []any, values ...string) bool {
	return slices.ContainsFunc(list, func(v any) bool {
		s, ok := v.(string)
		return ok && slices.Contains(values, s)
	})
}

// plural is the resource name that a kind has by convention.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "y") && !strings.HasSuffix(name, "ey") && !strings.HasSuffix(name, "ay"):
		return name[:len(name)-1] + "ies"
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"):
		return name + "es"
	default:
		return name + "s"
	}
}

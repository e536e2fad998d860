// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// mutation changes an object under construction.
type mutation func(*manifest.Object)

// object makes an object of "apiVersion Kind name" or "apiVersion Kind ns/name".
func object(id string, changes ...mutation) manifest.Object {
	parts := strings.Fields(id)
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(parts[0])
	u.SetKind(parts[1])
	if len(parts) > 2 {
		namespace, name, ok := strings.Cut(parts[2], "/")
		if !ok {
			namespace, name = "", parts[2]
		}
		u.SetNamespace(namespace)
		u.SetName(name)
	}
	o := manifest.Object{Unstructured: u}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func annotate(key, value string) mutation {
	return func(o *manifest.Object) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		o.SetAnnotations(annotations)
	}
}

func wave(n int) mutation {
	return annotate(manifest.AnnotationSyncWave, fmt.Sprint(n))
}
func hook(types string) mutation      { return annotate(manifest.AnnotationHook, types) }
func helmHook(types string) mutation  { return annotate(manifest.AnnotationHelmHook, types) }
func options(options string) mutation { return annotate(manifest.AnnotationSyncOptions, options) }

func in(file string, line int) mutation {
	return func(o *manifest.Object) { o.Provenance = manifest.Provenance{File: file, Line: line} }
}

func set(value any, path ...string) mutation {
	return func(o *manifest.Object) {
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

func generateName(prefix string) mutation { return set(prefix, "metadata", "generateName") }

// defines makes a CustomResourceDefinition define a namespaced kind.
func defines(group, kind string) mutation {
	return func(o *manifest.Object) {
		set(group, "spec", "group")(o)
		set(kind, "spec", "names", "kind")(o)
		set("Namespaced", "spec", "scope")(o)
	}
}

// uses makes a workload with a Pod template read keys of Secrets; a key with a
// trailing question mark is optional.
func uses(secrets ...string) mutation {
	return func(o *manifest.Object) {
		var env []any
		for i, s := range secrets {
			name, key, _ := strings.Cut(s, ".")
			bare := strings.TrimSuffix(key, "?")
			env = append(env, map[string]any{
				"name": fmt.Sprintf("V%d", i),
				"valueFrom": map[string]any{"secretKeyRef": map[string]any{
					"name": name, "key": bare, "optional": bare != key,
				}},
			})
		}
		set([]any{map[string]any{"name": "main", "env": env}}, "spec", "template", "spec", "containers")(o)
	}
}

// fetches makes an ExternalSecret read from a store and hold keys.
func fetches(store, target string, keys ...string) mutation {
	return func(o *manifest.Object) {
		set(store, "spec", "secretStoreRef", "name")(o)
		set(target, "spec", "target", "name")(o)
		var data []any
		for _, key := range keys {
			data = append(data, map[string]any{"secretKey": key})
		}
		set(data, "spec", "data")(o)
	}
}

func uid(id string) mutation {
	return func(o *manifest.Object) { o.SetUID(types.UID(id)) }
}

// live makes a live object.
func live(o manifest.Object, changes ...mutation) Live {
	for _, change := range changes {
		change(&o)
	}
	return Live{Object: o}
}

// cluster knows built-in kinds and those of external-secrets.io.
func cluster(gk schema.GroupKind) (namespaced, known bool) {
	if strings.Contains(gk.Group, ".example") {
		return false, false
	}
	return !clusterScoped(gk), true
}

func input(objects ...manifest.Object) Input {
	return Input{App: "app", Namespace: "dest", Server: "https://cluster", Revisions: []string{"abc"}, Objects: objects, Scope: cluster}
}

// outline writes a plan as one line per group: "Sync/0: Kind/name Kind/name";
// prunes begin with a minus, skipped prunes with a tilde.
func outline(groups []Group) []string {
	var lines []string
	for _, g := range groups {
		line := groupName(g.Phase, g.Wave) + ":"
		for _, s := range g.Steps {
			mark := ""
			switch s.Action {
			case Prune:
				mark = "-"
			case SkipPrune:
				mark = "~"
			}
			line += " " + mark + s.Key.Short()
		}
		lines = append(lines, line)
	}
	return lines
}

func codes(findings []diag.Diagnostic) []string {
	var list []string
	for _, f := range findings {
		list = append(list, string(f.Severity)+" "+f.Code)
	}
	return list
}

func encode(t interface{ Fatalf(string, ...any) }, p *Plan) string {
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatalf("encode plan: %v", err)
	}
	return string(data)
}

func findStep(t *testing.T, p *Plan, id string) Step {
	t.Helper()
	for _, groups := range [][]Group{p.Groups, p.OnDeletion} {
		for _, g := range groups {
			for _, s := range g.Steps {
				if s.ID == id {
					return s
				}
			}
		}
	}
	t.Fatalf("no step %q in %v", id, outline(p.Groups))
	return Step{}
}

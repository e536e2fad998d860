// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package thirdparty holds the rule sets that ship with the simulator: what well-known operators do with
// their objects, and the CustomResourceDefinitions these need. A behaviour looks at an object and says
// what its operator would write; it writes nothing itself and reads no clock.
package thirdparty

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

//go:embed rules/*.yaml crds/*.yaml
var files embed.FS

// World is what an operator asks the cluster about.
type World interface {
	// Object returns an object of a watched kind, or nil.
	Object(kind, namespace, name string) *unstructured.Unstructured
	// SecretData returns the data of a Secret, or nil if there is none.
	SecretData(namespace, name string) map[string][]byte
}

// Reaction is what an operator does with an object now.
type Reaction struct {
	// Objects are made, or brought to this state, in order and before the status.
	Objects []*unstructured.Unstructured
	// Status is merged into the object's; nil writes nothing.
	Status map[string]any
	// Wake is when to look again; Waits says that a change of another object may come first.
	Wake  time.Time
	Waits bool
}

// Sets returns the names of the shipped rule sets.
func Sets() []string {
	entries, err := files.ReadDir("rules")
	if err != nil {
		return nil
	}
	var out []string
	for _, entry := range entries {
		out = append(out, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	return out
}

// Rules returns the rules of the named sets; nil means all.
func Rules(sets []string) (rules.List, error) {
	if sets == nil {
		sets = Sets()
	}
	var out rules.List
	for _, set := range sets {
		data, err := files.ReadFile(path.Join("rules", set+".yaml"))
		if err != nil {
			return nil, fmt.Errorf("there is no rule set %q; there are %s", set, strings.Join(Sets(), ", "))
		}
		list, err := rules.Parse("rule set "+set, data)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// CRDs returns the CustomResourceDefinitions of the named sets; nil means all.
func CRDs(sets []string) ([]*unstructured.Unstructured, error) {
	if sets == nil {
		sets = Sets()
	}
	var out []*unstructured.Unstructured
	for _, set := range sets {
		data, err := files.ReadFile(path.Join("crds", set+".yaml"))
		if err != nil {
			return nil, fmt.Errorf("read the CRDs of rule set %s: %w", set, err)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			crd := &unstructured.Unstructured{}
			text, err := yaml.YAMLToJSON([]byte(doc))
			if err == nil {
				err = crd.UnmarshalJSON(text)
			}
			if err != nil {
				return nil, fmt.Errorf("read the CRDs of rule set %s: %w", set, err)
			}
			out = append(out, crd)
		}
	}
	return out, nil
}

// React runs the behaviour of that name on o, whose latest generation is there since since.
func React(behaviour string, o *unstructured.Unstructured, now, since time.Time, world World) (Reaction, error) {
	switch behaviour {
	case "secret-store":
		return secretStore(o, now, since), nil
	case "external-secret":
		return externalSecret(o, now, since, world), nil
	case "cnpg-cluster":
		return cnpgCluster(o, now, since, world), nil
	}
	return Reaction{}, fmt.Errorf("%s %s: there is no behaviour %q; there are %s", o.GetKind(), o.GetName(), behaviour,
		strings.Join(Behaviours(), ", "))
}

// Behaviours returns the names that React knows.
func Behaviours() []string { return []string{"cnpg-cluster", "external-secret", "secret-store"} }

// condition returns a condition of o.
func condition(o *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	i := slices.IndexFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == kind
	})
	if i < 0 {
		return nil
	}
	m, _ := conditions[i].(map[string]any)
	return m
}

// ready makes a Ready condition, as of now unless o has it already.
func ready(o *unstructured.Unstructured, status, reason, message string, now time.Time) (map[string]any, bool) {
	has := condition(o, "Ready")
	if has != nil && has["status"] == status && has["reason"] == reason && has["message"] == message {
		return has, false
	}
	return map[string]any{
		"type": "Ready", "status": status, "reason": reason, "message": message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339),
	}, true
}

// owned makes an object that belongs to o: the garbage collector takes it along.
func owned(o *unstructured.Unstructured, apiVersion, kind, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetAPIVersion(apiVersion)
	out.SetKind(kind)
	out.SetNamespace(o.GetNamespace())
	out.SetName(name)
	_ = unstructured.SetNestedSlice(out.Object, []any{map[string]any{
		"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID()),
		"controller": true, "blockOwnerDeletion": true,
	}}, "metadata", "ownerReferences")
	return out
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// rules are the ignore rules that select one object.
type rules struct {
	// pointers are JSON pointers, split and unescaped.
	pointers [][]string
	managers []string
	// deletions take out what expressions select.
	deletions []Deletion
}

func rulesFor(u *unstructured.Unstructured, opts Options) rules {
	var r rules
	key := manifest.KeyOf(u)
	for _, rule := range opts.Ignore {
		if !selectsObject(rule, key) {
			continue
		}
		for _, p := range rule.JSONPointers {
			if tokens := parsePointer(p); len(tokens) > 0 {
				r.pointers = append(r.pointers, tokens)
			}
		}
		r.managers = append(r.managers, rule.ManagedFieldsManagers...)
		for _, expression := range rule.JQPathExpressions {
			if d := opts.Deletions[expression]; d != nil {
				r.deletions = append(r.deletions, d)
			}
		}
	}
	return r
}

// Selects reports whether a rule is for objects of a kind.
func Selects(rule v1alpha1.ResourceIgnoreDifferences, gk schema.GroupKind) bool {
	return glob(rule.Group, gk.Group) && glob(rule.Kind, gk.Kind)
}

func selectsObject(rule v1alpha1.ResourceIgnoreDifferences, k manifest.Key) bool {
	return Selects(rule, k.GroupKind()) &&
		(rule.Name == "" || rule.Name == k.Name) && (rule.Namespace == "" || rule.Namespace == k.Namespace)
}

func glob(pattern, text string) bool {
	ok, err := doublestar.Match(pattern, text)
	return err == nil && ok
}

func parsePointer(p string) []string {
	if !strings.HasPrefix(p, "/") {
		return nil
	}
	tokens := strings.Split(p[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}

func (r rules) removeFrom(u *unstructured.Unstructured) {
	// Items are removed from the end, so that the pointers "/a/0" and "/a/1" name
	// the items they named before.
	pointers := slices.Clone(r.pointers)
	slices.SortFunc(pointers, func(a, b []string) int { return -slices.CompareFunc(a, b, compareTokens) })
	for _, p := range pointers {
		u.Object, _ = removeAt(u.Object, p).(map[string]any)
	}
	for _, d := range r.deletions {
		// A rule that fails on this object ignores nothing of it.
		if out, err := d.From(u.Object); err == nil {
			u.Object = out
		}
	}
}

func compareTokens(a, b string) int {
	i, errI := strconv.Atoi(a)
	j, errJ := strconv.Atoi(b)
	if errI == nil && errJ == nil {
		return i - j
	}
	return strings.Compare(a, b)
}

func removeAt(v any, tokens []string) any {
	switch x := v.(type) {
	case map[string]any:
		if len(tokens) == 1 {
			delete(x, tokens[0])
		} else if child, ok := x[tokens[0]]; ok {
			x[tokens[0]] = removeAt(child, tokens[1:])
		}
	case []any:
		i, err := strconv.Atoi(tokens[0])
		if err != nil || i < 0 || i >= len(x) {
			return v
		}
		if len(tokens) == 1 {
			return slices.Delete(x, i, i+1)
		}
		x[i] = removeAt(x[i], tokens[1:])
	}
	return v
}

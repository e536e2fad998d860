// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// subject is an object under judgement. Its fields are read where they lie, without converting the object to a typed
// one: judging happens with every change of every object.
type subject struct {
	obj    *unstructured.Unstructured
	spec   fields
	status fields
	ctx    Context
}

func newSubject(obj *unstructured.Unstructured, ctx Context) subject {
	root := fields(obj.Object)
	return subject{obj: obj, spec: root.sub("spec"), status: root.sub("status"), ctx: ctx}
}

// versionIn tells whether the object has one of these API versions.
func (s subject) versionIn(versions ...string) bool {
	return slices.Contains(versions, s.obj.GetAPIVersion())
}

// behind tells whether the controller has not seen the present generation yet. A controller that reports no generation
// is never behind.
func (s subject) behind() bool {
	seen, ok := s.status.number("observedGeneration")
	return ok && seen < s.obj.GetGeneration()
}

// unobserved is the verdict about an object whose controller has not seen its present generation.
func (s subject) unobserved() Result {
	return progressing("GenerationNotObserved", fmt.Sprintf("generation %d has not been observed by its controller", s.obj.GetGeneration()))
}

// fields is a JSON object read leniently: what is absent or of another type reads as the zero value.
type fields map[string]any

func (f fields) value(path ...string) any {
	var at any = map[string]any(f)
	for _, name := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[name]
	}
	return at
}

func (f fields) sub(path ...string) fields {
	m, _ := f.value(path...).(map[string]any)
	return m
}

// names returns the names of the fields in their order.
func (f fields) names() []string { return slices.Sorted(maps.Keys(f)) }

func (f fields) list(path ...string) []any {
	l, _ := f.value(path...).([]any)
	return l
}

func (f fields) text(path ...string) string {
	s, _ := f.value(path...).(string)
	return s
}

func (f fields) isTrue(path ...string) bool {
	b, _ := f.value(path...).(bool)
	return b
}

// number returns an integer and whether it is there. Decoders differ in the type they choose for integers.
func (f fields) number(path ...string) (int64, bool) {
	switch n := f.value(path...).(type) {
	case int64:
		return n, true
	case int32:
		return int64(n), true
	case int:
		return int64(n), true
	case float64:
		return int64(n), true
	}
	return 0, false
}

func (f fields) count(path ...string) int64 {
	n, _ := f.number(path...)
	return n
}

// countOr returns an integer, or what the API server fills in when it is absent.
func (f fields) countOr(absent int64, path ...string) int64 {
	if n, ok := f.number(path...); ok {
		return n
	}
	return absent
}

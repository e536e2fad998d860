// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// Lookup is what a template asks the cluster for: an object, or all of a kind if
// it names none.
type Lookup struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

// String names what is asked for.
func (l Lookup) String() string {
	if l.Name == "" {
		return fmt.Sprintf("all of kind %s in namespace %q", l.Kind, l.Namespace)
	}
	return fmt.Sprintf("%s %s/%s", l.Kind, l.Namespace, l.Name)
}

// LookupAnswer is the part of an answer that counts: what an object says, not how
// often it was written. A chart that takes over the rest would never be in sync.
func LookupAnswer(object map[string]any) map[string]any {
	if len(object) == 0 {
		return nil
	}
	answer := maps.Clone(object)
	if meta, ok := answer["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		delete(meta, "managedFields")
		delete(meta, "resourceVersion")
		answer["metadata"] = meta
	}
	if items, ok := answer["items"].([]any); ok {
		kept := make([]any, 0, len(items))
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				kept = append(kept, LookupAnswer(object))
			}
		}
		answer["items"] = kept
	}
	return answer
}

// lookupFunction is the template function: it asks who renders, who asks the
// cluster.
func lookupFunction(ctx context.Context, in Input) func(apiVersion, kind, namespace, name string) (map[string]any, error) {
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		q := Lookup{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
		var answer map[string]any
		if in.Lookup != nil {
			object, err := in.Lookup(ctx, q)
			if err != nil {
				return nil, fmt.Errorf("look up %s: %w", q, err)
			}
			answer = LookupAnswer(object)
		}
		in.Witness.looked(q, answer != nil)
		in.Trace.Answered(answer, trace.Lookup, apiVersion, kind, namespace, name)
		if answer == nil {
			answer = map[string]any{}
		}
		return answer, nil
	}
}

func (w *Witness) looked(q Lookup, answered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Answered = w.Answered || answered
	if !slices.Contains(w.Lookups, q) {
		w.Lookups = append(w.Lookups, q)
	}
}

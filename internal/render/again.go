// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/trace"
	"github.com/wavetrain/wavetrain/internal/render/unstable"
)

// Codes of findings about a rendering as a whole.
const (
	// CodeNondeterministic is about a field that two renderings of one input give
	// two values.
	CodeNondeterministic = "nondeterministic-render"
	// CodeLookup is about templates that ask the cluster.
	CodeLookup = "lookup"
)

// repetitions is how often a source is rendered again whose result may come out
// differently: two short random numbers may be the same by chance.
const repetitions = 2

// findUnstable renders again what may come out differently and notes what does.
// A source whose templates call nothing of the kind is rendered once.
func (r *Result) findUnstable(ctx context.Context, src Source, target Target) error {
	r.Looked = r.witness.Lookups
	if r.witness.Moved() {
		for range repetitions {
			again, err := renderTraced(ctx, src, target, trace.NewRecorder())
			if err != nil {
				return err
			}
			r.Unstable.Compare(r.chance(), again.chance(), false)
		}
	}
	if r.witness.Answered {
		deaf := target
		deaf.Lookup = nil
		alone, err := renderTraced(ctx, src, deaf, trace.NewRecorder())
		if err != nil {
			// Charts may insist on an answer. Then nothing is known of what they do
			// without one.
			r.report(target)
			return nil //nolint:nilerr // as above
		}
		r.Unstable.Compare(r.chance(), alone.chance(), true)
	}
	r.report(target)
	return nil
}

// chance is the rendering with the values of chance that went into it.
func (r *Result) chance() unstable.Rendering {
	return unstable.Rendering{Objects: r.Objects, Chance: r.witness.Values()}
}

// report makes findings of what was noticed.
func (r *Result) report(target Target) {
	for _, field := range r.Unstable.Fields {
		if field.Looked {
			continue
		}
		obj := r.Objects[field.Object]
		value, _ := unstable.Get(obj.Object, field.Path)
		f := Restless{Object: obj.Key(), Field: unstable.Place(obj.Object, field.Path), Cause: r.cause(field, value), GuardedBy: guarded(obj, r.Looked)}
		r.Restless = append(r.Restless, f)
		message := fmt.Sprintf("%s comes out differently each time it is rendered: %s", describeField(obj, field), f.Cause)
		if f.GuardedBy != "" {
			message += ", guarded by " + f.GuardedBy
		}
		r.Warnings = append(r.Warnings, diag.Diagnostic{
			Code: CodeNondeterministic, Severity: diag.Warning, Subject: obj.Key(), Field: f.Field, At: obj.Provenance, Message: message,
			Hint: "the live value is kept as long as all objects with such fields exist; to decide it yourself, set the value, or have an operator make the Secret",
		})
	}
	if len(r.Looked) > 0 {
		asked := make([]string, len(r.Looked))
		for i, q := range r.Looked {
			asked[i] = q.String()
		}
		slices.Sort(asked)
		message := "templates look up " + strings.Join(asked, ", ") + ": what the cluster answers is an input"
		if target.Lookup == nil {
			message = "templates look up " + strings.Join(asked, ", ") + "; no cluster was asked, so they were told that there is nothing"
		}
		r.Warnings = append(r.Warnings, diag.Diagnostic{Code: CodeLookup, Severity: diag.Info, Message: message})
	}
}

// cause says what makes a field come out differently: the object of whose content it
// is a checksum, or the function.
func (r *Result) cause(field unstable.Field, value any) string {
	var from []string
	for _, text := range r.witness.Summed(value) {
		from = append(from, r.within(text, field)...)
	}
	if len(from) == 0 {
		return r.witness.Explain(value)
	}
	slices.Sort(from)
	return "derived from " + strings.Join(slices.Compact(from), " and ")
}

// within names the objects, other than the field's, whose restless values a text
// holds, or that the text itself is a manifest of.
func (r *Result) within(text string, field unstable.Field) []string {
	var names, written []string
	manifests, err := manifest.Decode("", []byte(text))
	for _, other := range r.Unstable.Fields {
		if other.Looked || other.Object == field.Object {
			continue
		}
		obj := r.Objects[other.Object]
		if value, ok := unstable.Get(obj.Object, other.Path); ok && holds(text, value) {
			names = append(names, obj.Key().Short())
		}
		if err == nil && slices.ContainsFunc(manifests, func(m manifest.Object) bool {
			return m.GetKind() == obj.GetKind() && m.GetName() == obj.GetName()
		}) {
			written = append(written, obj.Key().Short())
		}
	}
	if len(names) == 0 {
		// Rendered once more for the checksum, it has other values.
		return written
	}
	return names
}

// minTelling is how long a value must be to tell whose it is.
const minTelling = 4

// holds reports whether a value stands in a text, encoded or not.
func holds(text string, value any) bool {
	v, ok := value.(string)
	if !ok || len(v) < minTelling {
		return false
	}
	if strings.Contains(text, v) {
		return true
	}
	plain, err := base64.StdEncoding.DecodeString(v)
	return err == nil && len(plain) >= minTelling && strings.Contains(text, string(plain))
}

func describeField(obj manifest.Object, field unstable.Field) string {
	name := obj.GetKind() + "/" + obj.GetName()
	if len(field.Path) == 0 {
		return name
	}
	return name + " " + unstable.Place(obj.Object, field.Path)
}

// guarded says that the template asks the cluster for the object itself, so that
// the value stays once the object exists.
func guarded(obj manifest.Object, looked []helm.Lookup) string {
	for _, q := range looked {
		if q.Kind == obj.GetKind() && q.Name == obj.GetName() {
			return "lookup"
		}
	}
	return ""
}

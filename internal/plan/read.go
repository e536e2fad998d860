// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Codes of the findings that planning makes.
const (
	CodeDuplicateConflict  = "duplicate-conflict"
	CodeDuplicateIdentical = "duplicate-identical"
	CodeExcludedKind       = "excluded-kind"
	CodeExtraneousNotOurs  = "extraneous-not-ours"
	CodeInvalidMetadata    = "invalid-metadata"
	CodeKindNotKnownYet    = "kind-not-known-yet"
	CodeKindUnknown        = "kind-unknown"
	CodeNameMissing        = "name-missing"
	CodeNamespaceHandover  = "namespace-handover"
	CodeNamespaceMissing   = "namespace-missing"
	CodeProducerCycle      = "producer-cycle"
	CodeUnknownOption      = "unknown-option"
)

// item is a rendered object with what planning reads off it.
type item struct {
	obj   manifest.Object
	key   manifest.Key
	class manifest.Class
	wave  int
	// served is false when the cluster does not know the kind (yet).
	served bool
}

// read turns rendered objects into items, with the namespace each is going to
// have, and reports what no cluster would accept.
func (b *builder) read() []item {
	b.readDefinitions()
	b.rendered = make(map[manifest.Key]bool, len(b.in.Objects))
	items := make([]item, 0, len(b.in.Objects))
	for _, o := range b.in.Objects {
		it := item{obj: o, key: o.Key(), class: manifest.Classify(o.Unstructured), wave: manifest.Wave(o.Unstructured)}
		namespaced, known := b.scope(it.key.GroupKind())
		it.served = known
		switch {
		case known && !namespaced:
			it.key.Namespace = ""
		case namespaced && it.key.Namespace == "":
			it.key.Namespace = b.in.Namespace
		}
		b.rendered[it.key] = true
		if b.in.Excluded != nil && b.in.Excluded(it.key.GroupKind()) {
			b.leaveOut(it)
			continue
		}
		if it.class.Ignored || it.class.Skip {
			b.ignore(it, it.class.Reason)
			if !it.class.OnlyOnDelete() {
				continue
			}
		}
		b.checkIdentity(it, known && namespaced)
		b.checkOptions(it)
		items = append(items, it)
	}
	return items
}

// leaveOut notes an object of a kind that the installation leaves alone.
func (b *builder) leaveOut(it item) {
	b.ignore(it, "its kind is excluded in the settings of the installation")
	b.find(diag.Diagnostic{
		Code: CodeExcludedKind, Severity: diag.Warning, Subject: it.key, At: it.obj.Provenance,
		Message: fmt.Sprintf("Resource %s/%s %s is excluded in the settings", it.key.Group, it.key.Kind, it.obj.GetName()),
		Hint:    "drop it from Git, or let resource.exclusions and resource.inclusions of argocd-cm leave it in",
	})
}

// checkIdentity reports metadata that the API server would refuse.
func (b *builder) checkIdentity(it item, namespaced bool) {
	at := it.obj.Provenance
	if it.key.Name == "" && (!it.class.Hook || it.obj.GetGenerateName() == "") {
		message, hint := it.key.Kind+" without metadata.name in "+where(at), "give it a name"
		if it.obj.GetGenerateName() != "" {
			message += ": generateName is for hooks only, an ordinary object is applied again and again under one name"
			hint = "give it a name, or make it a hook"
		}
		b.find(diag.Diagnostic{Code: CodeNameMissing, Severity: diag.Error, Subject: it.key, Field: "metadata.name", Message: message, Hint: hint, At: at})
	}
	if namespaced && it.key.Namespace == "" {
		b.find(diag.Diagnostic{
			Code: CodeNamespaceMissing, Severity: diag.Error, Subject: it.key, Field: "metadata.namespace", At: at,
			Message: fmt.Sprintf("namespace for %s in %s is missing: neither the manifest nor the application's destination names one", it.key.Short(), where(at)),
			Hint:    "set spec.destination.namespace of the Application, or metadata.namespace",
		})
	}
	for _, path := range manifest.MalformedMetadata(it.obj.Unstructured) {
		b.find(diag.Diagnostic{
			Code: CodeInvalidMetadata, Severity: diag.Error, Subject: it.key, Field: path, At: at,
			Message: fmt.Sprintf("%s of %s in %s is not a string", path, it.key.Short(), where(at)),
			Hint:    `put the value in quotes: an unquoted 5 or true is not text to YAML`,
		})
	}
}

// checkOptions reports options that have no effect.
func (b *builder) checkOptions(it item) {
	own := manifest.ParseOptions(it.obj.GetAnnotations()[manifest.AnnotationWavetrainOptions])
	for _, wrong := range manifest.CheckSwitches(own, false) {
		b.find(diag.Diagnostic{
			Code: CodeUnknownOption, Severity: diag.Warning, Subject: it.key,
			Field: "metadata.annotations." + manifest.AnnotationWavetrainOptions, At: it.obj.Provenance,
			Message: fmt.Sprintf("%s in %s: %s", it.key.Short(), where(it.obj.Provenance), wrong),
		})
	}
}

// merge reduces objects with one key to one. Objects that only run on deletion
// and the others do not meet and are told apart.
func (b *builder) merge(items []item) []item {
	type identity struct {
		key      manifest.Key
		deletion bool
	}
	byKey := make(map[identity][]int, len(items))
	for i, it := range items {
		if it.key.Name != "" {
			id := identity{it.key, it.class.OnlyOnDelete()}
			byKey[id] = append(byKey[id], i)
		}
	}
	drop := map[int]bool{}
	for _, indexes := range byKey {
		if len(indexes) > 1 {
			keep := b.mergeCopies(items, indexes)
			for _, i := range indexes {
				drop[i] = i != keep
			}
		}
	}
	if len(drop) == 0 {
		return items
	}
	kept := make([]item, 0, len(items)-len(drop))
	for i, it := range items {
		if !drop[i] {
			kept = append(kept, it)
		}
	}
	return kept
}

// mergeCopies chooses among several objects with one key and says so. The order
// of sources and files decides, not that of the input; the input's order decides
// only between objects that were written at the same place.
func (b *builder) mergeCopies(items []item, indexes []int) (keep int) {
	digests := map[int]string{}
	distinct := map[string]bool{}
	for _, i := range indexes {
		digests[i] = manifest.Digest([]manifest.Object{b.dress(items[i])})
		distinct[digests[i]] = true
	}
	lastWins := b.in.Options.LastWins
	slices.SortStableFunc(indexes, func(i, j int) int {
		place := compareProvenance(items[i].obj.Provenance, items[j].obj.Provenance)
		if lastWins {
			return place
		}
		return cmp.Or(place, cmp.Compare(digests[i], digests[j]))
	})
	var places []string
	for _, i := range indexes {
		places = append(places, where(items[i].obj.Provenance))
	}
	first, last := items[indexes[0]], items[indexes[len(indexes)-1]]
	d := diag.Diagnostic{Subject: first.key, At: last.obj.Provenance}
	at := strings.Join(places, " and ")
	switch {
	case len(distinct) == 1:
		d.Code, d.Severity, d.At = CodeDuplicateIdentical, diag.Info, first.obj.Provenance
		d.Message = fmt.Sprintf("%s is rendered %d times with equal content: %s", first.key.Short(), len(indexes), at)
		b.find(d)
		return indexes[0]
	case lastWins:
		d.Code, d.Severity = CodeDuplicateConflict, diag.Warning
		d.Message = fmt.Sprintf("%s is rendered %d times with different content: %s; the last is applied (Duplicates=last-wins)", first.key.Short(), len(indexes), at)
		d.Hint = "keep one of them"
	default:
		d.Code, d.Severity = CodeDuplicateConflict, diag.Error
		d.Message = fmt.Sprintf("%s is rendered %d times with different content: %s", first.key.Short(), len(indexes), at)
		d.Hint = "keep one of them, or set the sync option Duplicates=last-wins"
	}
	b.find(d)
	return indexes[len(indexes)-1]
}

// dress returns a copy of the object as it will be applied: with namespace and, if
// it belongs to an application, its marks. Everything but metadata is shared with
// the original.
func (b *builder) dress(it item) manifest.Object {
	u := *it.obj.Unstructured
	u.Object = maps.Clone(u.Object)
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	metadata = maps.Clone(metadata)
	u.Object["metadata"] = metadata
	if it.key.Namespace == "" {
		delete(metadata, "namespace")
	} else {
		metadata["namespace"] = it.key.Namespace
	}
	if _, crd := manifest.DefinesKind(&u); !crd && b.in.App != "" {
		b.in.Tracking.Mark(metadata, b.in.App, b.in.Namespace, it.key)
	}
	return manifest.Object{Unstructured: &u, Provenance: it.obj.Provenance}
}

// track sets the tracking id in metadata, whose annotations are replaced, not
// changed. Annotations that are no map are left to the finding about them.
func track(metadata map[string]any, id string) {
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok && metadata["annotations"] != nil {
		return
	}
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[manifest.AnnotationTrackingID] = id
	metadata["annotations"] = annotations
}

func compareProvenance(a, b manifest.Provenance) int {
	return cmp.Or(
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Chart, b.Chart),
	)
}

// where writes a provenance for a message.
func where(p manifest.Provenance) string {
	text := p.File
	switch {
	case text == "":
		text = "the rendered set"
	case p.Line > 0:
		text = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Source > 0 {
		text += fmt.Sprintf(" (source %d)", p.Source+1)
	}
	return text
}

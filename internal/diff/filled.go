// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// filler knows what the API server fills in where a manifest sets nothing, inside
// of what is owned as a whole: there ownership does not tell a default from a field
// that was dropped from Git. What it does not know the server has to be asked.
type filler struct {
	// builtin is true for kinds that come with Kubernetes, whose defaults are for the
	// most part not published.
	builtin bool
	// ours is true if it is we who own the value as a whole: then nobody has taken
	// anything out of it.
	ours bool
	// types and at say of which published type a value is; nil if that is not known.
	types *schema.Schema
	at    schema.TypeRef
}

// atom is the type of the value; false if it is not known.
func (f filler) atom() (schema.Atom, bool) {
	if f.types == nil {
		return schema.Atom{}, false
	}
	return f.types.Resolve(f.at)
}

// field is the filler for a field of the value.
func (f filler) field(name string) filler {
	below := filler{builtin: f.builtin, ours: f.ours}
	if atom, ok := f.atom(); ok && atom.Map != nil {
		if sf, ok := atom.FindField(name); ok {
			below.types, below.at = f.types, sf.Type
		} else if atom.Map.ElementType != (schema.TypeRef{}) {
			below.types, below.at = f.types, atom.Map.ElementType
		}
	}
	return below
}

// item is the filler for an item of the value.
func (f filler) item() filler {
	below := filler{builtin: f.builtin, ours: f.ours}
	if atom, ok := f.atom(); ok && atom.List != nil {
		below.types, below.at = f.types, atom.List.ElementType
	}
	return below
}

// along follows a path from the value.
func (f filler) along(p fieldpath.Path) filler {
	for _, step := range p {
		if step.FieldName != nil {
			f = f.field(*step.FieldName)
		} else {
			f = f.item()
		}
	}
	return f
}

// fills reports whether the server puts live into a field of the value that is not
// set. The path is that of the field.
func (f filler) fills(p path, live any) bool {
	if live == nil {
		return true
	}
	name := p[len(p)-1].text
	if atom, ok := f.atom(); ok && atom.Map != nil {
		if sf, ok := atom.FindField(name); ok && sf.Default != nil && contains(p, sf.Default, live, f.field(name)) {
			return true
		}
	}
	standard, ok := standardIn(p)
	return f.builtin && ok && contains(p, standard, live, filler{builtin: true})
}

// leavesOut reports whether the server leaves a wanted value out because it says
// nothing: of built-in kinds an empty list or map, and what is the same as nothing in
// fields that cannot be unset. Elsewhere false, 0 or an empty selector are other
// things than nothing.
func (f filler) leavesOut(p path, want any) bool {
	if want == nil {
		return true
	}
	if !f.builtin {
		return false
	}
	name := p[len(p)-1].text
	switch want := want.(type) {
	case []any:
		return len(want) == 0
	case map[string]any:
		atom, ok := f.atom()
		return len(want) == 0 && ok && atom.Map != nil && len(atom.Fields) == 0
	case string:
		return want == "" && slices.Contains([]string{"apiGroup", "effect", "hostIP", "key", "namespace", "subPath", "value"}, name)
	case bool, int64:
		return empty(want) && slices.Contains([]string{
			"hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "paused", "publishNotReadyAddresses",
			"initialDelaySeconds", "minReadySeconds", "hostPort", "nodePort",
		}, name)
	}
	return false
}

// standardIn returns what the server fills into a field of a built-in kind, of those
// that lie in lists and maps which are owned as a whole.
func standardIn(p path) (value any, ok bool) {
	name, above := p[len(p)-1].text, p.above()
	switch {
	case name == "apiVersion" && above == "fieldRef":
		return "v1", true
	case name == "divisor" && above == "resourceFieldRef":
		return "0", true
	case name == "protocol" && above == "ports":
		return "TCP", true
	case name == "scope" && slices.Contains([]string{"rules", "resourceRules", "excludeResourceRules"}, above):
		return "*", true
	case name == "apiGroup" && slices.Contains([]string{"roleRef", "subjects"}, above):
		return "rbac.authorization.k8s.io", true
	case name == "expirationSeconds" && above == "serviceAccountToken":
		return int64(3600), true
	case name == "allocationMode" && slices.Contains([]string{"exactly", "firstAvailable"}, above):
		return "ExactCount", true
	case name == "count" && slices.Contains([]string{"exactly", "firstAvailable"}, above):
		return int64(1), true
	case name == "status" && above == "onPodConditions":
		return "True", true
	case p.within("volumeClaimTemplates"):
		return standardInClaims(name, above)
	}
	return nil, false
}

func standardInClaims(name, above string) (value any, ok bool) {
	switch {
	case above == "volumeClaimTemplates" && name == "apiVersion":
		return "v1", true
	case above == "volumeClaimTemplates" && name == "kind":
		return "PersistentVolumeClaim", true
	case above == "volumeClaimTemplates" && name == "status":
		return map[string]any{"phase": "Pending"}, true
	case above == "spec" && name == "volumeMode":
		return "Filesystem", true
	}
	return nil, false
}

// above is the name of the field that the last one lies in, in an item or not.
func (p path) above() string {
	for i := len(p) - 2; i >= 0; i-- {
		if !p[i].item {
			return p[i].text
		}
	}
	return ""
}

// within reports whether the path leads through a field.
func (p path) within(name string) bool {
	return slices.ContainsFunc(p[:len(p)-1], func(s segment) bool { return !s.item && s.text == name })
}

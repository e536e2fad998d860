// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package unstable

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Get returns the value at a path.
func Get(v any, path []string) (any, bool) {
	for _, part := range path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i := index(at, part)
			if i < 0 {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// With returns a copy of v in which the value at a path is another one; all that
// does not lead there is shared. Where the path leads nowhere v is returned.
func With(v any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch at := v.(type) {
	case map[string]any:
		changed := maps.Clone(at)
		if changed == nil {
			changed = map[string]any{}
		}
		changed[path[0]] = With(at[path[0]], path[1:], value)
		return changed
	case []any:
		i := index(at, path[0])
		if i < 0 {
			return v
		}
		changed := slices.Clone(at)
		changed[i] = With(at[i], path[1:], value)
		return changed
	default:
		if v == nil && path[0][0] != '[' {
			return With(map[string]any{}, path, value)
		}
		return v
	}
}

// without returns a copy of v that lacks the value at a path.
func without(v any, path []string) any {
	at, ok := v.(map[string]any)
	if ok && len(path) == 1 {
		changed := maps.Clone(at)
		delete(changed, path[0])
		return changed
	}
	if len(path) == 1 {
		// An element of a list keeps its place.
		return With(v, path, nil)
	}
	inner, ok := Get(v, path[:1])
	if !ok {
		return v
	}
	return With(v, path[:1], without(inner, path[1:]))
}

func index(list []any, part string) int {
	inner := strings.TrimSuffix(strings.TrimPrefix(part, "["), "]")
	if name, ok := strings.CutPrefix(inner, "name="); ok {
		return slices.IndexFunc(list, func(item any) bool {
			m, _ := item.(map[string]any)
			return m["name"] == name
		})
	}
	i, err := strconv.Atoi(inner)
	if err != nil || i < 0 || i >= len(list) {
		return -1
	}
	return i
}

// Digest is the digest of a rendered set without what comes out differently: two
// renderings of one input have the same one.
func (f *Fields) Digest(objects []manifest.Object) string {
	if len(f.Fields) == 0 {
		return manifest.Digest(objects)
	}
	masked := slices.Clone(objects)
	left := map[int]bool{}
	for _, field := range f.Fields {
		o := masked[field.Object]
		if len(field.Path) == 0 {
			left[field.Object] = true
			continue
		}
		var content any
		if field.Pattern != "" {
			content = With(o.Object, field.Path, field.Pattern)
		} else {
			content = without(o.Object, field.Path)
		}
		copied := *o.Unstructured
		copied.Object, _ = content.(map[string]any)
		masked[field.Object].Unstructured = &copied
	}
	kept := masked[:0]
	for i, o := range masked {
		if !left[i] {
			kept = append(kept, o)
		}
	}
	return manifest.Digest(kept)
}

// Place writes the path of a value in an object as people do: items of lists by
// their index.
func Place(v any, path []string) string {
	shown := make([]string, len(path))
	for i, part := range path {
		shown[i] = part
		if list, ok := v.([]any); ok {
			if at := index(list, part); at >= 0 {
				shown[i] = "[" + strconv.Itoa(at) + "]"
			}
		}
		v, _ = Get(v, path[i:i+1])
	}
	return Name(shown)
}

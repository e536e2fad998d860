// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"strings"
)

// listKeys are the fields by which items of lists in built-in kinds are told
// apart, most telling first. Without the cluster's schema the first set that is
// complete and unique in both lists is taken; matching serves what people read
// and the local prediction, never the decision that an object is in sync.
func listKeys() [][]string {
	return [][]string{
		{"name"},
		{"containerPort", "protocol"},
		{"containerPort"},
		{"port", "protocol"},
		{"port"},
		{"mountPath"},
		{"devicePath"},
		{"topologyKey", "whenUnsatisfiable"},
		{"ip"},
		{"uid"},
		{"key"},
		{"type"},
	}
}

// keysOf returns the fields by which the items of both lists can be matched; nil
// if they are not lists of maps or no set of fields is unique in each of them.
func keysOf(a, b []any) []string {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	for _, keys := range listKeys() {
		if unique(a, keys) && unique(b, keys) {
			return keys
		}
	}
	return nil
}

func unique(list []any, keys []string) bool {
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		id, ok := identity(item, keys)
		if !ok || seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

func identity(item any, keys []string) (string, bool) {
	m, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	var id strings.Builder
	for _, k := range keys {
		switch v := m[k].(type) {
		case nil, map[string]any, []any:
			return "", false
		default:
			fmt.Fprintf(&id, "%v\x00", v)
		}
	}
	return id.String(), true
}

// find returns the item of list with the given identity.
func find(list []any, keys []string, id string) (map[string]any, bool) {
	for _, item := range list {
		if got, ok := identity(item, keys); ok && got == id {
			return item.(map[string]any), true
		}
	}
	return nil, false
}

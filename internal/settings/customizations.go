// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/diff"
)

// Keys that say something about kinds. The combined one holds the customizations of all kinds at once, each of the
// others those of one, by the end of the key.
const (
	keyCombined  = "resource.customizations"
	prefixHealth = "resource.customizations.health."
	prefixCEL    = "wavetrain.dev.health."
)

// prefixes of the keys for one kind.
func prefixes() []string {
	return []string{prefixHealth, prefixCEL, prefixDifferences, prefixUpdates, prefixKnownTypes}
}

// customization is what the ConfigMap says about one kind, or about those that a pattern matches.
type customization struct {
	// target is "group/Kind", for the core group "Kind"; each part may be a pattern.
	target      string
	health      *HealthRule
	differences *fields
	updates     *fields
	types       []diff.KnownType
}

// combined is an entry of the key for all kinds. That a script wants all libraries opened makes no difference here, and
// what people can do with an object (actions) is no business of the engine: neither is read.
type combined struct {
	Lua         string       `json:"health.lua"`
	CEL         []HealthCase `json:"health.cel"`
	Differences text         `json:"ignoreDifferences"`
	Updates     text         `json:"ignoreResourceUpdates"`
	Types       text         `json:"knownTypeFields"`
}

// customizations returns what is said about kinds, ordered by target. A key for one kind counts more than the key for
// all, and our own key more than Argo CD's.
func (r *reader) customizations() []customization {
	byTarget := map[string]*customization{}
	at := func(target string) *customization {
		if byTarget[target] == nil {
			byTarget[target] = &customization{target: target}
		}
		return byTarget[target]
	}
	for target, entry := range r.combined() {
		from := func(field string) string { return keyCombined + "." + target + "." + field }
		*at(target) = customization{
			target:      target,
			health:      &HealthRule{Target: target, From: keyCombined + "." + target, Lua: entry.Lua, Cases: entry.CEL},
			differences: r.readFields(from(fieldDifferences), string(entry.Differences)),
			updates:     r.readFields(from(fieldUpdates), string(entry.Updates)),
			types:       r.readTypes(from(fieldKnownTypes), target, string(entry.Types)),
		}
	}
	for target, key := range r.perKind(prefixHealth) {
		at(target).health = &HealthRule{Target: target, From: key, Lua: r.data[key]}
	}
	for target, key := range r.perKind(prefixCEL) {
		rule := &HealthRule{Target: target, From: key}
		if err := yaml.UnmarshalStrict([]byte(r.data[key]), &rule.Cases); err != nil {
			rule.Broken = key + ": " + oneLine(err.Error())
		}
		at(target).health = rule
	}
	for target, key := range r.perKind(prefixDifferences) {
		at(target).differences = r.readFields(key, r.data[key])
	}
	for target, key := range r.perKind(prefixUpdates) {
		at(target).updates = r.readFields(key, r.data[key])
	}
	for target, key := range r.perKind(prefixKnownTypes) {
		at(target).types = r.readTypes(key, target, r.data[key])
	}
	all := make([]customization, 0, len(byTarget))
	for _, target := range slices.Sorted(maps.Keys(byTarget)) {
		all = append(all, *byTarget[target])
	}
	return all
}

// combined reads the key for all kinds; an entry that cannot be read leaves the others in force.
func (r *reader) combined() map[string]combined {
	var raw map[string]json.RawMessage
	if err := yaml.Unmarshal([]byte(r.data[keyCombined]), &raw); err != nil {
		r.problem(keyCombined, err.Error())
		return nil
	}
	entries := map[string]combined{}
	for target, text := range raw {
		var entry combined
		if err := json.Unmarshal(text, &entry); err != nil {
			r.problem(keyCombined, target+": "+err.Error())
			continue
		}
		entries[target] = entry
	}
	return entries
}

// perKind returns the keys that begin with a prefix, by the kind that their end names.
func (r *reader) perKind(prefix string) map[string]string {
	keys := map[string]string{}
	for key := range r.data {
		if end, ok := strings.CutPrefix(key, prefix); ok {
			keys[target(end)] = key
		}
	}
	return keys
}

// target reads the end of a key, "group_Kind", "Kind", or "all": a key of a ConfigMap can contain neither slash nor star.
func target(end string) string {
	if end == allKindsInSplitKey {
		return allKinds
	}
	group, kind, ok := strings.Cut(end, "_")
	if !ok {
		return end
	}
	return group + "/" + kind
}

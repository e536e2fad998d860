// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Keys of the ConfigMap that hold health rules.
const (
	keyCombined = "resource.customizations"
	keyLua      = "resource.customizations.health."
	keyCEL      = "wavetrain.dev.health."
)

// IsHealthKey tells whether a key of the ConfigMap has to do with health rules.
func IsHealthKey(key string) bool {
	return key == keyCombined || strings.HasPrefix(key, keyLua) || strings.HasPrefix(key, keyCEL)
}

// override is what a ConfigMap says about the health of one kind, or of the kinds that a pattern matches.
type override struct {
	// target is "group/Kind", for the core group "Kind".
	target string
	// from is where it was read, for messages.
	from  string
	lua   string
	cases []Case
	err   error
}

// combined is an entry of the key that holds the customizations of all kinds at once. That a script wants all
// libraries opened makes no difference here, and so is not read.
type combined struct {
	Lua string `json:"health.lua"`
	CEL []Case `json:"health.cel"`
}

// readOverrides returns the overrides in a ConfigMap, ordered by target, and what could not be read. A key for one kind
// counts more than the key for all, and our own key more than Argo CD's.
func readOverrides(data map[string]string) (all []override, problems []string) {
	byTarget := map[string]*override{}
	at := func(target string) *override {
		if byTarget[target] == nil {
			byTarget[target] = &override{target: target}
		}
		return byTarget[target]
	}
	var entries map[string]combined
	if err := yaml.Unmarshal([]byte(data[keyCombined]), &entries); err != nil {
		problems = append(problems, keyCombined+": "+oneLine(err.Error()))
	}
	for target, entry := range entries {
		*at(target) = override{target: target, from: keyCombined + "." + target, lua: entry.Lua, cases: entry.CEL}
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if target, ok := strings.CutPrefix(key, keyLua); ok {
			*at(readTarget(target)) = override{target: readTarget(target), from: key, lua: data[key]}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if target, ok := strings.CutPrefix(key, keyCEL); ok {
			o := override{target: readTarget(target), from: key}
			if err := yaml.UnmarshalStrict([]byte(data[key]), &o.cases); err != nil {
				o.err = errorAt(key, err)
			}
			*at(o.target) = o
		}
	}
	for _, o := range byTarget {
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b override) int { return cmp.Compare(a.target, b.target) })
	return all, problems
}

// readTarget reads the end of a key, "group_Kind" or "Kind": a key of a ConfigMap cannot contain a slash.
func readTarget(text string) string {
	group, kind, ok := strings.Cut(text, "_")
	if !ok {
		return text
	}
	return group + "/" + kind
}

// compile returns the check of an override, nil if it says nothing about health.
func (o override) compile(compiler *CEL) check {
	switch {
	case o.err != nil:
		return broken{o.err}
	case len(o.cases) > 0:
		c, err := newCELCheck(compiler, o.from, o.cases)
		if err != nil {
			return broken{err}
		}
		return c
	case strings.TrimSpace(o.lua) != "":
		script, err := CompileLua(o.from, o.lua)
		if err != nil {
			return broken{err}
		}
		return luaCheck{name: o.from, script: script}
	}
	return nil
}

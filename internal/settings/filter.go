// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"

	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const (
	keyExclusions = "resource.exclusions"
	keyInclusions = "resource.inclusions"
)

// Filter says which kinds are none of the installation's business.
type Filter struct {
	excluded, included []selection
}

// selection selects kinds on clusters; a list that is empty selects everything.
type selection struct {
	groups, kinds, clusters []glob.Glob
}

// Excludes tells whether a kind is left out on a cluster: excluded, or not among those that are included if any are.
func (f Filter) Excludes(server string, gk schema.GroupKind) bool {
	selects := func(s selection) bool { return s.selects(server, gk) }
	return len(f.included) > 0 && !slices.ContainsFunc(f.included, selects) || slices.ContainsFunc(f.excluded, selects)
}

func (s selection) selects(server string, gk schema.GroupKind) bool {
	return matches(s.groups, gk.Group) && matches(s.kinds, gk.Kind) && matches(s.clusters, server)
}

func matches(patterns []glob.Glob, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(g glob.Glob) bool { return g.Match(text) })
}

// written is a selection as people write it.
type written struct {
	APIGroups []string `json:"apiGroups"`
	Kinds     []string `json:"kinds"`
	Clusters  []string `json:"clusters"`
}

// filter reads both keys. What changes all the time and is nobody's desired state is always left out.
func (r *reader) filter() Filter {
	f := Filter{excluded: r.selections(keyExclusions), included: r.selections(keyInclusions)}
	for _, w := range []written{
		{APIGroups: []string{"events.k8s.io", "metrics.k8s.io"}},
		{APIGroups: []string{""}, Kinds: []string{"Event"}},
		{APIGroups: []string{"coordination.k8s.io"}, Kinds: []string{"Lease"}},
	} {
		f.excluded = append(f.excluded, r.compile("", w))
	}
	return f
}

// selections reads a list of selections. One that cannot be read in full is left out: to select more than it says could
// take objects away from their application.
func (r *reader) selections(key string) []selection {
	var list []written
	if err := yaml.Unmarshal([]byte(r.data[key]), &list); err != nil {
		r.problem(key, err.Error())
		return nil
	}
	var selections []selection
	for _, w := range list {
		before := len(r.problems)
		if s := r.compile(key, w); len(r.problems) == before {
			selections = append(selections, s)
		}
	}
	return selections
}

func (r *reader) compile(key string, w written) selection {
	globs := func(patterns []string) []glob.Glob {
		var compiled []glob.Glob
		for _, p := range patterns {
			g, err := glob.Compile(p)
			if err != nil {
				r.problem(key, p+" is not a pattern: use * for any part")
				continue
			}
			compiled = append(compiled, g)
		}
		return compiled
	}
	return selection{groups: globs(w.APIGroups), kinds: globs(w.Kinds), clusters: globs(w.Clusters)}
}

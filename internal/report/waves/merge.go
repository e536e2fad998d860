// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// merged is a row of the page: one or more entries of one phase and wave.
type merged struct {
	entries []entry
	kind    string
	name    string
	purpose string
}

func (m merged) phase() string { return m.entries[0].Phase }
func (m merged) wave() int     { return m.entries[0].Wave }

// merge makes the rows of a service. Entries of one phase and wave share a row
// if they have kind and purpose in common; entries of several kinds do if they
// have the purpose in common and also their names, or the subchart they come
// from. What is merely inferred about the support objects of a subchart gives
// way to one row that says just that.
func merge(service string, entries []entry) []merged {
	var rows []merged
	var rest []entry
	for _, list := range gather(entries, supportID) {
		if supportID(list[0]) != "" && len(kindsOf(list)) >= 3 {
			row := newMerged(service, list)
			row.purpose = title(chartName(list[0].subchart)) + " support objects"
			rows = append(rows, row)
			continue
		}
		rest = append(rest, list...)
	}
	slices.SortStableFunc(rest, compareEntries)
	for _, list := range gatherLists(gather(rest, kindID)) {
		rows = append(rows, newMerged(service, list))
	}
	slices.SortStableFunc(rows, compareMerged)
	return rows
}

// gather puts entries of one id together, in the order of their first; an
// entry with an empty id stays alone.
func gather(entries []entry, id func(entry) string) [][]entry {
	var out [][]entry
	at := map[string]int{}
	for _, e := range entries {
		key := id(e)
		if i, ok := at[key]; ok && key != "" {
			out[i] = append(out[i], e)
			continue
		}
		at[key] = len(out)
		out = append(out, []entry{e})
	}
	return out
}

// kindID is shared by entries of one kind and purpose, also of no purpose.
func kindID(e entry) string {
	return strings.Join([]string{e.group(), e.Group, e.Kind, e.Purpose}, "\x00")
}

// supportID is shared by the support objects of one subchart; empty for others.
func supportID(e entry) string {
	if !supports(e) {
		return ""
	}
	return e.group() + "\x00" + e.subchart
}

// gatherLists joins lists of different kinds that belong in one row.
func gatherLists(lists [][]entry) [][]entry {
	var out [][]entry
next:
	for _, list := range lists {
		for i, have := range out {
			if belong(have, list) {
				out[i] = append(slices.Clip(have), list...)
				continue next
			}
		}
		out = append(out, list)
	}
	return out
}

// belong reports whether two lists of different kinds may share a row.
func belong(a, b []entry) bool {
	x, y := a[0], b[0]
	if x.group() != y.group() || x.Purpose != y.Purpose || x.Purpose == "" {
		return false
	}
	sameNames := slices.Equal(namesOf(a), namesOf(b))
	if x.PurposeFrom == fromInference || y.PurposeFrom == fromInference {
		return sameNames && isRBAC(x) && isRBAC(y)
	}
	if sameNames {
		return true
	}
	elsewhere := func(e entry) bool { return e.subchart == "" || e.subchart != x.subchart }
	return !slices.ContainsFunc(a, elsewhere) && !slices.ContainsFunc(b, elsewhere)
}

// namesOf lists the names in a list, sorted, each once.
func namesOf(list []entry) []string {
	var names []string
	for _, e := range list {
		names = add(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// kindsOf lists the kinds in a list, each once.
func kindsOf(list []entry) []string {
	var kinds []string
	for _, e := range list {
		kinds = add(kinds, e.Kind)
	}
	return kinds
}

func isRBAC(e entry) bool { return e.Group == "rbac.authorization.k8s.io" }

// supports reports whether an entry is an object beside a subchart's workloads
// of which no one has said what it is for.
func supports(e entry) bool {
	if e.subchart == "" || e.PurposeFrom == fromAnnotation || e.PurposeFrom == fromConfig {
		return false
	}
	if _, _, workload := manifest.PodSpec(e.object); workload {
		return false
	}
	return len(manifest.Products(e.object)) == 0 && e.Kind != "CustomResourceDefinition"
}

func newMerged(service string, list []entry) merged {
	row := merged{entries: list, purpose: list[0].Purpose}
	kinds, names := kindsOf(list), namesOf(list)
	if len(kinds) == 1 {
		row.kind = kinds[0]
		row.name = abbreviate(service, names)
		row.purpose = inPlural(row.purpose, list[0], len(list))
		return row
	}
	separator := "/"
	if shareNames(list) {
		separator = " / "
	}
	if separator == "/" {
		slices.SortStableFunc(kinds, func(a, b string) int { return supportRank(a) - supportRank(b) })
	}
	short := make([]string, len(kinds))
	for i, k := range kinds {
		short[i] = k
		if separator == "/" {
			short[i] = shortKind(k)
		}
	}
	row.kind = strings.Join(short, separator)
	row.name = wildcard(service, names)
	return row
}

// shareNames reports whether every kind in the list has the same names.
func shareNames(list []entry) bool {
	names := namesOf(list)
	for _, kind := range kindsOf(list) {
		own := slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e.Kind != kind })
		if !slices.Equal(namesOf(own), names) {
			return false
		}
	}
	return true
}

// supportRank is the order of kinds in a row of support objects: configuration,
// how others reach them, who they are, what limits them.
func supportRank(kind string) int {
	if kind == "Service" {
		return kindRank("ServiceAccount") - 1
	}
	return kindRank(kind)
}

// inPlural fits a purpose to a row of several objects: "pod identities",
// "availability (3 PDBs)", "12 ServiceMonitors" where the names are not listed.
func inPlural(purpose string, first entry, n int) string {
	if n < 2 || purpose == "" && n <= maxNames {
		return purpose
	}
	if rest, ok := strings.CutPrefix(purpose, "pod identity"); ok && first.PurposeFrom == fromInference {
		return "pod identities" + rest
	}
	number := fmt.Sprintf("%d %s", n, plural(shortKind(first.Kind)))
	counted := first.Kind == "PodDisruptionBudget" || first.Kind == "HorizontalPodAutoscaler" || n > maxNames
	switch {
	case purpose == "":
		return number
	case !counted || strings.HasSuffix(purpose, number+")"):
		return purpose
	}
	return purpose + " (" + number + ")"
}

// compareMerged keeps the order of the first entries, but lets a subchart's row
// of several kinds follow the workload that it supports.
func compareMerged(a, b merged) int {
	return cmp.Or(
		cmp.Compare(phaseRank(a.phase()), phaseRank(b.phase())),
		cmp.Compare(a.wave(), b.wave()),
		cmp.Compare(a.rank(), b.rank()),
		cmp.Compare(len(kindsOf(a.entries)), len(kindsOf(b.entries))),
		compareEntries(a.entries[0], b.entries[0]),
	)
}

func (m merged) rank() int {
	if len(kindsOf(m.entries)) > 2 && m.entries[0].subchart != "" {
		return kindRank("StatefulSet")
	}
	return kindRank(m.entries[0].Kind)
}

// title makes a name the beginning of a sentence.
func title(name string) string {
	if name == "" {
		return name
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

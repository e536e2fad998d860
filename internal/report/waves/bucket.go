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

// bucket describes a stage.
func (s *stage) bucket(services []serviceEntries) Bucket {
	names := shortNames(services)
	b := Bucket{Bucket: s.label(names), Services: []string{}, Kinds: []KindShare{}, Exceptions: []string{}}
	holders := s.holders(services)
	for _, i := range holders {
		b.Services = append(b.Services, services[i].name)
	}
	b.Who = who(services, holders)
	common := s.shares(&b, services, holders)
	b.Exceptions = append(b.Exceptions, s.differences(services, holders, common)...)
	for i, n := range names {
		for _, wave := range s.companions[i] {
			b.Exceptions = append(b.Exceptions, fmt.Sprintf("%s: %s in wave %s", n, kindsAt(s.members[i], wave), minus(wave)))
		}
	}
	b.Purpose = s.purpose(services, holders, common)
	return b
}

// shares fills in who has which kind and returns the kinds that at least half
// of the services have, and more than one if there are several.
func (s *stage) shares(b *Bucket, services []serviceEntries, holders []int) (common []string) {
	for _, kind := range s.kinds() {
		share := KindShare{Kind: kind}
		having := s.having(kind, holders)
		for _, i := range having {
			share.Services = append(share.Services, services[i].name)
		}
		b.Kinds = append(b.Kinds, share)
		if len(having)*2 >= len(holders) && (len(having) > 1 || len(holders) == 1) {
			common = append(common, kind)
		}
	}
	return common
}

// differences says which common kinds some services lack, and what some have
// beyond the common kinds: one sentence per set of services.
func (s *stage) differences(services []serviceEntries, holders []int, common []string) []string {
	names := shortNames(services)
	var order []string
	kinds := map[string][]string{}
	note := func(label string, item string) {
		if kinds[label] == nil {
			order = append(order, label)
		}
		kinds[label] = append(kinds[label], item)
	}
	for _, kind := range s.kinds() {
		having := s.having(kind, holders)
		var with, without []string
		for _, i := range holders {
			if slices.Contains(having, i) {
				with = append(with, names[i])
			} else {
				without = append(without, names[i])
			}
		}
		switch {
		case !slices.Contains(common, kind):
			note("only in "+strings.Join(with, ", "), s.own(services, having, kind))
		case len(without) > 0:
			note("not in "+strings.Join(without, ", "), shortKind(kind))
		}
	}
	out := make([]string, len(order))
	for i, label := range order {
		out[i] = label + ": " + strings.Join(kinds[label], ", ")
	}
	return out
}

// own names a kind that few services have; a single workload by its name.
func (s *stage) own(services []serviceEntries, having []int, kind string) string {
	label := shortKind(kind)
	if len(having) != 1 {
		return label
	}
	var list []entry
	for _, e := range s.members[having[0]] {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	if len(list) > 1 {
		return plural(label)
	}
	if _, _, ok := manifest.PodSpec(list[0].object); ok {
		return join(label, localName(list[0].Name, services[having[0]].name, ""))
	}
	return label
}

func (s *stage) holders(services []serviceEntries) []int {
	var out []int
	for i := range services {
		if len(s.members[i]) > 0 {
			out = append(out, i)
		}
	}
	return out
}

// kinds lists the kinds of a stage in the order of the page.
func (s *stage) kinds() []string {
	var kinds []string
	for _, list := range s.members {
		for _, e := range list {
			kinds = add(kinds, e.Kind)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(cmp.Compare(kindRank(a), kindRank(b)), cmp.Compare(a, b)) })
	return kinds
}

func (s *stage) having(kind string, holders []int) []int {
	var out []int
	for _, i := range holders {
		if slices.ContainsFunc(s.members[i], func(e entry) bool { return e.Kind == kind }) {
			out = append(out, i)
		}
	}
	return out
}

func kindsAt(list []entry, wave int) string {
	var kinds []string
	for _, e := range list {
		if e.Wave == wave {
			kinds = add(kinds, shortKind(e.Kind))
		}
	}
	return enumerate(kinds)
}

// purpose enumerates the common kinds, wave after wave if there are several:
// "ConfigMaps postgres-connection, postgres-init-script → Job postgres-role-init".
func (s *stage) purpose(services []serviceEntries, holders []int, common []string) string {
	chart := s.onlySubchart(holders)
	var steps []string
	for _, wave := range s.waves(holders) {
		var items []string
		for _, kind := range common {
			if item := s.item(services, holders, kind, wave, chart); item != "" {
				items = append(items, item)
			}
		}
		if len(items) > 0 {
			steps = append(steps, strings.Join(items, ", "))
		}
	}
	text := strings.Join(steps, " → ")
	if chart != "" {
		return chartName(chart) + ": " + text
	}
	return text
}

// waves are the waves of a range; a stage of one wave with shifts has one.
func (s *stage) waves(holders []int) []int {
	if s.low == s.high {
		return []int{s.low}
	}
	var out []int
	for _, i := range holders {
		for _, e := range s.members[i] {
			if !slices.Contains(out, e.Wave) {
				out = append(out, e.Wave)
			}
		}
	}
	slices.Sort(out)
	return out
}

// item names the objects of a kind at a wave, by what remains of their names
// without the service's where most services agree on that.
func (s *stage) item(services []serviceEntries, holders []int, kind string, wave int, chart string) string {
	suffixes := map[string]int{}
	var order []string
	count, most := 0, 0
	for _, i := range holders {
		own := 0
		for _, e := range s.members[i] {
			if e.Kind != kind || s.low != s.high && e.Wave != wave {
				continue
			}
			own++
			suffix := localName(e.Name, services[i].name, chart)
			if suffixes[suffix] == 0 {
				order = append(order, suffix)
			}
			suffixes[suffix]++
		}
		if own > 0 {
			count++
		}
		most = max(most, own)
	}
	if count == 0 {
		return ""
	}
	label := shortKind(kind)
	if kind != "Job" && s.phase == "Sync" || kind != "Job" && kind != "ConfigMap" {
		if most > 1 {
			label = plural(label)
		}
		return label
	}
	agreed := slices.DeleteFunc(order, func(n string) bool { return n == "" || suffixes[n]*2 <= count })
	switch {
	case len(agreed) == 0 || len(agreed) > maxShown:
		if most > 1 {
			label = plural(label)
		}
		return label
	case len(agreed) > 1:
		label = plural(label)
	}
	return label + " " + strings.Join(agreed, ", ")
}

// localName is a name without the service's, and without the subchart's.
func localName(name, service, chart string) string {
	if name == service {
		return ""
	}
	name = strings.TrimPrefix(name, service+"-")
	if chart != "" {
		name = strings.TrimPrefix(name, chartName(chart)+"-")
	}
	return name
}

// onlySubchart is the subchart that everything in the stage comes from.
func (s *stage) onlySubchart(holders []int) string {
	chart, first := "", true
	for _, i := range holders {
		for _, e := range s.members[i] {
			if !first && e.subchart != chart {
				return ""
			}
			chart, first = e.subchart, false
		}
	}
	return chart
}

// who names the services of a bucket in words.
func who(services []serviceEntries, holders []int) string {
	names := shortNames(services)
	if len(holders) == len(services) {
		return "all"
	}
	backends := []int{}
	for i, s := range services {
		if !s.isFrontend() {
			backends = append(backends, i)
		}
	}
	if len(backends) > 1 && slices.Equal(backends, holders) {
		return "all backends"
	}
	if len(holders) == 1 {
		return names[holders[0]] + " only"
	}
	list := make([]string, len(holders))
	for n, i := range holders {
		list[n] = names[i]
	}
	return strings.Join(list, ", ")
}

// isFrontend reports whether a service is one by its name or by the component
// label of all its objects.
func (s serviceEntries) isFrontend() bool {
	words := []string{"frontend", "web", "ui", "gui", "webapp"}
	for part := range strings.SplitSeq(s.name, "-") {
		if slices.Contains(words, part) {
			return true
		}
	}
	for _, e := range s.entries {
		if !slices.Contains(words, e.object.GetLabels()["app.kubernetes.io/component"]) {
			return false
		}
	}
	return len(s.entries) > 0
}

// shortNames drops the word "service" where the names stay different.
func shortNames(services []serviceEntries) []string {
	seen := map[string]bool{}
	out := make([]string, len(services))
	for i, s := range services {
		out[i] = strings.TrimSuffix(s.name, "-service")
		if seen[out[i]] {
			for k := range services {
				out[k] = services[k].name
			}
			return out
		}
		seen[out[i]] = true
	}
	return out
}

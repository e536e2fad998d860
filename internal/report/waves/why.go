// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// explain writes why the order of a service is as it is: one sentence per gate,
// in the order of the gates. Names stand between backquotes.
//
// Three things count as a reason: an object of a later wave refers to one of an
// earlier wave; a Pod needs a Secret that another object has made; a Job shares
// its image or its database with what starts after it.
func explain(service string, p *plan.Plan, entries []entry) []string {
	x := explainer{service: service, byKey: map[manifest.Key]int{}}
	for _, e := range entries {
		if e.Phase == DeleteOnly {
			continue
		}
		if _, ok := x.byKey[e.key]; !ok && e.key.Name != "" {
			x.byKey[e.key] = len(x.entries)
		}
		x.entries = append(x.entries, e)
	}
	var reasons []reason
	reasons = append(reasons, x.references()...)
	reasons = append(reasons, x.completions()...)
	reasons = append(reasons, x.products()...)
	slices.SortStableFunc(reasons, func(a, b reason) int {
		return cmp.Or(cmp.Compare(phaseRank(a.at.Phase), phaseRank(b.at.Phase)), cmp.Compare(a.at.Wave, b.at.Wave), cmp.Compare(a.rank, b.rank))
	})
	lines := make([]string, 0, len(reasons)+len(p.Moved))
	for _, r := range reasons {
		lines = append(lines, r.text)
	}
	for _, m := range p.Moved {
		lines = append(lines, fmt.Sprintf("%s `%s` is moved from %s to %s, because %s `%s` needs it.", m.Key.Kind, m.Key.Name, place(m.From), place(m.To), m.Because.Kind, m.Because.Name))
	}
	return lines
}

// place writes "Sync/-1" the way the page does.
func place(group string) string {
	phase, wave, _ := strings.Cut(group, "/")
	n, err := strconv.Atoi(wave)
	if err != nil {
		return group
	}
	return groupName(phase, n)
}

// reason is a sentence and where it belongs.
type reason struct {
	at   entry
	rank int
	text string
}

type explainer struct {
	service string
	entries []entry
	byKey   map[manifest.Key]int
}

// references tells, per group, which objects later groups refer to.
func (x explainer) references() []reason {
	type gate struct {
		targets, users []int
	}
	gates := map[string]*gate{}
	var order []string
	for i, user := range x.entries {
		for _, ref := range manifest.References(user.object) {
			t, ok := x.byKey[ref.Target]
			if !ok || ref.Optional || !x.entries[t].before(user) || x.runs(ref.Target, user) {
				continue
			}
			name := x.entries[t].group()
			if gates[name] == nil {
				gates[name] = &gate{}
				order = append(order, name)
			}
			gates[name].targets = append(gates[name].targets, t)
			gates[name].users = append(gates[name].users, i)
		}
	}
	var reasons []reason
	for _, name := range order {
		g := gates[name]
		targets, users := x.pick(g.targets), x.pick(g.users)
		reasons = append(reasons, reason{at: targets[0], rank: 0, text: fmt.Sprintf("%s %s there before %s, which %s.",
			x.describe(targets), choose(len(targets) == 1, "is", "are"), x.describe(users), use(users, targets))})
	}
	return reasons
}

// runs reports whether an object has its place in the same phase and wave as
// e: a hook can run in several phases.
func (x explainer) runs(key manifest.Key, e entry) bool {
	return slices.ContainsFunc(x.entries, func(o entry) bool { return o.key == key && o.Phase == e.Phase && o.Wave == e.Wave })
}

// use says what the users do with the targets.
func use(users, targets []entry) string {
	verb := "use"
	if !slices.ContainsFunc(users, func(e entry) bool { return e.Kind != "HorizontalPodAutoscaler" }) {
		verb = "scale"
	}
	return verb + choose(len(users) == 1, "s", "") + choose(len(targets) == 1, " it", " them")
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// products tells of objects that others make and Pods need.
func (x explainer) products() []reason {
	var reasons []reason
	for i, maker := range x.entries {
		for _, p := range manifest.Products(maker.object) {
			if p.Object.Kind != "Secret" {
				continue
			}
			users, keys := x.waiting(i, p.Object)
			if len(users) == 0 {
				continue
			}
			reasons = append(reasons, reason{at: maker, rank: 2, text: x.productSentence(maker, p.Object.Name, x.pick(users), keys)})
		}
	}
	return reasons
}

// waiting lists the entries from the maker's group on that cannot start
// without the object, and the keys they read; no keys if one wants them all.
func (x explainer) waiting(maker int, object manifest.Key) (users []int, keys []string) {
	whole := false
	for i, user := range x.entries {
		if user.before(x.entries[maker]) || i == maker {
			continue
		}
		for _, ref := range manifest.References(user.object) {
			if ref.Target == object && ref.AtStart && !ref.Optional {
				users = append(users, i)
				keys = append(keys, ref.Keys...)
				whole = whole || len(ref.Keys) == 0
			}
		}
	}
	if whole {
		return users, nil
	}
	return users, keys
}

func (x explainer) productSentence(maker entry, secret string, users []entry, keys []string) string {
	slices.Sort(keys)
	need := choose(len(users) == 1, "needs it", "need it")
	if keys = slices.Compact(keys); len(keys) > 0 {
		need += " (" + some(keys) + ")"
	}
	sentence := fmt.Sprintf("%s makes Secret `%s` before %s, which %s", x.describe([]entry{maker}), secret, x.describe(users), need)
	if store := text(maker.object.Object, "spec", "secretStoreRef", "name"); store != "" && maker.Kind == "ExternalSecret" {
		kind := text(maker.object.Object, "spec", "secretStoreRef", "kind")
		if kind == "" {
			kind = "SecretStore"
		}
		sentence += fmt.Sprintf("; should %s `%s` refuse, the rollout stops there", kind, store)
	}
	return sentence + "."
}

// completions tells of Jobs that must be done before something starts.
func (x explainer) completions() []reason {
	follows := map[int][]int{}
	why := map[[2]int]string{}
	for j, job := range x.entries {
		if job.Kind != "Job" {
			continue
		}
		for w, workload := range x.entries {
			if !job.before(workload) {
				continue
			}
			if evidence := x.related(job, workload); evidence != "" {
				follows[j] = append(follows[j], w)
				why[[2]int{j, w}] = evidence
			}
		}
	}
	var reasons []reason
	for j, job := range x.entries {
		byEvidence := map[string][]int{}
		var order []string
		for _, w := range follows[j] {
			// What a follower holds back anyway needs no mention here.
			if slices.ContainsFunc(follows[j], func(mid int) bool { return slices.Contains(follows[mid], w) }) {
				continue
			}
			evidence := why[[2]int{j, w}]
			if byEvidence[evidence] == nil {
				order = append(order, evidence)
			}
			byEvidence[evidence] = append(byEvidence[evidence], w)
		}
		for _, evidence := range order {
			users := x.pick(byEvidence[evidence])
			start := choose(len(users) == 1, "starts", "start")
			reasons = append(reasons, reason{at: job, rank: 1, text: fmt.Sprintf("%s completes before %s %s: %s.",
				x.describe([]entry{job}), x.describe(users), start, evidence)})
		}
	}
	return reasons
}

// pick returns the entries at the indexes, each once, in their order.
func (x explainer) pick(indexes []int) []entry {
	indexes = slices.Clone(indexes)
	slices.Sort(indexes)
	var out []entry
	for _, i := range slices.Compact(indexes) {
		out = append(out, x.entries[i])
	}
	return out
}

// describe enumerates entries by group and kind: "Job `a` (Sync 1) and
// Deployments `b, -c` (Sync 2)".
func (x explainer) describe(list []entry) string {
	var parts []string
	for _, group := range chunk(list, func(a, b entry) bool { return a.Phase == b.Phase && a.Wave == b.Wave }) {
		var kinds []string
		for _, same := range chunk(group, func(a, b entry) bool { return a.Kind == b.Kind }) {
			names := make([]string, len(same))
			for i, e := range same {
				names[i] = e.Name
			}
			kind := same[0].Kind
			if len(same) > 1 {
				kind = plural(kind)
			}
			kinds = append(kinds, fmt.Sprintf("%s `%s`", kind, abbreviate(x.service, names)))
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", enumerate(kinds), group[0].group()))
	}
	return enumerate(parts)
}

// chunk cuts a list where neighbours differ.
func chunk(list []entry, same func(a, b entry) bool) [][]entry {
	var out [][]entry
	for i, e := range list {
		if i == 0 || !same(list[i-1], e) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], e)
	}
	return out
}

// plainText writes a sentence for a terminal: without backquotes, and with the
// minus sign that a keyboard has.
func plainText(line string) string { return strings.NewReplacer("`", "", "−", "-").Replace(line) }

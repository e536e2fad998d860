// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package recap

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/timeline"
)

// barWidth is the length of the whole run in characters.
const barWidth = 32

// Timeline writes a table per Application: when each group began, when it was
// done, and a bar that places it in the whole run.
func (r Recap) Timeline(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.DiscardEmptyColumns)
	for i, a := range r.apps {
		if i > 0 {
			fmt.Fprintln(tw)
		}
		objects, last := 0, time.Time{}
		for _, g := range a.groups {
			objects += len(g.objects)
			if g.done.After(last) {
				last = g.done
			}
		}
		fmt.Fprintf(tw, "%s: %s, %s in %s\n", a.name, count(len(a.groups), "group"), count(objects, "object"), seconds(last.Sub(a.groups[0].started)))
		fmt.Fprintln(tw, "  PHASE\tWAVE\tOBJECTS\tSTARTED\tDONE\tTOOK")
		for _, g := range a.groups {
			done, took := "-", "-"
			if !g.done.IsZero() {
				done, took = seconds(g.done.Sub(r.start)), seconds(g.done.Sub(g.started))
			}
			fmt.Fprintf(tw, "  %s\t%d\t%d\t%s\t%s\t%s\t%s\n", g.phase, g.wave, len(g.objects), seconds(g.started.Sub(r.start)), done, took, r.bar(g))
		}
	}
	return tw.Flush()
}

// bar draws where in the run a group was: "|   ====      |".
func (r Recap) bar(g *group) string {
	whole := r.end.Sub(r.start)
	if whole <= 0 {
		return ""
	}
	place := func(t time.Time) int {
		return min(barWidth, max(0, int(float64(barWidth)*float64(t.Sub(r.start))/float64(whole))))
	}
	from := min(place(g.started), barWidth-1)
	to := from + 1
	if !g.done.IsZero() {
		to = max(to, place(g.done))
	}
	return "|" + strings.Repeat(" ", from) + strings.Repeat("=", to-from) + strings.Repeat(" ", barWidth-to) + "|"
}

// Proof writes per Application how many statements about its order hold, and the
// order itself: each line was created after everything of the line before was
// done, by the resourceVersions of the API server's own events.
func (r Recap) Proof(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, a := range r.apps {
		if i > 0 {
			fmt.Fprintln(tw)
		}
		fmt.Fprintf(tw, "%s: %s\n", a.name, a.summary())
		a.chain(tw)
		a.users(tw)
	}
	return tw.Flush()
}

// chain writes the groups that have milestones, one below the other.
func (a *app) chain(w io.Writer) {
	var before *group
	for _, g := range a.groups {
		if len(g.milestones) == 0 {
			continue
		}
		if before == nil {
			fmt.Fprintln(w, "    GROUP\tOBJECTS\tCREATED\tDONE")
		}
		mark := " "
		if before != nil {
			mark = sign(before.finished != 0 && before.finished < g.created)
		}
		done := "-"
		if g.finished != 0 {
			done = strconv.FormatUint(g.finished, 10)
		}
		fmt.Fprintf(w, "  %s %s\t%s\t%d\t%s\n", mark, g, names(g.milestones), g.created, done)
		before = g
	}
}

// users writes a line per Secret that a controller made: the first of its users
// stands for all of them.
func (a *app) users(w io.Writer) {
	first, count := map[types.UID]timeline.Proof{}, map[types.UID]int{}
	var order []types.UID
	for _, p := range a.secrets {
		uid := p.Before.UID
		known, ok := first[uid]
		if !ok {
			order = append(order, uid)
		}
		if !ok || p.After.ResourceVersion < known.After.ResourceVersion {
			first[uid] = p
		}
		count[uid]++
	}
	for _, uid := range order {
		p, more := first[uid], ""
		if n := count[uid] - 1; n > 0 {
			more = fmt.Sprintf(" and %d more later", n)
		}
		fmt.Fprintf(w, "    %s created %d %s %s created %d%s\n", p.Before.Key.Short(), p.Before.ResourceVersion, sign(p.Holds), p.After.Key.Short(), p.After.ResourceVersion, more)
	}
}

func sign(holds bool) string {
	if holds {
		return "<"
	}
	return "!"
}

// summary counts what holds: "8 gates hold, 2 Secrets precede their users".
func (a *app) summary() string {
	var parts []string
	if len(a.gates)+len(a.secrets) == 0 {
		return "one group, nothing to order"
	}
	for _, list := range []struct {
		proofs          []timeline.Proof
		noun, one, many string
	}{
		{a.gates, "gates", "gate holds", "gates hold"},
		{a.secrets, "orders of Secret and user", "Secret precedes its user", "Secrets precede their users"},
	} {
		broken := len(Broken(list.proofs))
		switch held := len(list.proofs) - broken; {
		case len(list.proofs) == 0:
		case broken > 0:
			parts = append(parts, fmt.Sprintf("%d of %d %s BROKEN", broken, len(list.proofs), list.noun))
		case held == 1:
			parts = append(parts, "1 "+list.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", held, list.many))
		}
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", max(0, d.Seconds())) }

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// commentLimit is how many characters a comment on GitHub may have; GitLab allows
// more. It is counted in bytes, which are never fewer.
const commentLimit = 65536

// What stays free for the closing line, and how much of a comment one list may take
// so that what comes behind it has a place.
const (
	closingRoom = 200
	listRoom    = 8000
	tableRoom   = 20000
)

// Markdown writes what happens as a comment on a change: what matters most first,
// and never longer than a comment may be. What does not fit is counted.
func Markdown(apps []*App, unchanged int) string {
	c := &comment{}
	c.add("### Wavetrain: " + Summary(apps, unchanged) + "\n")
	for _, blast := range []struct {
		word string
		of   func(*App) []string
	}{
		{"Deletes", func(a *App) []string { return a.Deletes }},
		{"Replaces", func(a *App) []string { return a.Replaces }},
	} {
		c.addList(blast.word, apps, blast.of)
	}
	var all []findings.Finding
	for _, a := range apps {
		all = append(all, serious(a)...)
	}
	if len(all) > 0 {
		c.addFindings(all)
	}
	c.addList("Restarts", apps, func(a *App) []string { return a.Restarts })
	for _, a := range byWeight(apps) {
		c.addApp(a)
	}
	return c.finish()
}

// comment is a text that does not grow beyond what a comment may have.
type comment struct {
	b       strings.Builder
	leftOut int
}

// add adds a part, or counts it as left out.
func (c *comment) add(part string) bool {
	if c.b.Len()+len(part)+closingRoom > commentLimit {
		c.leftOut++
		return false
	}
	c.b.WriteString(part)
	return true
}

func (c *comment) room() int { return commentLimit - closingRoom - c.b.Len() }

func (c *comment) finish() string {
	if c.leftOut > 0 {
		fmt.Fprintf(&c.b, "\n_%d further parts do not fit into a comment: `wavetrain plan` shows them._\n", c.leftOut)
	}
	return c.b.String()
}

// addList adds objects of all applications, and says how many there are when they
// are too many.
func (c *comment) addList(word string, apps []*App, of func(*App) []string) {
	var b strings.Builder
	total, shown := 0, 0
	for _, a := range apps {
		for _, object := range of(a) {
			total++
			item := code(a.Name) + " " + plain(object)
			if shown < total-1 || b.Len()+len(item) > listRoom {
				continue
			}
			if shown > 0 {
				b.WriteString(", ")
			}
			b.WriteString(item)
			shown++
		}
	}
	if total == 0 {
		return
	}
	more := ""
	if shown < total {
		more = fmt.Sprintf(" and %d more", total-shown)
	}
	c.add(fmt.Sprintf("\n**%s** %s%s\n", word, b.String(), more))
}

// addFindings adds the table of findings, the worst first, as far as it fits.
func (c *comment) addFindings(all []findings.Finding) {
	fits := len(all)
	table := ""
	for ; fits > 0; fits /= 2 {
		table = strings.Replace(findings.Markdown(all[:fits], findings.Summary(all)), "### Wavetrain: ", "#### Findings: ", 1)
		if len(table) <= tableRoom {
			break
		}
	}
	if fits == 0 {
		table = "#### Findings: " + findings.Summary(all) + "\n"
	}
	if fits < len(all) {
		table += fmt.Sprintf("\n_and %d more findings_\n", len(all)-fits)
	}
	c.add("\n" + table)
}

// byWeight brings applications in the order in which somebody should read about them:
// errors, what is lost, what restarts, the rest.
func byWeight(apps []*App) []*App {
	weight := func(a *App) int {
		switch {
		case a.Refused != "" || findings.Count(a.Findings, diag.Error) > 0:
			return 0
		case len(a.Deletes)+len(a.Replaces) > 0:
			return 1
		case len(a.Restarts) > 0:
			return 2
		}
		return 3
	}
	sorted := slices.Clone(apps)
	slices.SortStableFunc(sorted, func(a, b *App) int { return cmp.Compare(weight(a), weight(b)) })
	return sorted
}

// writeWaits writes what an application's rollout will wait for.
func writeWaits(b *strings.Builder, a *App) {
	if len(a.Expected.Gates) == 0 {
		return
	}
	fmt.Fprintf(b, "Waits: %s\n\n", plain(a.Expected.times()))
	for _, g := range a.Expected.Gates {
		fmt.Fprintf(b, "- %s\n", plain(g.line()))
	}
	b.WriteString("\n")
}

// addApp adds an application that can be unfolded. One that does not fit as a whole
// is cut: first the fields go, then steps.
func (c *comment) addApp(a *App) {
	if full := details(a, true, -1); len(full) <= c.room() {
		c.add(full)
		return
	}
	// A line has more than ten characters.
	for most := min(stepsOf(a), c.room()/10); most > 0; most /= 2 {
		if cut := details(a, false, most); len(cut) <= c.room() {
			c.add(cut)
			return
		}
	}
	c.leftOut++
}

func stepsOf(a *App) int {
	n := 0
	for _, g := range a.Groups {
		n += len(acting(g))
	}
	return n
}

// details is an application that can be unfolded, with at most so many steps; all if
// that is negative.
func details(a *App, fields bool, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary><b>%s</b> (%s)</summary>\n\n", inHTML(a.Name), inHTML(a.head()))
	if a.Refused != "" {
		fmt.Fprintf(&b, "A sync would not run now: %s\n\n", plain(a.Refused))
	}
	for _, c := range a.Spec {
		fmt.Fprintf(&b, "- Application %s\n", code(line(c)))
	}
	for _, n := range a.Needs {
		fmt.Fprintf(&b, "- %s\n", plain(n.line()))
	}
	lines, in := a.common()
	if fields {
		for _, text := range lines {
			fmt.Fprintf(&b, "- in %d objects %s\n", in[text], code(text))
		}
		if len(lines) > 0 {
			b.WriteString("\n")
		}
		writeWaits(&b, a)
	} else {
		in = nil
	}
	left := 0
	for _, g := range a.Groups {
		if len(acting(g)) == 0 {
			continue
		}
		if most != 0 {
			fmt.Fprintf(&b, "**%s**\n\n", g.title())
		}
		for _, s := range acting(g) {
			if most == 0 {
				left++
				continue
			}
			most--
			writeStep(&b, s, in, fields)
			if b.Len() > commentLimit {
				// It does not fit anyway.
				return b.String()
			}
		}
		b.WriteString("\n")
	}
	switch {
	case left > 0:
		fmt.Fprintf(&b, "_%d more steps, and the fields that change, do not fit into a comment._\n", left)
	case !fields:
		b.WriteString("_The fields that change do not fit into a comment._\n")
	}
	b.WriteString("</details>\n")
	return b.String()
}

func writeStep(b *strings.Builder, s Step, common map[string]int, fields bool) {
	fmt.Fprintf(b, "- %s %s", s.Action, plain(s.Object))
	if remark := s.remark(); remark != "" {
		fmt.Fprintf(b, " (%s)", plain(remark))
	}
	b.WriteString("\n")
	if !fields {
		return
	}
	for _, c := range s.own(common) {
		fmt.Fprintf(b, "  - %s\n", code(line(c)))
	}
}

// code is a text that a reader sees as it is.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "\n", " ", "\r", " ").Replace(valid(s)) + "`"
}

// inHTML is a text inside of an element.
func inHTML(s string) string {
	return strings.NewReplacer("@", "&#64;", "\n", " ", "\r", " ", "`", "'").Replace(html.EscapeString(valid(s)))
}

// plain keeps a text from being read as markup.
func plain(s string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ", "*", `\*`, "_", `\_`, "`", "'", "@", "&#64;", "[", `\[`).Replace(valid(s))
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "�")
}

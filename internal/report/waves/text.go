// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text is the page for a terminal: tables and reasons, without the parts that
// explain the page itself. Numbers have a plain minus, for grep.
func (p *Page) Text() string {
	var b strings.Builder
	for i, s := range p.Services {
		if i > 0 {
			b.WriteString("\n")
		}
		s.text(&b)
	}
	if len(p.Pattern) > 0 {
		marks, notes := p.footnotes()
		b.WriteString("\nCROSS-SERVICE PATTERN\n")
		rows := [][]string{{"BUCKET", "PURPOSE", "WHO HAS IT"}}
		for i, bucket := range p.Pattern {
			rows = append(rows, []string{bucket.Bucket, bucket.Purpose, bucket.Who + marked(" (%d)", marks[i])})
		}
		columns(&b, rows)
		for i, n := range notes {
			fmt.Fprintf(&b, "(%d) %s\n", i+1, plainText(n))
		}
	}
	return b.String()
}

func (s ServicePage) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n", s.Name)
	for _, problem := range s.problems {
		fmt.Fprintf(b, "! cannot be rolled out: %s\n", problem)
	}
	if len(s.table) > 0 {
		rows := [][]string{{"PHASE", "WAVE", "KIND", "NAME", "PURPOSE"}}
		for _, m := range s.table {
			rows = append(rows, []string{m.phase(), fmt.Sprint(m.wave()), m.kind, m.name, m.purpose})
		}
		columns(b, rows)
	}
	for _, line := range []string{s.remark, s.leftOutSentence()} {
		if line != "" {
			fmt.Fprintf(b, "\n%s\n", plainText(line))
		}
	}
	if len(s.why) > 0 {
		b.WriteString("\nWhy this order:\n")
		for _, line := range s.why {
			fmt.Fprintf(b, "  %s\n", plainText(line))
		}
	}
}

// columns aligns rows.
func columns(b *strings.Builder, rows [][]string) {
	var aligned strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 8, 3, ' ', 0)
	for _, row := range rows {
		// A strings.Builder takes everything.
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	for line := range strings.Lines(aligned.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"strings"
)

// Markdown is the page for a wiki or a repository.
func (p *Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n## How to read this\n\n%s\n\n", pageTitle, introOne, howTo)
	for _, phase := range p.phases {
		fmt.Fprintf(&b, "- **%s** — %s\n", phase, phaseMeaning(phase))
	}
	if text := p.unused(); text != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	if p.command != "" {
		fmt.Fprintf(&b, "\n## Reproduce\n\n```\n%s\n```\n\n", p.command)
		fmt.Fprintf(&b, "From the root of the repository. Inputs: `%s`.\n", p.digest)
	}
	for _, s := range p.Services {
		s.markdown(&b)
	}
	p.markdownPattern(&b)
	return b.String()
}

func (s ServicePage) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n", escapeMarkdown(s.Name))
	for _, problem := range s.problems {
		fmt.Fprintf(b, "> **Cannot be rolled out:** %s\n\n", escapeMarkdown(problem))
	}
	if len(s.table) > 0 {
		b.WriteString("| Phase | Wave | Kind | Resource name | Purpose |\n|---|---|---|---|---|\n")
		for _, m := range s.table {
			fmt.Fprintf(b, "| %s | %s | %s | `%s` | %s |\n", m.phase(), minus(m.wave()), m.kind, m.name, escapeMarkdown(m.purpose))
		}
	}
	if s.remark != "" {
		fmt.Fprintf(b, "\n(%s)\n", escapeMarkdown(s.remark))
	}
	if text := s.leftOutSentence(); text != "" {
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(text))
	}
	if len(s.why) > 0 {
		b.WriteString("\n**Why this order**\n\n")
		for _, line := range s.why {
			fmt.Fprintf(b, "- %s\n", line)
		}
	}
}

func (p *Page) markdownPattern(b *strings.Builder) {
	if len(p.Pattern) == 0 {
		return
	}
	marks, notes := p.footnotes()
	b.WriteString("\n## Cross-service pattern\n\n| Wave bucket | Purpose | Who has it |\n|---|---|---|\n")
	for i, bucket := range p.Pattern {
		fmt.Fprintf(b, "| %s | %s | %s |\n", typeset(bucket.Bucket), escapeMarkdown(bucket.Purpose),
			escapeMarkdown(bucket.Who)+marked(" [^%d]", marks[i]))
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for i, n := range notes {
		fmt.Fprintf(b, "[^%d]: %s\n", i+1, escapeMarkdown(n))
	}
}

// escapeMarkdown keeps text from becoming markup or ending a cell.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, `|`, `\|`, `<`, `&lt;`, `*`, `\*`, "`", "\\`", `[`, `\[`).Replace(s)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package findings

import (
	"fmt"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
)

// Text writes findings for a terminal, each with its hint.
func Text(list []Finding) string {
	var b strings.Builder
	app := ""
	for i, f := range list {
		if f.App != app || i == 0 {
			if i > 0 {
				b.WriteString("\n")
			}
			if app = f.App; app != "" {
				fmt.Fprintf(&b, "%s\n", app)
			}
		}
		fmt.Fprintf(&b, "  %-7s  %s  [%s]\n", f.Severity, f.Message, f.Code)
		if at := f.where(); at != "" {
			fmt.Fprintf(&b, "           at %s\n", at)
		}
		if f.Hint != "" && f.Severity != diag.Info {
			fmt.Fprintf(&b, "           %s\n", f.Hint)
		}
	}
	if len(list) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// where is the place in the files, and the field.
func (f Finding) where() string {
	at := f.File
	if at != "" && f.Line > 0 {
		at += fmt.Sprintf(":%d", f.Line)
	}
	switch {
	case at == "":
		return f.Field
	case f.Field == "":
		return at
	default:
		return at + ", " + f.Field
	}
}

// Summary counts findings in a sentence.
func Summary(list []Finding) string {
	count := func(s diag.Severity, word string) string {
		n := Count(list, s)
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}
	return strings.Join([]string{count(diag.Error, "error"), count(diag.Warning, "warning"), count(diag.Info, "remark")}, ", ")
}

// Markdown writes findings as a table for a comment on a change, below a summary.
func Markdown(list []Finding, summary string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Wavetrain: %s\n", summary)
	if len(list) == 0 {
		return b.String()
	}
	b.WriteString("\n| | application | finding | what to do |\n|---|---|---|---|\n")
	for _, f := range list {
		message := cell(f.Message)
		if at := f.where(); at != "" {
			message += "<br>`" + cell(at) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | **%s** %s | %s |\n", f.Severity, cell(f.App), f.Code, message, cell(f.Hint))
	}
	return b.String()
}

// cell keeps text inside a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;").Replace(s)
}

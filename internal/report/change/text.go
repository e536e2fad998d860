// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"strings"
)

// Text writes what happens for a terminal.
func Text(apps []*App, unchanged int) string {
	var b strings.Builder
	for _, a := range apps {
		fmt.Fprintf(&b, "%s (%s)\n", a.Name, a.head())
		for _, c := range a.Spec {
			fmt.Fprintf(&b, "  Application  %s\n", line(c))
		}
		for _, n := range a.Needs {
			fmt.Fprintf(&b, "  Needs        %s\n", n.line())
		}
		lines, in := a.common()
		for _, text := range lines {
			fmt.Fprintf(&b, "  in %d objects  %s\n", in[text], text)
		}
		for _, g := range a.Groups {
			writeGroup(&b, g, in)
		}
		a.writeBlast(&b)
		if len(a.Expected.Gates) > 0 {
			fmt.Fprintf(&b, "  waits      %s\n", a.Expected.times())
			for _, g := range a.Expected.Gates {
				fmt.Fprintf(&b, "             %s\n", g.line())
			}
		}
		for _, f := range serious(a) {
			fmt.Fprintf(&b, "  %s: %s [%s]\n", f.Severity, f.Message, f.Code)
		}
		if a.Refused != "" {
			fmt.Fprintf(&b, "  a sync would not run now: %s\n", a.Refused)
		}
		b.WriteString("\n")
	}
	b.WriteString(Summary(apps, unchanged) + "\n")
	return b.String()
}

func writeGroup(b *strings.Builder, g Group, common map[string]int) {
	steps, same := acting(g), unchangedIn(g)
	if len(steps) == 0 {
		fmt.Fprintf(b, "  %s  %d unchanged\n", g.title(), same)
		return
	}
	fmt.Fprintf(b, "  %s\n", g.title())
	for _, s := range steps {
		fmt.Fprintf(b, "    %-7s  %s", s.Action, s.Object)
		if remark := s.remark(); remark != "" {
			fmt.Fprintf(b, "  (%s)", remark)
		}
		b.WriteString("\n")
		for _, c := range s.own(common) {
			fmt.Fprintf(b, "             %s\n", line(c))
		}
	}
	if same > 0 {
		fmt.Fprintf(b, "    and %d unchanged\n", same)
	}
	if len(g.Waits) > 0 {
		fmt.Fprintf(b, "    then waits for %s\n", strings.Join(g.Waits, ", "))
	}
}

// writeBlast writes what an application loses.
func (a *App) writeBlast(b *strings.Builder) {
	for _, part := range []struct {
		word    string
		objects []string
	}{{"deletes", a.Deletes}, {"replaces", a.Replaces}, {"restarts", a.Restarts}} {
		if len(part.objects) > 0 {
			fmt.Fprintf(b, "  %-9s  %s\n", part.word, strings.Join(part.objects, ", "))
		}
	}
}

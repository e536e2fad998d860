// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"time"
	"unicode/utf8"
)

func widths(rows []Row) (name, place int) {
	for _, r := range rows {
		name = max(name, utf8.RuneCountInString(r.Name))
		place = max(place, utf8.RuneCountInString(r.Place))
	}
	return name, place
}

// format writes a row as one line of at most so many columns; zero is no limit.
// What is cut is the text: how long a wait lasts must be seen.
func format(r Row, nameWidth, placeWidth, columns int, now time.Time) string {
	var parts []string
	if nameWidth > 0 {
		parts = append(parts, pad(r.Name, nameWidth))
	}
	if placeWidth > 0 {
		parts = append(parts, pad(r.Place, placeWidth))
	}
	if r.Text != "" {
		parts = append(parts, r.Text)
	}
	text, since := strings.TrimRight(strings.Join(parts, "  "), " "), ""
	if !r.Since.IsZero() {
		since = " (" + max(now.Sub(r.Since), 0).Round(time.Second).String() + ")"
	}
	if columns > 0 {
		text = cut(text, columns-len(since))
	}
	return text + since
}

// what is the part of a text that says what is waited for, without how far that
// has come.
func what(text string) string {
	head, _, _ := strings.Cut(text, ": ")
	return head
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func cut(s string, columns int) string {
	runes := []rune(s)
	if columns < 4 || len(runes) <= columns {
		return s
	}
	return string(runes[:columns-3]) + "..."
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/internal/health"
)

// Text writes a chain in one line, the way people say it.
func Text(chain []Link) string {
	words := make([]string, len(chain))
	for i, l := range chain {
		words[i] = l.Text
	}
	return strings.Join(words, ": ")
}

// Message is the chain below an object as the message of an operation has it, which
// names the object already: without times, so that it does not change while nothing
// changes. It is empty if there is no more to tell than the object's own health.
func Message(chain []Link) string {
	if len(chain) == 0 || len(chain) == 1 && chain[0].own {
		return ""
	}
	var words []string
	for i, l := range chain {
		switch {
		case i == 0 && l.own && chain[1].part:
			// The Pod says it better.
		case i == 0 || l.part:
			words = append(words, l.Reason)
		default:
			words = append(words, l.text(nil))
		}
	}
	return strings.Join(compact(words), ": ")
}

// text writes a link in words, with how long it has been so if now is given.
func (l Link) text(now *time.Time) string {
	name, state := l.Object.Short(), l.state()
	if l.part {
		name, state = "its "+name, ""
		if l.Reason == "" {
			state = l.state()
		}
	}
	text := strings.TrimSpace(name + " " + state)
	if now != nil && l.Since != nil && !l.Well() {
		text += strings.TrimSuffix(" "+l.sinceWord(), " ") + " " + now.Sub(*l.Since).Round(time.Second).String()
	}
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	return text
}

// state is the word for what an object is.
func (l Link) state() string {
	switch {
	case l.State == string(health.Progressing) && l.Object.Kind == "Job":
		return "running"
	case l.State == string(health.Degraded) && (l.Object.Kind == "Job" || l.Object.Kind == "Pod"):
		return "failed"
	case l.State == string(health.Progressing), l.State == string(health.Degraded):
		return "not ready"
	case l.State == There:
		return "is there"
	case l.State == string(health.Healthy):
		return "is healthy"
	case l.State == string(health.Suspended):
		return "suspended"
	}
	return l.State
}

// sinceWord stands before how long something has been so.
func (l Link) sinceWord() string {
	if l.state() == "running" && !l.part {
		return ""
	}
	return "since"
}

// sentence joins a reason's word and its message.
func sentence(reason, message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if reason == message {
		return message
	}
	return strings.Join(compact([]string{reason, message}), ": ")
}

func join(a, b string) string { return strings.Join(compact([]string{a, b}), "; ") }

func compact(words []string) []string {
	var kept []string
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

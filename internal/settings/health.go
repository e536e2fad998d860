// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import "strings"

// HealthRule judges the health of a kind, or of those that a pattern matches: by cases if there are any, else by a script.
type HealthRule struct {
	// Target is "group/Kind", for the core group "Kind"; it may be a pattern.
	Target string
	// From is where the rule stands, for messages.
	From string
	// Lua is a script of Argo CD's contract.
	Lua string
	// Cases are expressions in CEL.
	Cases []HealthCase
	// Broken says why the rule cannot be read; its kinds have a rule all the same, one that does not work.
	Broken string
}

// HealthCase is one case of a rule in CEL.
type HealthCase struct {
	// When tells whether the case applies; it applies always if there is none.
	When string `json:"when,omitempty"`
	// Status is the verdict then.
	Status string `json:"status"`
	// Message explains it, word by word; MessageExpression computes the explanation.
	Message           string `json:"message,omitempty"`
	MessageExpression string `json:"messageExpression,omitempty"`
}

// healthRules picks what is said about health.
func healthRules(customizations []customization) []HealthRule {
	var rules []HealthRule
	for _, c := range customizations {
		if h := c.health; h != nil && (h.Broken != "" || len(h.Cases) > 0 || strings.TrimSpace(h.Lua) != "") {
			rules = append(rules, *h)
		}
	}
	return rules
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Name is the ConfigMap in the control namespace that holds the settings.
const Name = "argocd-cm"

const keyRespectRBAC = "resource.respectRBAC"

// Settings are what a ConfigMap says, with defaults filled in. They are not changed once made.
type Settings struct {
	// Health are the health rules that people write, ordered by what they are for.
	Health []HealthRule
	// Filter says which kinds are never watched, compared, pruned nor applied.
	Filter Filter
	// GlobalProjects are the projects whose lists are added to others, in order.
	GlobalProjects []GlobalProject
	// NoGlobalProjects says why GlobalProjects cannot be read as a whole: then no
	// project is sure of its limits.
	NoGlobalProjects string
	// Impersonation says as whom syncs write.
	Impersonation Impersonation
	// Compare are rules for comparisons, beside those of an application.
	Compare diff.Rules
	// Updates say which changes of live objects wake no application.
	Updates Updates
	// RespectRBAC has kinds that may not be read and are not rendered passed over.
	RespectRBAC bool
	// Tracking is how objects are marked with their application.
	Tracking manifest.Tracking
	// Rendering says what sources may do when they are rendered.
	Rendering Rendering
	// Problems are what could not be read, ordered by key.
	Problems []Problem
}

// Problem is something in the ConfigMap that could not be read and is left out.
type Problem struct {
	// Key is where it stands.
	Key string
	// Message says what is wrong, in one line.
	Message string
}

func (p Problem) String() string { return p.Key + ": " + p.Message }

// Parse reads the data of the ConfigMap; nil stands for an installation without one.
func Parse(data map[string]string) *Settings {
	r := &reader{data: data}
	customizations := r.customizations()
	s := &Settings{
		Health:        healthRules(customizations),
		Filter:        r.filter(),
		Impersonation: r.impersonation(),
		RespectRBAC:   r.respectRBAC(),
		Tracking:      r.tracking(),
		Rendering:     r.rendering(),
	}
	s.GlobalProjects, s.NoGlobalProjects = r.globalProjects()
	s.Compare, s.Updates = r.differences(customizations)
	slices.SortFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Message, b.Message))
	})
	s.Problems = r.problems
	return s
}

// Reads tells whether a key of the ConfigMap is read at all: a change of any other is nobody's business.
func Reads(key string) bool {
	switch key {
	case keyCombined, keyExclusions, keyInclusions, keyCompareOptions, keyUpdatesEnabled, keyRespectRBAC, keyMethod, keyLabel, keyInstallation, keyBuildOptions, keyFileSchemes, keyRemoteBases:
		return true
	}
	return slices.Contains(projectKeys(), key) || slices.ContainsFunc(prefixes(), func(p string) bool { return strings.HasPrefix(key, p) })
}

// Relevant is the part of the data that is read.
func Relevant(data map[string]string) map[string]string {
	relevant := map[string]string{}
	for key, value := range data {
		if Reads(key) {
			relevant[key] = value
		}
	}
	return relevant
}

// respectRBAC reads whether rights decide what is watched. To ask for each right before, as "strict" does, would find
// out no more than being refused does.
func (r *reader) respectRBAC() bool {
	switch value := strings.TrimSpace(r.data[keyRespectRBAC]); value {
	case "normal", "strict":
		return true
	case "":
	default:
		r.problem(keyRespectRBAC, fmt.Sprintf("%q is neither normal nor strict", value))
	}
	return false
}

// reader collects the problems of one reading.
type reader struct {
	data     map[string]string
	problems []Problem
}

func (r *reader) problem(key, message string) {
	r.problems = append(r.problems, Problem{Key: key, Message: oneLine(message)})
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

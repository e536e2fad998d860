// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/jq"
)

const (
	keyCompareOptions  = "resource.compareoptions"
	keyUpdatesEnabled  = "resource.ignoreResourceUpdatesEnabled"
	prefixDifferences  = "resource.customizations.ignoreDifferences."
	prefixUpdates      = "resource.customizations.ignoreResourceUpdates."
	prefixKnownTypes   = "resource.customizations.knownTypeFields."
	fieldDifferences   = "ignoreDifferences"
	fieldUpdates       = "ignoreResourceUpdates"
	fieldKnownTypes    = "knownTypeFields"
	allKinds           = "*/*"
	allKindsInSplitKey = "all"
)

// fields are the fields of objects that a customization is about.
type fields struct {
	JSONPointers          []string `json:"jsonPointers"`
	JQPathExpressions     []string `json:"jqPathExpressions"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers"`
}

// rule returns the fields as a rule for the kinds of a target.
func (f fields) rule(target string) v1alpha1.ResourceIgnoreDifferences {
	group, kind := groupKind(target)
	return v1alpha1.ResourceIgnoreDifferences{
		Group: group, Kind: kind,
		JSONPointers: f.JSONPointers, JQPathExpressions: f.JQPathExpressions, ManagedFieldsManagers: f.ManagedFieldsManagers,
	}
}

// groupKind takes a target apart; one without a group is of the core group, except
// that a star alone stands for everything.
func groupKind(target string) (group, kind string) {
	if target == "*" {
		return "*", "*"
	}
	group, kind, ok := strings.Cut(target, "/")
	if !ok {
		return "", target
	}
	return group, kind
}

// readFields reads the fields of a customization. What is misspelt is reported,
// the rest holds. An expression that is none is reported as well and stays in: an
// application that needs it must not go on as if there were no rule.
func (r *reader) readFields(key, text string) *fields {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	f := &fields{}
	if err := yaml.Unmarshal([]byte(text), f); err != nil {
		r.problem(key, err.Error())
		return nil
	}
	if err := yaml.UnmarshalStrict([]byte(text), &fields{}); err != nil {
		r.problem(key, err.Error())
	}
	for _, p := range f.JSONPointers {
		if !strings.HasPrefix(p, "/") {
			r.problem(key, fmt.Sprintf("JSON pointer %q selects nothing: it has to begin with /", p))
		}
	}
	for _, expression := range f.JQPathExpressions {
		if _, err := jq.Delete(expression); err != nil {
			r.problem(key, err.Error())
		}
	}
	return f
}

// readTypes reads known types, written as a list or as the text of one.
func (r *reader) readTypes(key, target, text string) []diff.KnownType {
	var list []struct {
		Field string `json:"field"`
		Type  string `json:"type"`
	}
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		r.problem(key, err.Error())
		return nil
	}
	group, kind := groupKind(target)
	var types []diff.KnownType
	for _, w := range list {
		if problem := diff.CheckKnownType(w.Type); problem != "" {
			r.problem(key, problem)
			continue
		}
		if w.Field == "" {
			r.problem(key, "field is missing: name one, for example spec.template.spec")
			continue
		}
		types = append(types, diff.KnownType{Group: group, Kind: kind, Field: w.Field, Type: w.Type})
	}
	return types
}

// text is a value that is written as text or as the structure that the text would
// be of.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = text(s)
		return nil
	}
	*t = text(data)
	return nil
}

// Updates say which changes of live objects concern nobody.
type Updates struct {
	// Enabled is false where every change is to be looked at.
	Enabled bool
	// Ignore are the fields whose change is none.
	Ignore []v1alpha1.ResourceIgnoreDifferences
}

// differences makes the rules of comparisons and of updates.
func (r *reader) differences(customizations []customization) (diff.Rules, Updates) {
	options := r.compareOptions()
	rules := diff.Rules{Status: options.status()}
	updates := Updates{Enabled: strings.TrimSpace(r.data[keyUpdatesEnabled]) != "false"}
	for _, c := range customizations {
		if c.differences != nil {
			rules.Ignore = append(rules.Ignore, c.differences.rule(c.target))
			if options.DifferencesOnUpdates == nil || *options.DifferencesOnUpdates {
				updates.Ignore = append(updates.Ignore, c.differences.rule(c.target))
			}
		}
		if c.updates != nil {
			updates.Ignore = append(updates.Ignore, c.updates.rule(c.target))
		}
		rules.KnownTypes = append(rules.KnownTypes, c.types...)
	}
	return rules, updates
}

// compareOptions are what resource.compareoptions may say.
type compareOptions struct {
	// AggregatedRoles is accepted: their rules are never compared.
	AggregatedRoles any `json:"ignoreAggregatedRoles"`
	// Status is a word, or what YAML makes of "off".
	Status any `json:"ignoreResourceStatusField"`
	// DifferencesOnUpdates has ignored differences count as ignored updates; yes
	// unless told otherwise.
	DifferencesOnUpdates *bool `json:"ignoreDifferencesOnResourceUpdates"`
}

func (r *reader) compareOptions() compareOptions {
	var o compareOptions
	if err := yaml.Unmarshal([]byte(r.data[keyCompareOptions]), &o); err != nil {
		r.problem(keyCompareOptions, err.Error())
		return compareOptions{}
	}
	if word, ok := o.Status.(string); ok && !slices.Contains([]string{"all", "crd", "none", "off", "false"}, word) {
		r.problem(keyCompareOptions, fmt.Sprintf("ignoreResourceStatusField %q counts as all: use crd, all, none or off", word))
	}
	return o
}

func (o compareOptions) status() diff.StatusField {
	switch o.Status {
	case "crd":
		return diff.IgnoredForDefinitions
	case "none", "off", "false", false:
		return diff.IgnoredForNone
	default:
		return diff.IgnoredForAll
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package findings

import (
	"encoding/json"
	"maps"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// Finding is a finding in the form in which all commands show it.
type Finding struct {
	Code     string        `json:"code"`
	Severity diag.Severity `json:"severity"`
	App      string        `json:"app,omitempty"`
	// Subject and Needs are "Kind/name".
	Subject   string `json:"subject,omitempty"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// At is the place of the subject, AvailableAt that of what it needs:
	// "PreSync/-1".
	At          string `json:"at,omitempty"`
	Needs       string `json:"needs,omitempty"`
	AvailableAt string `json:"availableAt,omitempty"`
	Field       string `json:"field,omitempty"`
	Message     string `json:"message"`
	Hint        string `json:"hint,omitempty"`
	File        string `json:"file,omitempty"`
	Line        int    `json:"line,omitempty"`
	// Details are further values of the evidence; in JSON they stand beside the
	// others.
	Details map[string]string `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	data, err := json.Marshal(plain(f))
	if err != nil || len(f.Details) == 0 {
		return data, err
	}
	all := map[string]any{}
	for key, value := range f.Details {
		if value != "" {
			all[key] = value
		}
	}
	own := map[string]any{}
	if err := json.Unmarshal(data, &own); err != nil {
		return nil, err
	}
	maps.Copy(all, own)
	return json.Marshal(all)
}

// Of gives findings about an application the form in which they are shown.
func Of(app string, found []verify.Finding) []Finding {
	list := make([]Finding, len(found))
	for i, f := range found {
		list[i] = Finding{
			Code: f.Code, Severity: f.Severity, App: app, Group: f.Subject.Group, Namespace: f.Subject.Namespace,
			At: f.Place, AvailableAt: f.AvailableAt, Field: f.Field, Message: f.Message, Hint: f.Hint,
			File: f.At.File, Line: f.At.Line, Details: f.Details,
		}
		if f.Subject.Kind != "" {
			list[i].Subject = f.Subject.Short()
		}
		if f.Needs.Kind != "" {
			list[i].Needs = f.Needs.Short()
		}
	}
	return list
}

// Count returns how many findings have a severity.
func Count(list []Finding, severity diag.Severity) int {
	n := 0
	for _, f := range list {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

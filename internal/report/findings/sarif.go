// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package findings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// SARIF writes findings in the Static Analysis Results Interchange Format, version
// 2.1.0 of OASIS. Codes that are not of this program become rules too.
func SARIF(list []Finding, version string) ([]byte, error) {
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID                   string            `json:"id"`
		ShortDescription     text              `json:"shortDescription"`
		HelpURI              string            `json:"helpUri,omitempty"`
		DefaultConfiguration map[string]string `json:"defaultConfiguration"`
	}
	type place struct {
		PhysicalLocation map[string]any `json:"physicalLocation,omitempty"`
		LogicalLocations []any          `json:"logicalLocations,omitempty"`
	}
	type result struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             text              `json:"message"`
		Locations           []place           `json:"locations,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	rules := []rule{}
	index := map[string]int{}
	add := func(code, summary, help string, severity diag.Severity) {
		if _, ok := index[code]; !ok {
			index[code] = len(rules)
			rules = append(rules, rule{code, text{summary}, help, map[string]string{"level": level(severity)}})
		}
	}
	for _, c := range verify.Codes() {
		add(c.Name, c.Summary, project+"/blob/main/docs/checks/"+c.Name+".md", c.Severity)
	}
	results := make([]result, len(list))
	for i, f := range list {
		add(f.Code, f.Code, "", f.Severity)
		message := f.Message
		if f.Hint != "" {
			message += ". " + f.Hint
		}
		here := place{}
		if f.File != "" {
			here.PhysicalLocation = map[string]any{
				"artifactLocation": map[string]string{"uri": location(f.File), "uriBaseId": "%SRCROOT%"},
				"region":           map[string]int{"startLine": max(f.Line, 1)},
			}
		}
		if f.Subject != "" {
			here.LogicalLocations = []any{map[string]string{"name": f.Subject, "fullyQualifiedName": f.App + "/" + f.Namespace + "/" + f.Subject, "kind": "resource"}}
		}
		results[i] = result{
			RuleID: f.Code, RuleIndex: index[f.Code], Level: level(f.Severity), Message: text{message},
			PartialFingerprints: map[string]string{"finding/v1": fingerprint(f)},
		}
		if here.PhysicalLocation != nil || here.LogicalLocations != nil {
			results[i].Locations = []place{here}
		}
	}
	return json.MarshalIndent(map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []any{map[string]any{
			"tool": map[string]any{"driver": map[string]any{
				"name": "wavetrain", "version": version, "informationUri": project, "rules": rules,
			}},
			"results": results,
		}},
	}, "", "  ")
}

const project = "https://github.com/wavetrain/wavetrain"

// location writes a path of the repository as a reference relative to its root.
func location(file string) string { return (&url.URL{Path: file}).String() }

func level(s diag.Severity) string {
	if s == diag.Info {
		return "note"
	}
	return string(s)
}

// fingerprint tells one finding from another when lines have moved.
func fingerprint(f Finding) string {
	sum := sha256.Sum256([]byte(f.Code + "\x00" + f.App + "\x00" + f.Namespace + "\x00" + f.Subject + "\x00" + f.Needs + "\x00" + f.Field))
	return hex.EncodeToString(sum[:16])
}

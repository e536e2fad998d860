// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package findings_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// awkward are findings with what formats have trouble with.
func awkward() []findings.Finding {
	return []findings.Finding{
		{
			Code: "missing-dependency", Severity: diag.Error, App: "shop", Subject: "Job/load", Namespace: "demo", At: "PreSync/-1", Needs: "ConfigMap/shop",
			AvailableAt: "Sync/0", Field: "spec.template", Message: "a | b <c> & \"d\"\nand more", Hint: "change it", File: "a dir/b:c#d%.yaml", Line: 7,
		},
		{Code: "layout", Severity: diag.Error, Message: "a file", File: "x:y.yaml"},
		{Code: "own-rule", Severity: diag.Warning, App: "shop", Subject: "Job/load", Message: "control \x01 and \u2028", File: "a.yaml"},
		{Code: "own-rule", Severity: diag.Info, App: "cart", Message: "no place at all", Details: map[string]string{"live": "7"}},
	}
}

// TestSARIF holds the output against what the schema of SARIF 2.1.0 asks of what we
// write. make differential holds it against the schema itself.
func TestSARIF(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]findings.Finding{"none": nil, "awkward": awkward()} {
		data, err := findings.SARIF(list, "v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		var log sarifLog
		in := json.NewDecoder(strings.NewReader(string(data)))
		in.DisallowUnknownFields()
		if err := in.Decode(&log); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Results == nil || log.Runs[0].Tool.Driver.Name == "" {
			t.Fatalf("%s: version %q, %d runs, results %v", name, log.Version, len(log.Runs), log.Runs[0].Results)
		}
		rules := log.Runs[0].Tool.Driver.Rules
		seen := map[string]bool{}
		for _, r := range rules {
			if seen[r.ID] || r.ID == "" || r.ShortDescription.Text == "" || !level(r.DefaultConfiguration.Level) {
				t.Errorf("%s: rule %+v is there twice or incomplete", name, r)
			}
			seen[r.ID] = true
		}
		for i, r := range log.Runs[0].Results {
			if r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID || r.RuleID != list[i].Code {
				t.Errorf("%s: result %d points to another rule than %s", name, i, r.RuleID)
			}
			if r.Message.Text == "" || !level(r.Level) {
				t.Errorf("%s: result %d has message %q and level %q", name, i, r.Message.Text, r.Level)
			}
			for _, l := range r.Locations {
				l.check(t, list[i])
			}
		}
	}
}

func level(s string) bool { return slices.Contains([]string{"none", "note", "warning", "error"}, s) }

func (l sarifLocation) check(t *testing.T, f findings.Finding) {
	t.Helper()
	if l.PhysicalLocation == nil {
		return
	}
	at := l.PhysicalLocation
	uri, err := url.Parse(at.ArtifactLocation.URI)
	if err != nil || uri.IsAbs() || strings.TrimPrefix(uri.Path, "./") != f.File {
		t.Errorf("the reference %q does not lead to %q: %v", at.ArtifactLocation.URI, f.File, err)
	}
	if at.Region.StartLine < 1 {
		t.Errorf("lines begin with 1, not %d", at.Region.StartLine)
	}
}

type sarifText struct{ Text string }

type sarifLocation struct {
	PhysicalLocation *struct {
		ArtifactLocation struct{ URI, URIBaseID string }
		Region           struct{ StartLine int }
	}
	LogicalLocations []struct{ Name, FullyQualifiedName, Kind string }
}

// sarifLog are the parts of the format that are written.
type sarifLog struct {
	Schema  string `json:"$schema"`
	Version string
	Runs    []struct {
		Tool struct {
			Driver struct {
				Name, Version, InformationURI string
				Rules                         []struct {
					ID                   string
					ShortDescription     sarifText
					HelpURI              string
					DefaultConfiguration struct{ Level string }
				}
			}
		}
		Results []struct {
			RuleID              string
			RuleIndex           int
			Level               string
			Message             sarifText
			Locations           []sarifLocation
			PartialFingerprints map[string]string
		}
	}
}

// TestJUnit reads the report back and counts.
func TestJUnit(t *testing.T) {
	t.Parallel()
	data, err := findings.JUnit([]string{"shop", "cart", "sound"}, awkward())
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Class   string `xml:"classname,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	tests, failures := 0, 0
	for _, s := range report.Suites {
		n := 0
		for _, c := range s.Cases {
			if c.Name == "" || c.Class == "" {
				t.Errorf("%s: a case without a name", s.Name)
			}
			if c.Failure != nil {
				n++
			}
		}
		if s.Tests != len(s.Cases) || s.Failures != n {
			t.Errorf("suite %s counts %d tests and %d failures, has %d and %d", s.Name, s.Tests, s.Failures, len(s.Cases), n)
		}
		tests, failures = tests+s.Tests, failures+s.Failures
	}
	// What belongs to no application is a failure all the same.
	if report.Tests != tests || report.Failures != failures || failures != 2 {
		t.Errorf("counts %d tests and %d failures, the suites have %d and %d, and two findings are errors", report.Tests, report.Failures, tests, failures)
	}
	if regexp.MustCompile(`[\x00-\x08]`).Match(data) {
		t.Error("a character that XML does not have")
	}
}

// TestNoFormatShowsACredential writes findings about credentials in every format.
func TestNoFormatShowsACredential(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"zK8fQ2mW7vT1xB4nR6yL", "AKIAIOSFODNN7EXAMPL3", "ghp_" + strings.Repeat("a1B2", 9), "hvs." + strings.Repeat("Qw3", 10),
		"s3cr3t!horse", "c29tZXJlZ2lzdHJ5OnBhc3N3MHJk", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
	}
	text := fmt.Sprintf(`
db: {password: %s, url: "postgres://shop:%s@db.example.com/shop"}
aws: {accessKey: %s}
github: {token: %s}
vault: {token: %s}
login: |
  {"auths": {"registry.example.com": {"auth": "%s"}}}
key: |
  -----BEGIN PRIVATE KEY-----
  %s
  -----END PRIVATE KEY-----
`, secrets[0], secrets[4], secrets[1], secrets[2], secrets[3], secrets[5], secrets[6])
	found := verify.Plaintext("values.yaml", []byte(text))
	if len(found) < len(secrets) {
		t.Fatalf("found %d credentials, want %d", len(found), len(secrets))
	}
	list := findings.Of("shop", found)
	sarif, errSARIF := findings.SARIF(list, "v1")
	junit, errJUnit := findings.JUnit([]string{"shop"}, list)
	asJSON, errJSON := json.Marshal(list)
	for _, err := range []error{errSARIF, errJUnit, errJSON} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, out := range map[string]string{
		"table": findings.Text(list), "markdown": findings.Markdown(list, findings.Summary(list)), "sarif": string(sarif), "junit": string(junit), "json": string(asJSON),
	} {
		if out == "" {
			t.Fatalf("%s is empty", name)
		}
		for _, secret := range secrets {
			for n := 8; n <= len(secret); n++ {
				if strings.Contains(out, secret[:n]) {
					t.Errorf("%s shows the beginning of a credential: %q", name, secret[:n])
					break
				}
			}
		}
	}
}

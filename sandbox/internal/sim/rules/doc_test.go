// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentation holds the reference to the language: its examples parse, and no key is left out.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile("../../../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	examples := strings.Split(text, "```yaml\n")[1:]
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		if !strings.HasPrefix(example, "rules:") {
			example = "rules:\n" + example
		}
		if list, err := Parse("docs/sandbox.md", []byte(example)); err != nil || len(list) == 0 {
			t.Errorf("an example yields %d rules: %v\n%s", len(list), err, example)
		}
	}
	if len(examples) == 0 {
		t.Error("no example was found")
	}
	known := map[string]field{}
	var r Rule
	decoder{}.podKeys(&r, known)
	decoder{}.objectKeys(&r, known)
	for key := range known {
		if !strings.Contains(text, "`"+key+"`") && !strings.Contains(text, "`"+key+":") {
			t.Errorf("key %s is not explained", key)
		}
	}
}

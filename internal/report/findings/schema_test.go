// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build differential

package findings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// TestSARIFBySchema validates the output against the schema of OASIS. A module that
// the linter is made of carries it among its test data.
func TestSARIFBySchema(t *testing.T) {
	out, err := exec.Command("go", "mod", "download", "-json", "-modfile=../../../tools/go.mod", "github.com/securego/gosec/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "report", "sarif", "testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]findings.Finding{"none": nil, "awkward": awkward()} {
		data, err := findings.SARIF(list, "v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The schema has to refuse something, or it proves nothing.
		value.(map[string]any)["runs"].([]any)[0].(map[string]any)["results"] = []any{map[string]any{"level": "bad"}}
		if compiled.Validate(value) == nil {
			t.Errorf("%s: the schema takes a result without a message", name)
		}
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/wavetrain/wavetrain/internal/render"
)

func TestExplainNamesTheFileThatWins(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/helm-layers.txtar")
	if err != nil {
		t.Fatal(err)
	}
	source, target := readArchive(t, archive)
	got, err := render.ExplainValues(t.Context(), source, target)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, k := range got.Keys {
		keys[k.Key] = fmt.Sprint(k.Value, " ", k.From, " ", k.Over)
		if k.Removed {
			keys[k.Key] = fmt.Sprint("removed ", k.From, " ", k.Over)
		}
	}
	want := map[string]string{
		"a":         "chart chart/values.yaml []",
		"b":         "common-10 $more/v/common/10.yaml [chart/values.yaml]",
		"c":         "common-9 $more/v/common/9.yaml [$more/v/common/10.yaml chart/values.yaml]",
		"d":         "prod $more/v/env/prod.yaml [chart/values.yaml]",
		"e":         "extra-b $more/v/extra/b/z.yaml [$more/v/extra/a/m.yaml $more/v/extra/top.yaml $more/v/env/prod.yaml chart/values.yaml]",
		"f":         "inline helm.valuesObject [chart/values.yaml]",
		"g":         "007 helm.parameters [helm.valuesObject chart/values.yaml]",
		"h":         "7 helm.parameters [chart/values.yaml]",
		"list":      "[two] $more/v/env/prod.yaml [chart/values.yaml]",
		"map.left":  "1 chart/values.yaml []",
		"map.right": "2 $more/v/env/prod.yaml []",
		"gone":      "removed $more/v/env/prod.yaml [chart/values.yaml]",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"$more/v/env/gone.yaml", "$more/v/none-*.yaml"}, got.Dropped); diff != "" {
		t.Error(diff)
	}
	if len(got.Files) != 6 {
		t.Errorf("files %v", got.Files)
	}
}

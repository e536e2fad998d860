// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"os"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Every switch is in the document, and every difference has its switch or
// says why there is none.
func TestSwitchesAreDocumented(t *testing.T) {
	data, err := os.ReadFile(compatibility)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, s := range manifest.Switches() {
		if !strings.Contains(text, "`"+s.Name+"=") {
			t.Errorf("%s is not described", s.Name)
		}
	}
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) == 6 && strings.HasPrefix(strings.TrimSpace(cells[1]), "D") && strings.TrimSpace(cells[4]) == "–" {
			t.Errorf("%s has no switch and no reason why", strings.TrimSpace(cells[1]))
		}
	}
}

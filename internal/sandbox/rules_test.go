// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/sandbox"
)

func TestSetRulesRefusesWhatIsNoRule(t *testing.T) {
	s := startOwn(t, sandbox.Options{})
	if err := s.SetRules(t.Context(), []byte("rules:\n- match: {kind: Job}\n  succeedAfter: 2s\n")); err != nil {
		t.Errorf("set good rules: %v", err)
	}
	err := s.SetRules(t.Context(), []byte("rules:\n- match: {kind: Job}\n  suceedAfter: 2s\n"))
	if err == nil || !strings.Contains(err.Error(), "suceedAfter") {
		t.Errorf("got %v, want an error that names the unknown key", err)
	}
}

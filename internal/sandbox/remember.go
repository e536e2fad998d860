// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// optionsFile is where a named control plane keeps how it was started.
const optionsFile = "options.json"

// remembered are the options of the last start of a named control plane: a cluster that had five nodes has five nodes
// when it continues.
type remembered struct {
	Nodes          int      `json:"nodes,omitempty"`
	RulesFile      string   `json:"rulesFile,omitempty"`
	RulesConfigMap string   `json:"rulesConfigMap,omitempty"`
	RuleSets       []string `json:"ruleSets,omitempty"`
	WithoutCRDs    bool     `json:"withoutCRDs,omitempty"`
	AuditLog       string   `json:"auditLog,omitempty"`
}

// recall fills in what is not given from the last start in the directory. The port is remembered by the binary.
func (o Options) recall(dir string) (Options, error) {
	file := filepath.Join(dir, optionsFile)
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, fmt.Errorf("recall options: %w", err)
	}
	var last remembered
	if err := json.Unmarshal(content, &last); err != nil {
		return o, fmt.Errorf("recall options: read %s: %w", file, err)
	}
	o.Nodes = cmp.Or(o.Nodes, last.Nodes)
	o.RulesFile = cmp.Or(o.RulesFile, last.RulesFile)
	o.RulesConfigMap = cmp.Or(o.RulesConfigMap, last.RulesConfigMap)
	o.AuditLog = cmp.Or(o.AuditLog, last.AuditLog)
	if len(o.RuleSets) == 0 {
		o.RuleSets, o.WithoutCRDs = last.RuleSets, o.WithoutCRDs || last.WithoutCRDs
	}
	return o, nil
}

// remember keeps the options for the next start in the directory.
func (o Options) remember(dir string) error {
	content, err := json.MarshalIndent(remembered{
		Nodes:          o.Nodes,
		RulesFile:      o.RulesFile,
		RulesConfigMap: o.RulesConfigMap,
		RuleSets:       o.RuleSets,
		WithoutCRDs:    o.WithoutCRDs,
		AuditLog:       o.AuditLog,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("remember options: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, optionsFile), append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("remember options: %w", err)
	}
	return nil
}

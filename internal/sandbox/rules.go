// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// noRules is a file of rules that leaves everything to the defaults.
const noRules = "rules: []\n"

// reply is the line with which the sandbox answers a request.
type reply struct {
	Reply string `json:"reply"`
	Error string `json:"error"`
	Value string `json:"value"`
}

// SetRules replaces the rules that direct the simulation and returns when they are in force. Rules the sandbox does not
// understand are an error, and the former ones stay in force. Empty content means no rules.
func (s *Sandbox) SetRules(ctx context.Context, content []byte) error {
	if len(content) == 0 {
		content = []byte(noRules)
	}
	s.control.Lock()
	defer s.control.Unlock()

	partial := s.info.RulesFile + ".partial"
	if err := os.WriteFile(partial, content, 0o600); err != nil {
		return fmt.Errorf("set rules of sandbox: %w", err)
	}
	if err := os.Rename(partial, s.info.RulesFile); err != nil {
		return fmt.Errorf("set rules of sandbox: %w", err)
	}
	if _, err := s.request(ctx, "reload"); err != nil {
		return fmt.Errorf("set rules of sandbox: %w", err)
	}
	return nil
}

// request sends a line and waits for the answer to it; answers to requests that were given up are skipped.
func (s *Sandbox) request(ctx context.Context, word string) (value string, err error) {
	s.requests++
	id := strconv.Itoa(s.requests)
	if _, err := fmt.Fprintf(s.stdin, "%s %s\n", word, id); err != nil {
		return "", err
	}
	for {
		select {
		case line := <-s.lines:
			var r reply
			if err := json.Unmarshal(line, &r); err != nil {
				return "", fmt.Errorf("read answer: %w", err)
			}
			if r.Reply != id {
				continue
			}
			if r.Error != "" {
				return "", errors.New(r.Error)
			}
			return r.Value, nil
		case <-s.done:
			return "", errors.New("it has stopped")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
)

// externalDiff has another program show differences, called like that of kubectl:
// its words, then the directory of what is there and the directory of what is
// wanted, with a file per object. No shell is involved. A program like diff exits
// with 1 when it has found what it was called for.
func externalDiff(ctx context.Context, s Streams, tool string, list []difference) error {
	words := strings.Fields(tool)
	if len(words) == 0 {
		return usageError("KUBECTL_EXTERNAL_DIFF names no program")
	}
	dir, err := os.MkdirTemp("", "wavetrain-diff-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	live, wanted := filepath.Join(dir, "LIVE"), filepath.Join(dir, "DESIRED")
	for _, d := range []string{live, wanted} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	for _, d := range list {
		old, now, err := diff.Texts(d.live, d.predicted)
		if err != nil {
			return err
		}
		name := fileName(d)
		for file, text := range map[string][]byte{filepath.Join(live, name): old, filepath.Join(wanted, name): now} {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				return err
			}
		}
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], live, wanted)...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Environ, s.In, s.Out, s.Err
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return nil
	case err != nil:
		return fmt.Errorf("run %s, which KUBECTL_EXTERNAL_DIFF names: %w", words[0], err)
	}
	return nil
}

// fileName names the file of an object: "apps.v1.Deployment.ns.name", as kubectl
// does.
func fileName(d difference) string {
	version := d.Key.Group
	for _, u := range []*unstructured.Unstructured{d.live, d.predicted} {
		if u != nil {
			version = u.GetAPIVersion()
		}
	}
	parts := []string{strings.ReplaceAll(version, "/", "."), d.Key.Kind}
	if d.Key.Namespace != "" {
		parts = append(parts, d.Key.Namespace)
	}
	// A role may have a colon or a slash in its name; a file may not have the latter.
	return strings.ReplaceAll(strings.Join(append(parts, d.Key.Name), "."), string(filepath.Separator), "-")
}

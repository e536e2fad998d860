// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"context"
	"slices"
	"strings"
)

// WorkTree is the work tree that a directory lies in.
type WorkTree struct {
	// Top is the root of the work tree.
	Top string
	// Remotes are the URLs of its remotes, sorted.
	Remotes []string
}

// FindWorkTree looks at the work tree that dir lies in. The error says what to do
// when there is none.
func FindWorkTree(ctx context.Context, dir string, env []string) (WorkTree, error) {
	m, err := newMirror(ctx, dir, "", env)
	if err != nil {
		return WorkTree{}, err
	}
	top, err := m.inDir(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return WorkTree{}, err
	}
	// The exit code is 1 when no remote is configured.
	listed, err := m.inDir(ctx, "config", "--local", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return WorkTree{Top: top}, nil //nolint:nilerr // no remotes are no error
	}
	var urls []string
	for line := range strings.SplitSeq(listed, "\n") {
		if _, url, ok := strings.Cut(line, " "); ok {
			urls = append(urls, url)
		}
	}
	slices.Sort(urls)
	return WorkTree{Top: top, Remotes: slices.Compact(urls)}, nil
}

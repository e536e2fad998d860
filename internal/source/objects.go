// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// objects reads git objects by id through one `git cat-file --batch` process.
type objects struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	cancel context.CancelFunc
	trees  map[string][]entry
}

// entry is one line of a git tree.
type entry struct {
	mode, name, id string
}

// Modes of tree entries.
const (
	modeTree       = "40000"
	modeSymlink    = "120000"
	modeSubmodule  = "160000"
	modeExecutable = "100755"
)

func openObjects(g git, dir string) (*objects, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := g.command(ctx, dir, "cat-file", "--batch")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return &objects{cmd: cmd, stdin: stdin, stdout: bufio.NewReaderSize(stdout, 64<<10), cancel: cancel, trees: map[string][]entry{}}, nil
}

// close ends the process.
func (o *objects) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.cancel()
	if err := o.stdin.Close(); err != nil {
		return err
	}
	return o.cmd.Wait()
}

// read returns type and content of the object that expr names.
func (o *objects) read(expr string) (kind string, data []byte, err error) {
	if strings.ContainsAny(expr, "\n\x00") {
		return "", nil, fmt.Errorf("%q is no object name", expr)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := io.WriteString(o.stdin, expr+"\n"); err != nil {
		return "", nil, fmt.Errorf("ask git for %s: %w", expr, err)
	}
	header, err := o.stdout.ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("read %s from git: %w", expr, err)
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return "", nil, fmt.Errorf("git has no object %s: %s", expr, strings.TrimSpace(header))
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil {
		return "", nil, fmt.Errorf("read %s from git: size %q", expr, fields[2])
	}
	data = make([]byte, size+1)
	if _, err := io.ReadFull(o.stdout, data); err != nil {
		return "", nil, fmt.Errorf("read %s from git: %w", expr, err)
	}
	return fields[1], data[:size], nil
}

// tree returns the entries of a tree object.
func (o *objects) tree(id string) ([]entry, error) {
	o.mu.Lock()
	cached, ok := o.trees[id]
	o.mu.Unlock()
	if ok {
		return cached, nil
	}
	kind, data, err := o.read(id)
	if err != nil {
		return nil, err
	}
	if kind != "tree" {
		return nil, fmt.Errorf("git object %s is a %s, not a tree", id, kind)
	}
	entries, err := parseTree(data)
	if err != nil {
		return nil, fmt.Errorf("git object %s: %w", id, err)
	}
	o.mu.Lock()
	o.trees[id] = entries
	o.mu.Unlock()
	return entries, nil
}

// parseTree reads git's binary tree format: "mode name\0" and 20 bytes of
// object id, repeated.
func parseTree(data []byte) ([]entry, error) {
	var entries []entry
	for len(data) > 0 {
		space := bytes.IndexByte(data, ' ')
		null := bytes.IndexByte(data, 0)
		if space < 0 || null < space || len(data) < null+21 {
			return nil, fmt.Errorf("malformed tree")
		}
		entries = append(entries, entry{
			mode: string(data[:space]),
			name: string(data[space+1 : null]),
			id:   hex.EncodeToString(data[null+1 : null+21]),
		})
		data = data[null+21:]
	}
	return entries, nil
}

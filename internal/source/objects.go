// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// idleReader is how long a git process that nobody asks anything is kept.
const idleReader = 30 * time.Second

// errMissingObject is wrapped by the error of an object that is not in the mirror.
var errMissingObject = errors.New("no such object")

// errDamaged is wrapped by the error of an object that refers to one that is not
// there.
var errDamaged = errors.New("the copy is damaged")

// errNoProcess is wrapped by the error of git not being started.
var errNoProcess = errors.New("git cannot be started")

// objects reads the objects of one mirror by id, through one
// `git cat-file --batch` process for all who read. The process is started when it
// is needed, again when it has died, and ended when nobody asks any more.
type objects struct {
	git git
	dir string

	mu sync.Mutex
	// proc gives out objects, checks only their sizes.
	proc, checks *batch
	timer        *time.Timer

	treesMu sync.Mutex
	// trees and older are two generations of parsed trees; entries counts those of
	// the younger one.
	trees, older map[string]*listing
	entries      int
	roots        map[string]string
	sizes        map[string]int64

	blobs *blobs
}

// batch is a running process.
type batch struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	cancel context.CancelFunc
}

// entry is one line of a git tree.
type entry struct {
	mode, name, id string
}

// listing is a directory.
type listing struct {
	entries []entry
	byName  map[string]int
}

func newListing(entries []entry) *listing {
	l := &listing{entries: entries, byName: make(map[string]int, len(entries))}
	for i, e := range entries {
		l.byName[e.name] = i
	}
	return l
}

func (l *listing) find(name string) (entry, bool) {
	i, ok := l.byName[name]
	if !ok {
		return entry{}, false
	}
	return l.entries[i], true
}

// Modes of tree entries.
const (
	modeTree       = "40000"
	modeSymlink    = "120000"
	modeSubmodule  = "160000"
	modeExecutable = "100755"
)

// maxEntries bounds a generation of parsed trees.
const maxEntries = 100_000

func newObjects(g git, dir string) *objects {
	return &objects{git: g, dir: dir, trees: map[string]*listing{}, roots: map[string]string{}, sizes: map[string]int64{}, blobs: newBlobs()}
}

func (o *objects) start(mode string) (*batch, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := o.git.command(ctx, nil, o.dir, "cat-file", mode)
	stdin, errIn := cmd.StdinPipe()
	stdout, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		cancel()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return &batch{cmd: cmd, stdin: stdin, stdout: bufio.NewReaderSize(stdout, 64<<10), cancel: cancel}, nil
}

// close ends the process; the next read starts another.
func (o *objects) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	o.blobs.forget()
	o.end()
}

// forget is close for a mirror whose content has been replaced.
func (o *objects) forget() {
	o.close()
	o.treesMu.Lock()
	defer o.treesMu.Unlock()
	o.trees, o.older, o.entries, o.roots = map[string]*listing{}, nil, 0, map[string]string{}
}

func (o *objects) end() {
	for _, proc := range []**batch{&o.proc, &o.checks} {
		if *proc != nil {
			(*proc).end()
			*proc = nil
		}
	}
}

func (b *batch) end() {
	// How a process ends that has nothing to do any more is of no interest.
	_ = b.stdin.Close()
	b.cancel()
	_ = b.cmd.Wait()
}

// read returns type and content of the object that expr names.
func (o *objects) read(expr string) (kind string, data []byte, err error) {
	if strings.ContainsAny(expr, "\n\x00") {
		return "", nil, fmt.Errorf("%q is no object name", expr)
	}
	if data, ok := o.blobs.get(expr); ok {
		return "blob", data, nil
	}
	err = o.with(&o.proc, "--batch", func(b *batch) (err error) {
		kind, data, err = b.ask(expr)
		return err
	})
	if err == nil && kind == "blob" {
		o.blobs.put(expr, data)
	}
	return kind, data, err
}

// size returns how large the object with the id is.
func (o *objects) size(id string) (int64, error) {
	o.treesMu.Lock()
	known, ok := o.sizes[id]
	o.treesMu.Unlock()
	if ok {
		return known, nil
	}
	var size int
	err := o.with(&o.checks, "--batch-check", func(b *batch) (err error) {
		_, size, err = b.head(id)
		return err
	})
	if err != nil {
		return 0, err
	}
	o.sized(id, int64(size))
	return int64(size), nil
}

func (o *objects) sized(id string, size int64) {
	o.treesMu.Lock()
	defer o.treesMu.Unlock()
	if len(o.sizes) > maxEntries {
		clear(o.sizes)
	}
	o.sizes[id] = size
}

// with talks to a process, which is started first where there is none, or where
// the one that there is has died.
func (o *objects) with(proc **batch, mode string, talk func(*batch) error) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep()
	for attempt := range 2 {
		fresh := *proc == nil
		if fresh {
			if *proc, err = o.start(mode); err != nil {
				return fmt.Errorf("%w: %w", errNoProcess, err)
			}
		}
		err = talk(*proc)
		if err == nil || errors.Is(err, errMissingObject) {
			return err
		}
		o.end()
		if fresh || attempt > 0 {
			break
		}
	}
	return err
}

// keep puts off the end of the process.
func (o *objects) keep() {
	if o.timer != nil {
		o.timer.Reset(idleReader)
		return
	}
	o.timer = time.AfterFunc(idleReader, o.close)
}

func (b *batch) ask(expr string) (kind string, data []byte, err error) {
	if err := b.say(expr); err != nil {
		return "", nil, err
	}
	return b.answer(expr)
}

func (b *batch) say(text string) error {
	if _, err := io.WriteString(b.stdin, text+"\n"); err != nil {
		return fmt.Errorf("ask git for %s: %w", text, err)
	}
	return nil
}

// answer reads an object that was asked for.
func (b *batch) answer(expr string) (kind string, data []byte, err error) {
	kind, size, err := b.described(expr)
	if err != nil {
		return "", nil, err
	}
	data = make([]byte, size+1)
	if _, err := io.ReadFull(b.stdout, data); err != nil {
		return "", nil, fmt.Errorf("read %s from git: %w", expr, err)
	}
	return kind, data[:size], nil
}

// head asks for an object and reads the line that describes it.
func (b *batch) head(expr string) (kind string, size int, err error) {
	if err := b.say(expr); err != nil {
		return "", 0, err
	}
	return b.described(expr)
}

// described reads the line that describes an object that was asked for.
func (b *batch) described(expr string) (kind string, size int, err error) {
	header, err := b.stdout.ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("read %s from git: %w", expr, err)
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return "", 0, fmt.Errorf("git has no object %s: %w", expr, errMissingObject)
	}
	size, err = strconv.Atoi(fields[2])
	if err != nil || size < 0 {
		return "", 0, fmt.Errorf("read %s from git: size %q", expr, fields[2])
	}
	return fields[1], size, nil
}

// root returns the id of a commit's tree.
func (o *objects) root(commit string) (string, error) {
	o.treesMu.Lock()
	known, ok := o.roots[commit]
	o.treesMu.Unlock()
	if ok {
		return known, nil
	}
	kind, data, err := o.read(commit)
	if err != nil {
		return "", err
	}
	first, ok := bytes.CutPrefix(data, []byte("tree "))
	if kind != "commit" || !ok || len(first) < 40 {
		return "", fmt.Errorf("%s is a %s, not a commit", short(commit), kind)
	}
	tree := string(first[:40])
	if _, err := o.tree(tree); err != nil {
		return "", fmt.Errorf("%w: %w", errDamaged, err)
	}
	o.treesMu.Lock()
	defer o.treesMu.Unlock()
	if len(o.roots) > 10_000 {
		clear(o.roots)
	}
	o.roots[commit] = tree
	return tree, nil
}

// tree returns the entries of a tree object.
func (o *objects) tree(id string) (*listing, error) {
	if known, ok := o.parsed(id); ok {
		return known, nil
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
	l := newListing(entries)
	o.treesMu.Lock()
	defer o.treesMu.Unlock()
	o.add(id, l)
	return l, nil
}

func (o *objects) parsed(id string) (*listing, bool) {
	o.treesMu.Lock()
	defer o.treesMu.Unlock()
	if known, ok := o.trees[id]; ok {
		return known, true
	}
	known, ok := o.older[id]
	if ok {
		o.add(id, known)
	}
	return known, ok
}

func (o *objects) add(id string, l *listing) {
	if o.entries > maxEntries {
		o.older, o.trees, o.entries = o.trees, map[string]*listing{}, 0
	}
	o.trees[id] = l
	o.entries += len(l.entries) + 1
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

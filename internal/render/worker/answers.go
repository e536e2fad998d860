// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/wavetrain/wavetrain/internal/render"
)

// answers is the parent's side: what it says to questions about trees.
type answers struct {
	trees map[string]fs.FS
}

// Bounds of the content that comes with a directory, so that a directory with
// thousands of files does not bring those that nobody reads.
const (
	maxAlong     = 2 << 20
	maxFileAlong = 128 << 10
	maxAlongs    = 512
)

func (a answers) to(q question) *answer {
	tree, ok := a.trees[q.Tree]
	if !ok {
		return &answer{Missing: true}
	}
	switch q.Kind {
	case askDirectory:
		return directory(tree, q.Path)
	case askEntry:
		e, err := single(tree, q.Path)
		if err != nil {
			return refusal(err)
		}
		return &answer{Entry: e}
	case askContent:
		data, err := fs.ReadFile(tree, q.Path)
		if err != nil {
			return refusal(err)
		}
		return &answer{Content: data}
	default:
		return &answer{Fault: "a question of kind " + q.Kind + " is not understood"}
	}
}

// treeOf names the tree that was fetched for a key.
func treeOf(key string) string { return "\x00" + key }

func refusal(err error) *answer {
	if errors.Is(err, fs.ErrNotExist) {
		return &answer{Missing: true}
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return &answer{Fault: strings.TrimSpace(err.Error())}
}

func idOf(tree fs.FS, name string) string {
	if ids, ok := tree.(interface{ ObjectID(name string) string }); ok {
		return ids.ObjectID(name)
	}
	return ""
}

func single(tree fs.FS, name string) (entry, error) {
	info, err := fs.Stat(tree, name)
	if err != nil {
		return entry{}, err
	}
	e := entry{Name: info.Name(), Mode: uint32(info.Mode()), ID: idOf(tree, name), Size: info.Size(), HasSize: true}
	if info.Mode().IsRegular() && e.Size <= maxFileAlong {
		if e.Content, err = fs.ReadFile(tree, name); err != nil {
			return entry{}, err
		}
		e.HasContent = true
	}
	return e, nil
}

// directory lists a directory, with the content of the first small files.
func directory(tree fs.FS, name string) *answer {
	if w, ok := tree.(interface{ Warm(name string) }); ok {
		w.Warm(name)
	}
	list, err := fs.ReadDir(tree, name)
	if err != nil {
		return refusal(err)
	}
	a := &answer{
		Entry:   entry{Name: path.Base(name), Mode: uint32(fs.ModeDir | 0o555), ID: idOf(tree, name), HasSize: true},
		Entries: make([]entry, 0, len(list)),
	}
	var along int64
	for i, item := range list {
		full := path.Join(name, item.Name())
		e := entry{Name: item.Name(), Mode: uint32(item.Type()), ID: idOf(tree, full)}
		if item.Type().IsRegular() && i < maxAlongs && along < maxAlong {
			got, err := single(tree, full)
			if err != nil {
				return refusal(err)
			}
			along += int64(len(got.Content))
			e = got
		}
		a.Entries = append(a.Entries, e)
	}
	return a
}

// Bounds of what is sent with a job.
const (
	maxAhead      = 1 << 20
	maxAheadLists = 64
)

// ahead lists the directory of a source and, if a tool reads all of it, those
// below, so that a worker that renders does not stop to ask for each. What it leaves
// out, and what cannot be read, is asked for.
func ahead(src render.Source) []listed {
	var lists []listed
	var total int64
	var visit func(name string, deep bool)
	visit = func(name string, deep bool) {
		a := directory(src.Files, name)
		if a.Missing || a.Fault != "" {
			return
		}
		lists = append(lists, listed{Path: name, Entry: a.Entry, Entries: a.Entries})
		for _, e := range a.Entries {
			total += int64(len(e.Content))
			deep = deep || readsAll(e.Name)
		}
		for _, e := range a.Entries {
			if deep && fs.FileMode(e.Mode).IsDir() && total < maxAhead && len(lists) < maxAheadLists {
				visit(path.Join(name, e.Name), true)
			}
		}
	}
	visit(src.Path, false)
	return lists
}

// readsAll tells whether a file marks a directory that is read as a whole.
func readsAll(name string) bool {
	return name == "Chart.yaml" || slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}

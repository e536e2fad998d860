// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package trace records what a rendering depends on: the files and directories
// that it read and the questions that it asked, each with what it got. As long as
// the same reads give the same ids and the same questions the same answers, the
// rendering gives the same result.
//
// It knows nothing of charts or kustomizations.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Read is a file or directory that was read or looked for.
type Read struct {
	_ struct{} `cbor:",toarray"`
	// Tree is the ref of the source it belongs to, empty for the rendered one.
	Tree string
	Path string
	// ID is the object id found there, empty for nothing.
	ID string
	// Listing stands for the names in a directory that was listed. Then what lies
	// below matters only where it was read itself.
	Listing string
}

// Question is something that a rendering asked besides files.
type Question struct {
	_    struct{} `cbor:",toarray"`
	Kind string
	// Of what: the name of a variable, an API version, a URL, an object.
	Of []string
}

// Kinds of questions.
const (
	// Variable is the value of a build variable.
	Variable = "variable"
	// Release is the name and namespace of a Helm release and the Kubernetes
	// version.
	Release = "release"
	// Serves is whether the cluster serves an API version, APIVersions the list of
	// all it serves.
	Serves      = "serves"
	APIVersions = "api-versions"
	// Lookup is an object, or the objects of a kind, of the cluster.
	Lookup = "lookup"
	// Fetch is the content at a URL.
	Fetch = "fetch"
	// Allowed is whether kustomizations may inflate charts.
	Allowed = "helm-in-kustomize"
	// Cluster is the version of Kubernetes and everything it serves.
	Cluster = "cluster"
)

// Answer is a question with the digest of what it was answered.
type Answer struct {
	_ struct{} `cbor:",toarray"`
	Question
	Digest string
}

// Trace is all that a rendering depends on, in the order of trees and paths.
type Trace struct {
	_       struct{} `cbor:",toarray"`
	Reads   []Read
	Answers []Answer
	// Partial is true when a tree does not know its objects' ids: then the trace
	// says nothing about other trees.
	Partial bool
}

// Identified is a tree that knows the ids of its files and directories.
type Identified interface {
	ObjectID(name string) string
}

// Recorder gathers a trace. It may be used by several goroutines.
type Recorder struct {
	mu      sync.Mutex
	reads   map[[2]string]Read
	answers map[string]Answer
	partial bool
}

// NewRecorder makes a Recorder.
func NewRecorder() *Recorder {
	return &Recorder{reads: map[[2]string]Read{}, answers: map[string]Answer{}}
}

// Answered notes a question and its answer.
func (r *Recorder) Answered(answer any, kind string, of ...string) {
	a := Answer{Question: Question{Kind: kind, Of: of}, Digest: Digest(answer)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[kind+"\x00"+strings.Join(of, "\x00")] = a
}

// Has tells whether a question of the kind was asked.
func (r *Recorder) Has(kind string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.answers {
		if a.Kind == kind {
			return true
		}
	}
	return false
}

// Trace returns what was recorded so far.
func (r *Recorder) Trace() Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := Trace{Partial: r.partial}
	for _, read := range r.reads {
		t.Reads = append(t.Reads, read)
	}
	slices.SortFunc(t.Reads, func(a, b Read) int {
		if c := strings.Compare(a.Tree, b.Tree); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	for _, answer := range r.answers {
		t.Answers = append(t.Answers, answer)
	}
	slices.SortFunc(t.Answers, func(a, b Answer) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return slices.Compare(a.Of, b.Of)
	})
	return t
}

// Digest is short for a value of any type that JSON can write.
func Digest(v any) string {
	text, isText := v.(string)
	if !isText {
		data, err := json.Marshal(v)
		if err != nil {
			return "unreadable: " + err.Error()
		}
		text = string(data)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Listing stands for the names and types in a directory.
func Listing(entries []fs.DirEntry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name())
		b.WriteByte(0)
		b.WriteString(e.Type().String())
		b.WriteByte('\n')
	}
	return Digest(b.String())
}

// Holds tells whether the reads would find in the trees what they have found.
func (t Trace) Holds(trees func(ref string) fs.FS) bool {
	if t.Partial {
		return false
	}
	for _, read := range t.Reads {
		tree := trees(read.Tree)
		ids, ok := tree.(Identified)
		if !ok {
			return false
		}
		if id := ids.ObjectID(read.Path); id == read.ID {
			continue
		} else if id == "" || read.Listing == "" {
			return false
		}
		if !read.holds(tree) {
			return false
		}
	}
	return true
}

// holds tells whether a directory with another content is the same as far as it
// was looked at.
func (r Read) holds(tree fs.FS) bool {
	if r.Listing == isDirectory {
		info, err := fs.Stat(tree, r.Path)
		return err == nil && info.IsDir()
	}
	entries, err := fs.ReadDir(tree, r.Path)
	return err == nil && Listing(entries) == r.Listing
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// request is a line of the audit log: a request that was answered.
type request struct {
	Stage      string
	Verb       string
	RequestURI string
	UserAgent  string
	ObjectRef  struct {
		APIGroup, Resource, Namespace, Name, Subresource string
	}
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp metav1.MicroTime
}

// by tells whether the request came from the client with this user agent.
func (r request) by(agent string) bool {
	name, _, _ := strings.Cut(r.UserAgent, "/")
	return name == agent
}

func (r request) at() time.Time { return r.RequestReceivedTimestamp.Time }

func (r request) dryRun() bool { return strings.Contains(r.RequestURI, "dryRun=All") }

func (r request) succeeded() bool { return r.ResponseStatus.Code < 300 }

// write tells whether the request changes anything.
func (r request) write() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return !r.dryRun()
	}
	return false
}

// object names what the request is about.
func (r request) object() objectRef {
	ref := r.ObjectRef
	return objectRef{Resource: ref.Resource, Namespace: ref.Namespace, Name: ref.Name}
}

// objectRef names an object as the audit log does.
type objectRef struct{ Resource, Namespace, Name string }

// nextPage tells whether the request continues a list.
func (r request) nextPage() bool {
	u, err := url.Parse(r.RequestURI)
	return err == nil && u.Query().Get("continue") != ""
}

// streamed tells whether the request is a watch that begins with a list.
func (r request) streamed() bool { return strings.Contains(r.RequestURI, "sendInitialEvents=true") }

// trail follows the audit log of an API server.
type trail struct {
	path string
	file *os.File
	rest []byte
}

// newTrail follows a log from its present end.
func newTrail(path string) (*trail, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	t := &trail{path: path, file: file}
	return t, t.skip()
}

func (t *trail) Close() error { return t.file.Close() }

// skip leaves out what has been logged so far.
func (t *trail) skip() error { return t.read(func([]byte) error { return nil }) }

// requests passes on what has been logged since the last call about requests of
// clients with these user agents, whatever version they add to it. A request
// whose answer has not been logged yet comes with the next call.
func (t *trail) requests(each func(request), agents ...string) error {
	marks := make([][]byte, len(agents))
	for i, agent := range agents {
		marks[i] = []byte(`"userAgent":"` + agent)
	}
	return t.read(func(line []byte) error {
		if !slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(line, mark) }) {
			return nil
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read audit log: %w", err)
		}
		// A watch is logged when it begins and when it ends.
		if slices.ContainsFunc(agents, r.by) && (r.Verb == "watch") == (r.Stage == "ResponseStarted") {
			each(r)
		}
		return nil
	})
}

// read passes on complete lines. The API server begins a new file when one has
// become large; what is left of the old one is read first.
func (t *trail) read(each func(line []byte) error) error {
	for {
		if err := t.readFile(each); err != nil {
			return err
		}
		current, err := os.Stat(t.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // The old one was renamed, the new one comes with the next line.
		}
		if err != nil {
			return err
		}
		ours, err := t.file.Stat()
		if err != nil {
			return err
		}
		if os.SameFile(current, ours) {
			return nil
		}
		next, err := os.Open(t.path)
		if err != nil {
			return err
		}
		// The old file got its last lines before the new one was made.
		if err := errors.Join(t.readFile(each), t.file.Close()); err != nil {
			return err
		}
		t.file = next
	}
}

func (t *trail) readFile(each func(line []byte) error) error {
	in := bufio.NewReaderSize(t.file, 1<<20)
	for {
		part, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			t.rest = append(t.rest, part...)
			return nil
		}
		if err != nil {
			return err
		}
		line := part
		if len(t.rest) > 0 {
			line = slices.Concat(t.rest, part)
			t.rest = nil
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// tally counts requests by what they mean to the API server.
type tally struct {
	counts map[string]int
	total  int
	// reads counts by verb and resource.
	reads map[string]int
	// applicationWrites counts per Application.
	applicationWrites map[string]int
}

// kinds of requests, in the order of reports.
func requestKinds() []string {
	return []string{"apply", "dry run", "other write", "Application write", "ReleaseRecord write", "get", "list", "watch"}
}

func newTally() *tally {
	return &tally{counts: map[string]int{}, reads: map[string]int{}, applicationWrites: map[string]int{}}
}

func (t *tally) add(r request) {
	if r.ObjectRef.Resource == "leases" {
		return
	}
	kind := "other write"
	switch {
	case r.dryRun():
		kind = "dry run"
	case r.Verb == "get" || r.Verb == "list" || r.Verb == "watch":
		kind = r.Verb
		t.reads[r.Verb+" "+cmp.Or(r.ObjectRef.Resource, "of no resource")]++
	case r.ObjectRef.Resource == "applications":
		kind = "Application write"
		t.applicationWrites[r.ObjectRef.Name]++
	case r.ObjectRef.Resource == "releaserecords":
		kind = "ReleaseRecord write"
	case r.Verb == "patch":
		kind = "apply"
	}
	t.counts[kind]++
	t.total++
}

// mostApplicationWrites is how often the most written Application was written.
func (t *tally) mostApplicationWrites() int {
	most := 0
	for _, n := range t.applicationWrites {
		most = max(most, n)
	}
	return most
}

// report adds the counts, per unit.
func (t *tally) report(r *Report, per int, of string) {
	for _, kind := range requestKinds() {
		r.add("requests per "+of+": "+kind, float64(t.counts[kind])/float64(per), "")
	}
	r.add("requests per "+of+": all", float64(t.total)/float64(per), "")
	r.reads(t)
}

// writes is how many requests changed something.
func (t *tally) writes() int {
	n := 0
	for _, kind := range []string{"apply", "other write", "Application write", "ReleaseRecord write"} {
		n += t.counts[kind]
	}
	return n
}

// reads adds what was read, but for watches.
func (r *Report) reads(t *tally) {
	for _, what := range slices.Sorted(maps.Keys(t.reads)) {
		if !strings.HasPrefix(what, "watch") {
			r.add("requests: "+what, float64(t.reads[what]), "")
		}
	}
}

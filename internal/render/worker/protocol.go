// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/helm"
)

// toWorker is what a parent sends: a job, or the answer to a question.
type toWorker struct {
	Job    *job    `cbor:"1,keyasint,omitempty"`
	Answer *answer `cbor:"2,keyasint,omitempty"`
}

// toParent is what a worker sends: a question, or the end of its job.
type toParent struct {
	Question *question `cbor:"1,keyasint,omitempty"`
	Outcome  *outcome  `cbor:"2,keyasint,omitempty"`
}

// job is a source to render. Source and Target are JSON, which is how the types of
// the API are written.
type job struct {
	Source, Target      []byte
	Refs                []string
	CanLookup, CanFetch bool
	CanElsewhere        bool
	CPU                 time.Duration
	MaxOutput           int64
	// Ahead are directories that the rendering is going to ask for.
	Ahead []listed
}

// listed is the answer to a question about a directory that nobody has asked yet.
type listed struct {
	_       struct{} `cbor:",toarray"`
	Path    string
	Entry   entry
	Entries []entry
}

// Questions of a worker.
const (
	askDirectory = "directory"
	askEntry     = "entry"
	askContent   = "content"
	askLookup    = "lookup"
	askFetch     = "fetch"
	askElsewhere = "elsewhere"
)

type question struct {
	Kind   string
	Tree   string
	Path   string
	Lookup helm.Lookup
}

type answer struct {
	// Missing says that there is no such file, Fault why there is no answer.
	Missing bool
	Fault   string
	Entry   entry
	Entries []entry
	Content []byte
	Object  map[string]any
}

// entry is a file or directory. The content of small files comes with it.
type entry struct {
	_          struct{} `cbor:",toarray"`
	Name       string
	Mode       uint32
	ID         string
	Size       int64
	Content    []byte
	HasSize    bool
	HasContent bool
}

// outcome is what became of a job.
type outcome struct {
	// Set holds the objects as package packed writes them.
	Set    []byte
	Count  int
	Digest string
	Tool   string
	// Remarks are JSON.
	Remarks []byte
	// Trace is packed, too.
	Trace []byte
	// Worn says that the worker must not be used again.
	Worn  bool
	Fault *fault
}

// fault is an error that keeps its kind on the way through the pipe.
type fault struct {
	Text  string
	Parse *manifest.ParseError
	Path  string
	// Limit names the limit that was exceeded.
	Limit string
}

// remoteError is a fault on the other side of the pipe.
type remoteError struct {
	text  string
	cause error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.cause }

func faultOf(err error) *fault {
	f := &fault{Text: err.Error()}
	if parse, ok := errors.AsType[*manifest.ParseError](err); ok {
		f.Parse = parse
	}
	if missing, ok := errors.AsType[*render.NoPathError](err); ok {
		f.Path = missing.Path
	}
	if limit, ok := errors.AsType[*LimitError](err); ok {
		f.Limit = limit.Limit
	}
	return f
}

func (f *fault) err() error {
	e := &remoteError{text: f.Text}
	switch {
	case f.Parse != nil:
		e.cause = f.Parse
	case f.Path != "":
		e.cause = &render.NoPathError{Path: f.Path}
	}
	return e
}

// stream carries messages: four bytes of length, then CBOR.
type stream struct {
	in  *bufio.Reader
	out *bufio.Writer
	dec cbor.DecMode
	// limit bounds a message that comes in.
	limit int64
}

// maxMessage bounds what a worker accepts: the content of the largest file.
const maxMessage = 512 << 20

func newStream(in io.Reader, out io.Writer, limit int64) (*stream, error) {
	dec, err := cbor.DecOptions{
		IntDec: cbor.IntDecConvertSignedOrFail, UTF8: cbor.UTF8DecodeInvalid, DefaultMapType: mapType,
		MaxNestedLevels: 1000, MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24,
	}.DecMode()
	if err != nil {
		return nil, err
	}
	return &stream{in: bufio.NewReaderSize(in, 64<<10), out: bufio.NewWriterSize(out, 64<<10), dec: dec, limit: limit}, nil
}

var errTooLong = errors.New("message is too long")

func (s *stream) send(message any) error {
	data, err := cbor.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	var length [4]byte
	if int64(len(data)) > maxMessage {
		return errTooLong
	}
	binary.BigEndian.PutUint32(length[:], uint32(len(data))) //nolint:gosec // bounded above
	if _, err := s.out.Write(length[:]); err != nil {
		return err
	}
	if _, err := s.out.Write(data); err != nil {
		return err
	}
	return s.out.Flush()
}

func (s *stream) receive(into any) error {
	var length [4]byte
	if _, err := io.ReadFull(s.in, length[:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint32(length[:]))
	if size > s.limit {
		return errTooLong
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(s.in, data); err != nil {
		return err
	}
	return s.dec.Unmarshal(data, into)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	_ "time/tzdata" // templates ask for time zones, and a worker cannot read them from disk

	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/kustomize"
	"github.com/wavetrain/wavetrain/internal/render/packed"
)

//nolint:gochecknoglobals // a type, which Go has no constant for
var mapType = reflect.TypeFor[map[string]any]()

// Serve is the life of a worker: it does the jobs that come in until the other
// side closes the pipe. It takes from its process what rendering does not need.
func Serve(in io.Reader, out io.Writer) error {
	if err := confine(); err != nil {
		return fmt.Errorf("confine worker: %w", err)
	}
	pipe, err := newStream(in, out, maxMessage)
	if err != nil {
		return err
	}
	codec, err := packed.NewCodec()
	if err != nil {
		return err
	}
	w := &worker{pipe: pipe, codec: codec}
	for {
		var message toWorker
		err := pipe.receive(&message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive job: %w", err)
		}
		if message.Job == nil {
			return errors.New("receive job: something else came")
		}
		result := w.do(message.Job)
		if err := pipe.send(toParent{Outcome: result}); err != nil {
			return fmt.Errorf("send outcome: %w", err)
		}
	}
}

type worker struct {
	pipe  *stream
	codec *packed.Codec
}

// ask puts a question to the parent.
func (w *worker) ask(q question) (*answer, error) {
	if err := w.pipe.send(toParent{Question: &q}); err != nil {
		return nil, err
	}
	var message toWorker
	if err := w.pipe.receive(&message); err != nil {
		return nil, err
	}
	a := message.Answer
	switch {
	case a == nil:
		return nil, errors.New("no answer came")
	case a.Missing:
		return nil, fs.ErrNotExist
	case a.Fault != "":
		return nil, errors.New(a.Fault)
	}
	return a, nil
}

func (w *worker) do(j *job) (result *outcome) {
	defer func() {
		// A library that panics on hostile input is this job's fault alone.
		if r := recover(); r != nil {
			result = &outcome{Worn: true, Fault: &fault{Text: fmt.Sprintf("rendering failed: %v", r)}}
		}
	}()
	if err := boundCPU(j.CPU); err != nil {
		return &outcome{Worn: true, Fault: faultOf(err)}
	}
	done, err := w.render(j)
	if err != nil {
		return &outcome{Fault: faultOf(err)}
	}
	return done
}

func (w *worker) render(j *job) (*outcome, error) {
	var src render.Source
	var target render.Target
	if err := errors.Join(json.Unmarshal(j.Source, &src), json.Unmarshal(j.Target, &target)); err != nil {
		return nil, err
	}
	files := newRemote(w, "")
	for i := range j.Ahead {
		l := &j.Ahead[i]
		files.learn(l.Path, &l.Entry, l.Entries)
	}
	src.Files = files
	src.Refs = make(map[string]fs.FS, len(j.Refs))
	for _, ref := range j.Refs {
		src.Refs[ref] = newRemote(w, ref)
	}
	if j.CanLookup {
		target.Lookup = func(_ context.Context, q helm.Lookup) (map[string]any, error) {
			a, err := w.ask(question{Kind: askLookup, Lookup: q})
			if err != nil {
				return nil, err
			}
			return a.Object, nil
		}
	}
	if j.CanFetch {
		target.Fetch = func(_ context.Context, url string) ([]byte, error) {
			a, err := w.ask(question{Kind: askFetch, Path: url})
			if err != nil {
				return nil, err
			}
			return a.Content, nil
		}
	}
	if j.CanElsewhere {
		target.Elsewhere = func(_ context.Context, e kustomize.Elsewhere) (fs.FS, string, error) {
			a, err := w.ask(question{Kind: askElsewhere, Path: e.Key()})
			if err != nil {
				return nil, "", err
			}
			return newRemote(w, treeOf(e.Key())), a.Entry.Name, nil
		}
	}
	result, err := render.Render(context.Background(), src, target)
	if err != nil {
		return nil, err
	}
	return w.pack(j, result)
}

func (w *worker) pack(j *job, result render.Result) (*outcome, error) {
	set, err := w.codec.Marshal(packed.Items(result.Objects))
	if err != nil {
		return nil, fmt.Errorf("pack the rendered objects: %w", err)
	}
	if int64(len(set)) > j.MaxOutput {
		return nil, &LimitError{Limit: limitOutput, Max: bytesText(j.MaxOutput)}
	}
	remarks, err := json.Marshal(result.Remarks)
	if err != nil {
		return nil, err
	}
	read, err := w.codec.Marshal(result.Trace)
	if err != nil {
		return nil, fmt.Errorf("pack what was read: %w", err)
	}
	return &outcome{
		Set: set, Count: len(result.Objects), Digest: result.Digest,
		Tool: result.Tool, Remarks: remarks, Trace: read, Worn: result.ChangedSchema,
	}, nil
}

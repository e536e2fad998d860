// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// told is what a watch says of an object: its head, and all of it as it came.
// Watches bring more than anything else, and much of it is known already, so an
// object is not taken apart before somebody wants it.
type told struct {
	apiVersion, kind, namespace, name string
	uid                               types.UID
	version                           string
	// listed is true for the bookmark that ends the initial list.
	listed bool
	text   []byte
}

// hear reads the head of an object.
func hear(text []byte) (*told, error) {
	t := &told{text: text}
	err := eachField(text, func(name string, value jsontext.Value) error {
		switch name {
		case "apiVersion":
			t.apiVersion = plain(value)
		case "kind":
			t.kind = plain(value)
		case "metadata":
			return eachField(value, t.hearMetadata)
		}
		if t.apiVersion != "" && t.kind != "" && t.version != "" {
			return errEnough
		}
		return nil
	})
	return t, err
}

func (t *told) hearMetadata(name string, value jsontext.Value) error {
	switch name {
	case "namespace":
		t.namespace = plain(value)
	case "name":
		t.name = plain(value)
	case "uid":
		t.uid = types.UID(plain(value))
	case "resourceVersion":
		t.version = plain(value)
	case "annotations":
		if bytes.Contains(value, []byte(metav1.InitialEventsAnnotationKey)) {
			return eachField(value, func(name string, value jsontext.Value) error {
				t.listed = t.listed || name == metav1.InitialEventsAnnotationKey && plain(value) == "true"
				return nil
			})
		}
	}
	return nil
}

func (t *told) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(t.apiVersion, t.kind)
}

func (t *told) key() manifest.Key {
	gvk := t.gvk()
	return manifest.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: t.namespace, Name: t.name}
}

// GetObjectMeta is what the reflector reads.
func (t *told) GetObjectMeta() metav1.Object {
	meta := &metav1.ObjectMeta{Namespace: t.namespace, Name: t.name, UID: t.uid, ResourceVersion: t.version}
	if t.listed {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return meta
}

// GetObjectKind implements runtime.Object.
func (t *told) GetObjectKind() schema.ObjectKind {
	return &metav1.TypeMeta{APIVersion: t.apiVersion, Kind: t.kind}
}

// DeepCopyObject implements runtime.Object; what was told does not change.
func (t *told) DeepCopyObject() runtime.Object { return t }

// errEnough ends eachField early, without an error.
var errEnough = errors.New("enough")

// eachField calls fn for the fields of a JSON object, in their order. The value is
// only valid until fn returns.
func eachField(text []byte, fn func(name string, value jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(slices.Clip(text)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	start, err := d.ReadToken()
	if err != nil {
		return err
	}
	if start.Kind() != '{' {
		return fmt.Errorf("an object is wanted, not %s", start.Kind())
	}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := fn(name, value); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// plain is the text of a JSON string, empty if it is none.
func plain(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

// stream reads the events of a watch.
type stream struct {
	body   io.ReadCloser
	events *jsontext.Decoder
}

var _ watch.Decoder = (*stream)(nil)

// stream opens the watch of a part of a kind.
func (p *watchPart) stream(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	body, err := p.w.c.rest.Get().AbsPath(path(p.w.res, p.namespace, "")...).SpecificallyVersionedParams(&o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		SetHeader("Accept", runtime.ContentTypeJSON).Stream(ctx)
	if err != nil {
		return nil, err
	}
	events := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return watch.NewStreamWatcherWithLogger(logr.Discard(), &stream{body, events}, apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
}

// Decode reads the next event.
func (s *stream) Decode() (watch.EventType, runtime.Object, error) {
	kind, object, err := s.next()
	if err != nil {
		// The watch tells a stream that has ended from one that makes no sense by the
		// error itself.
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return "", nil, err
	}
	if kind == watch.Error {
		status := &metav1.Status{}
		if err := json.Unmarshal(object, status); err != nil {
			return "", nil, fmt.Errorf("read what the server says is wrong: %w", err)
		}
		return kind, status, nil
	}
	t, err := hear(object)
	return kind, t, err
}

func (s *stream) next() (kind watch.EventType, object []byte, err error) {
	if _, err := s.events.ReadToken(); err != nil {
		return "", nil, err
	}
	for s.events.PeekKind() != '}' {
		token, err := s.events.ReadToken()
		if err != nil {
			return "", nil, err
		}
		name := token.String()
		value, err := s.events.ReadValue()
		if err != nil {
			return "", nil, err
		}
		switch name {
		case "type":
			kind = watch.EventType(plain(value))
		case "object":
			object = bytes.Clone(value)
		}
	}
	_, err = s.events.ReadToken()
	return kind, object, err
}

// Close ends the stream.
func (s *stream) Close() { _ = s.body.Close() }

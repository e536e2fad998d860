// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unique"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// newEntry makes an entry of what a read or a write returned; u stays as it is.
func (c *Codec) newEntry(u *unstructured.Unstructured) (*entry, error) {
	text, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", manifest.KeyOf(u), err)
	}
	return c.keep(text)
}

// keep makes an entry of an object as the API server writes it. The object is
// sorted into what is kept how, and never decoded.
func (c *Codec) keep(text []byte) (*entry, error) {
	var s sorted
	if err := s.sort(text); err != nil {
		return nil, fmt.Errorf("keep %s %s/%s: %w", s.kind, s.namespace, s.name, err)
	}
	if len(s.name) > 1<<15 {
		return nil, fmt.Errorf("the name of %s %.50s… is too long", s.kind, s.name)
	}
	e := &entry{
		codec: c, gvk: unique.Make(schema.FromAPIVersionAndKind(s.apiVersion, s.kind)), namespace: unique.Make(s.namespace),
		named: uint16(len(s.name)), //nolint:gosec // it was just looked at
	}
	e.body = s.name
	e.keepIdentity(s.uid, s.version, s.owners)
	if s.tracking != "" {
		e.keepTracking(s.tracking)
	}
	e.body = string(c.pack([]byte(s.name), s.body(e.marked)))
	e.managed = unique.Make("")
	if len(s.managed) > 0 {
		e.managed = unique.Make(string(c.pack(nil, s.managed)))
	}
	return e, nil
}

// sorted is an object taken apart. What is left of it is JSON.
type sorted struct {
	apiVersion, kind, namespace, name, version, tracking string

	uid    types.UID
	owners []types.UID
	// managed are the managedFields without times.
	managed []byte
	// annotations are those but the tracking id, metadata and fields what else is
	// there: members of objects, each behind a comma.
	annotations, metadata, fields []byte
}

func (s *sorted) sort(text []byte) error {
	return eachField(text, func(name string, value jsontext.Value) error {
		switch name {
		case "apiVersion":
			s.apiVersion = plain(value)
		case "kind":
			s.kind = plain(value)
		case "metadata":
			return eachField(value, s.sortMetadata)
		default:
			s.fields = member(s.fields, name, value)
		}
		return nil
	})
}

func (s *sorted) sortMetadata(name string, value jsontext.Value) (err error) {
	switch name {
	case "name":
		s.name = plain(value)
	case "namespace":
		s.namespace = plain(value)
	case "uid":
		s.uid = types.UID(plain(value))
	case "resourceVersion":
		s.version = plain(value)
	case "managedFields":
		s.managed, err = timeless(value)
	case "annotations":
		if value.Kind() != '{' {
			return nil
		}
		return eachField(value, func(name string, value jsontext.Value) error {
			if name == manifest.AnnotationTrackingID {
				s.tracking = plain(value)
			} else {
				s.annotations = member(s.annotations, name, value)
			}
			return nil
		})
	case "ownerReferences":
		var refs []struct {
			UID types.UID `json:"uid"`
		}
		if err := json.Unmarshal(value, &refs); err != nil {
			return err
		}
		for _, ref := range refs {
			s.owners = append(s.owners, ref.UID)
		}
		s.metadata = member(s.metadata, name, value)
	default:
		s.metadata = member(s.metadata, name, value)
	}
	return err
}

// body is what is packed of the object; its tracking id is left out when it can be
// made anew.
func (s *sorted) body(marked bool) []byte {
	annotations := s.annotations
	if s.tracking != "" && !marked {
		text, err := jsontext.AppendQuote(nil, s.tracking)
		if err == nil {
			annotations = member(annotations, manifest.AnnotationTrackingID, text)
		}
	}
	metadata := s.metadata
	if len(annotations) > 0 {
		metadata = member(metadata, "annotations", enclosed('{', annotations, '}'))
	}
	return enclosed('{', member(s.fields, "metadata", enclosed('{', metadata, '}')), '}')
}

// member appends a member of an object, behind a comma.
func member(to []byte, name string, value []byte) []byte {
	to = append(to, ',')
	to, err := jsontext.AppendQuote(to, name)
	if err != nil {
		// Text that is no UTF-8 was replaced when it was read.
		return to
	}
	return append(append(to, ':'), value...)
}

// enclosed makes an object of members, or a list of values, behind commas.
func enclosed(begin byte, content []byte, end byte) []byte {
	out := make([]byte, 0, len(content)+2)
	out = append(out, begin)
	if len(content) > 0 {
		out = append(out, content[1:]...)
	}
	return append(out, end)
}

// timeless returns managedFields without times: objects that one controller makes
// alike then have the same.
func timeless(fields jsontext.Value) ([]byte, error) {
	if fields.Kind() != '[' {
		return nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(slices.Clip(fields)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var entries []byte
	for d.PeekKind() != ']' {
		entry, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		var kept []byte
		err = eachField(entry, func(name string, value jsontext.Value) error {
			if name != "time" {
				kept = member(kept, name, value)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		entries = append(append(entries, ','), enclosed('{', kept, '}')...)
	}
	if len(entries) == 0 {
		return nil, nil
	}
	return enclosed('[', entries, ']'), nil
}

func (e *entry) keepIdentity(uid types.UID, version string, owners []types.UID) {
	rare := rarely{owners: owners}
	if uid != "" {
		id, exact := identify(uid)
		if e.id = id; !exact {
			rare.uid = uid
		}
	}
	parsed := parseVersion(version)
	e.version, rare.version = parsed.number, parsed.odd
	if rare.uid != "" || rare.version != "" || len(rare.owners) > 0 {
		e.rare = &rare
	}
}

func (e *entry) keepTracking(tracking string) {
	app, _, _ := strings.Cut(tracking, ":")
	e.app = unique.Make(app)
	if e.marked = tracking == (manifest.TrackingID{App: app, Key: e.key()}).String(); e.marked {
		return
	}
	if e.rare == nil {
		e.rare = &rarely{}
	}
	e.rare.tracking = tracking
}

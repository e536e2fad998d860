// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

const (
	// MaxPartLength is the length of the longest payload in one object. Several objects stay far below what the API
	// server accepts, and a write of the first one stays cheap.
	MaxPartLength = 256 << 10
	// MaxPayloadLength is the longest payload before packing; longer ones are taken for damage, not for data.
	MaxPayloadLength = 64 << 20
)

// PartName returns the name of a part, counted from 1: the Application's name, then "NAME.2", "NAME.3" and so on. The
// dot keeps the parts of "shop" apart from the record of an Application called "shop-2".
func PartName(application string, part int) string {
	if part <= 1 {
		return application
	}
	return application + "." + strconv.Itoa(part)
}

// Pack is Packer.Pack for who packs once.
func Pack(payload []byte) ([]string, error) { return new(Packer).Pack(payload) }

// +kubebuilder:object:generate=false

// Packer packs payloads. It keeps what that takes, which is most of a megabyte for a payload of whatever length. The zero
// value works; several goroutines may use it.
type Packer struct{ writers sync.Pool }

// Pack compresses a payload and cuts it into the texts of one or more parts. Equal payloads give equal texts.
func (p *Packer) Pack(payload []byte) ([]string, error) {
	if len(payload) > MaxPayloadLength {
		return nil, fmt.Errorf("pack release record: %d bytes exceed the limit of %d", len(payload), MaxPayloadLength)
	}
	var packed bytes.Buffer
	zip, ok := p.writers.Get().(*gzip.Writer)
	if !ok {
		zip = gzip.NewWriter(nil)
	}
	defer p.writers.Put(zip)
	zip.Reset(&packed)
	if _, err := zip.Write(payload); err != nil {
		return nil, fmt.Errorf("pack release record: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("pack release record: %w", err)
	}
	text := base64.StdEncoding.EncodeToString(packed.Bytes())
	parts := make([]string, 0, len(text)/MaxPartLength+1)
	for len(text) > MaxPartLength {
		parts = append(parts, text[:MaxPartLength])
		text = text[MaxPartLength:]
	}
	return append(parts, text), nil
}

// Unpack joins the texts of all parts, in order, and returns the payload. A missing, foreign or damaged part is an
// error, never a shorter payload.
func Unpack(parts []string) ([]byte, error) {
	text := base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.Join(parts, "")))
	zip, err := gzip.NewReader(text)
	if err != nil {
		return nil, fmt.Errorf("unpack release record of %d parts: %w", len(parts), err)
	}
	payload, err := io.ReadAll(io.LimitReader(zip, MaxPayloadLength+1))
	if err != nil {
		return nil, fmt.Errorf("unpack release record of %d parts: %w", len(parts), err)
	}
	if len(payload) > MaxPayloadLength {
		return nil, fmt.Errorf("unpack release record of %d parts: more than %d bytes", len(parts), MaxPayloadLength)
	}
	return payload, nil
}

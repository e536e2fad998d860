// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package saved

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxSize bounds what is unpacked of an encoded plan.
const maxSize = 16 << 20

// Encode writes the plan as a text that fits into an operation.
func (p Plan) Encode() (string, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode plan: %w", err)
	}
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	// A buffer takes whatever is written.
	_, _ = w.Write(data)
	_ = w.Close()
	return p.ID() + ":" + base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

// Decode reads what Encode wrote.
func Decode(text string) (Plan, error) {
	id, packed, _ := strings.Cut(text, ":")
	data, err := unpack(packed)
	if err != nil {
		return Plan{}, fmt.Errorf("decode plan: %w: make the plan again", err)
	}
	var p Plan
	if err := json.Unmarshal(data, &p); err != nil {
		return Plan{}, fmt.Errorf("decode plan: %w: make the plan again", err)
	}
	if p.Version != Version {
		return Plan{}, fmt.Errorf("decode plan: version %d is not known, this program writes version %d: make the plan again", p.Version, Version)
	}
	if p.ID() != id {
		return Plan{}, errors.New("decode plan: its contents do not fit its id: make the plan again")
	}
	return p, nil
}

// Brief is what is left of an encoded plan when it has served: its id.
func Brief(text string) string {
	id, _, _ := strings.Cut(text, ":")
	return id
}

func unpack(text string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("it is larger than %d MiB", maxSize>>20)
	}
	return data, err
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"bytes"
	"encoding/json"
)

// JSON is the page as data: one row per object, never merged.
func (p *Page) JSON() ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

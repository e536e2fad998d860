// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// digest computes the plan's id. It holds what the plan does and on what it
// relies, and nothing that changes by itself: no resourceVersion, no texts.
func (p *Plan) digest() string {
	h := sha256.New()
	field(h, strconv.Itoa(p.Version), p.App, p.Namespace, p.Server, p.RenderDigest, strconv.Itoa(len(p.Revisions)))
	field(h, p.Revisions...)
	for _, groups := range [][]Group{p.Groups, p.OnDeletion} {
		field(h, strconv.Itoa(len(groups)))
		for _, g := range groups {
			for _, s := range g.Steps {
				field(h, s.ID, string(s.Action), s.Precondition, strconv.FormatBool(s.Confirm))
				for _, k := range s.Outside {
					field(h, "outside", k.String())
				}
				if s.Untracked {
					// No manifest renders it, so the rendered set's digest lacks it.
					field(h, manifest.Digest([]manifest.Object{*s.Object}))
				}
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// field feeds texts to a hash, each with its length in front.
func field(h hash.Hash, texts ...string) {
	for _, text := range texts {
		h.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
}

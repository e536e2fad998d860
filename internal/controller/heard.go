// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// asksForHead tells whether somebody has asked for a sync since the last look: who
// does means what the target revision is now. A sync that has been heard and waits,
// for a window or its next attempt, does not have the repository asked again with
// every look.
func (s *session) asksForHead() bool {
	op := s.app.Operation
	if op == nil || op.Sync == nil || s.st.run != nil {
		return false
	}
	data, err := json.Marshal(op)
	if err != nil {
		return false
	}
	request := sha256.Sum256(data)
	if request == s.st.heard {
		return false
	}
	s.st.heard = request
	return true
}

// hearAnew has the next request heard, although it may say what the last one said.
func (s *session) hearAnew() {
	if s.app.Operation == nil {
		s.st.heard = [sha256.Size]byte{}
	}
}

// unresolved says why a person's request, which names no revision, cannot be carried
// out: the target revision is not known. What it was before is not what they mean.
func (s *session) unresolved(op v1alpha1.Operation) string {
	sync := op.Sync
	if !s.st.outdated || len(s.problems) == 0 || len(sync.Manifests) > 0 || sync.Revision != "" || sync.Source != nil || len(sync.Sources) > 0 || len(sync.Revisions) > 0 {
		return ""
	}
	return s.problems[0].Message
}

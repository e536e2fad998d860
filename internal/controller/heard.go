// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/sha256"
	"encoding/json"
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

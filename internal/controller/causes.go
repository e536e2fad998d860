// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// watch has the Application looked at when one of the objects that it renders,
// ought to prune, or failed because of, changes.
func (s *session) watch(c *pipeline.Comparison) {
	var keys []manifest.Key
	for key := range c.Verdicts {
		keys = append(keys, key)
	}
	for key := range c.Live {
		if _, ordinary := c.Verdicts[key]; !ordinary {
			keys = append(keys, key)
		}
	}
	for _, extra := range c.Superfluous {
		keys = append(keys, extra.Key)
		if extra.Holder != (manifest.Key{}) {
			keys = append(keys, extra.Holder)
		}
	}
	if n := len(s.st.memory.Attempts); n > 0 {
		keys = append(keys, s.st.memory.Attempts[n-1].Outcome.Causes...)
	}
	s.watchlist.set(nameOf(s.app), s.instance, s.dest.Server, keys)
}

// fingerprint describes an object as far as a failed attempt could have failed
// because of it: which object it is, what is asked of it and how it fares.
func (s *session) fingerprint(key manifest.Key) string {
	live, ok := s.dest.Get(key)
	if !ok {
		return "absent"
	}
	verdict := s.judge()(live)
	return fmt.Sprintf("%s generation %d %s %s", live.GetUID(), live.GetGeneration(), verdict.Status, verdict.Reason)
}

// seenShared is the entry in an attempt's causes that stands for who shares objects
// with the Application.
const seenShared = "shared"

// seenIdentity is the one that stands for the service account which was refused.
const seenIdentity = "identity"

// circumstances are what made an attempt fail besides the objects themselves, as
// they are now: what made its plan invalid, and as whom it was refused, which the
// API server's message names.
func (s *session) circumstances(p *plan.Plan, message string) map[string]string {
	now := map[string]string{}
	if user := s.identityName(); user != "" && strings.Contains(message, user) {
		now[seenIdentity] = user
	}
	for _, f := range p.Findings {
		switch f.Code {
		case codeNotPermitted, codeNoIdentity:
			now[seenProject] = s.projectVersion()
		case codeShared:
			now[seenShared] = s.sharing()
		}
	}
	return now
}

// noteCauses keeps what the causes of a failure look like now, of a run that has
// ended.
func (s *session) noteCauses(ctx context.Context) error {
	n := len(s.st.memory.Attempts)
	if s.ended == nil || n == 0 || s.dest == nil {
		return nil
	}
	last := &s.st.memory.Attempts[n-1]
	seen := s.circumstances(s.ended.plan, last.Outcome.Message)
	if len(last.Outcome.Causes)+len(seen) == 0 || last.Seen != nil {
		return nil
	}
	last.Seen = seen
	for _, key := range last.Outcome.Causes {
		last.Seen[key.String()] = s.fingerprint(key)
	}
	return recordStore{s.st.record}.Save(ctx, s.st.memory)
}

// causeChanged tells whether one of the causes looks different from when the
// attempt ended.
func (s *session) causeChanged(causes []manifest.Key, seen map[string]string) bool {
	for _, key := range causes {
		if before, ok := seen[key.String()]; ok && before != s.fingerprint(key) {
			return true
		}
	}
	if before, ok := seen[seenShared]; ok && before != s.sharing() && !slices.ContainsFunc(causes, s.mayBeRendered) {
		return true
	}
	if before, ok := seen[seenIdentity]; ok && before != s.identityName() {
		return true
	}
	before, ok := seen[seenProject]
	return ok && before != s.projectVersion()
}

func nameOf(obj interface {
	GetNamespace() string
	GetName() string
},
) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

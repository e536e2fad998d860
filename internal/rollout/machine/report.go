// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Report tells the machine how an action went.
func (m *Machine) Report(r Result) {
	if r.Action.Kind == Release {
		m.reportRelease(r)
		return
	}
	t := m.byID[r.Action.Step]
	if t == nil {
		// A hook of a plan that was made anew without it; only tidying remains.
		if s := m.rec.Steps[r.Action.Step]; s != nil {
			s.Held, s.Drop = false, false
		}
		return
	}
	switch r.Action.Kind {
	case Apply:
		m.reportApply(t, r)
	case CreateHook:
		m.reportCreate(t, r)
	case Delete:
		m.reportDelete(t, r)
	}
}

func (m *Machine) reportRelease(r Result) {
	s := m.rec.Steps[r.Action.Step]
	if s == nil {
		return
	}
	s.Held = false
	if r.Err != "" {
		s.Message = join(s.Message, "take the finalizer off: "+r.Err)
	}
}

func (m *Machine) reportApply(t *task, r Result) {
	s := m.edit(t)
	if r.Err != "" {
		m.refused(t, r)
		return
	}
	m.tell(t.group, event.Event{Type: event.StepApplied, Object: t.key, Message: r.Message})
	s.State, s.Message = Applied, r.Message
	s.UID, s.ResourceVersion, s.Generation = r.Live.UID, r.Live.ResourceVersion, r.Live.Generation
	t.gate = gate{}
}

func (m *Machine) reportCreate(t *task, r Result) {
	if r.Err == "" && r.Live.Mark != m.rec.Mark() {
		// Somebody else's object took the name meanwhile: it is cleared like any
		// other that stands in the way.
		m.edit(t).State = Pending
		t.sent = false
		return
	}
	m.reportApply(t, r)
	m.edit(t).Held = r.Err == ""
}

func (m *Machine) reportDelete(t *task, r Result) {
	s := m.edit(t)
	switch {
	case s.Drop && s.State.Done():
		s.Held, s.Drop = false, false
		if r.Err != "" {
			s.Message = join(s.Message, "delete the hook: "+r.Err)
		}
	case r.Err != "":
		m.refused(t, r)
	default:
		t.sent = true
	}
}

// refused fails a step whose write the API server refused.
func (m *Machine) refused(t *task, r Result) {
	s := m.edit(t)
	s.State, s.Message, s.Rejected, s.Retry = Failed, r.Err, true, r.Retry
	m.tell(t.group, event.Event{Type: event.StepFailed, Object: t.key, Message: r.Err})
}

// join puts two sentences into one line.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// title names an object the way Argo CD does in its messages:
// "apps/Deployment/name", "/Pod/name".
func title(k manifest.Key) string { return k.Group + "/" + k.Kind + "/" + k.Name }

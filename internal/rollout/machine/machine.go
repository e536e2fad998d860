// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"time"

	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Machine carries one attempt of an operation from its record to its outcome.
// It is not safe for concurrent use.
type Machine struct {
	plan   *plan.Plan
	limits Limits
	rec    Record
	// groups are the groups to be passed, in order; onFailure are the steps of
	// the SyncFail groups, which run together.
	groups    []group
	onFailure group
	byID      map[string]*task
	// current is the index of the first group that has not been passed; announced
	// is the number of groups whose start was told.
	current, announced int
	failing, finished  bool
	// confirmed allows prunes that need a confirmation.
	confirmed bool
	// users tells who uses an object that is about to be pruned; nil for nobody.
	users func(manifest.Key) (user manifest.Key, used bool)
	// held are the objects that the last turn found waiting.
	held []manifest.Key
	// opens is when the next group may begin, if a pause is wanted between groups. It
	// is not recorded: after a restart nothing is left of a pause.
	opens time.Time
	// told is the wait that was told last.
	told string
	// news are events since the last decision.
	news []event.Event
}

// group is a plan's group together with the order inside it.
type group struct {
	phase manifest.Phase
	wave  int
	// number counts from 1; zero for the SyncFail group.
	number int
	tasks  []*task
	// batches are the tasks that are applied together, one batch after another.
	batches [][]*task
	// began is when the group was begun by this process, last the object that was
	// settled last.
	began time.Time
	last  string
}

// task is a step at work.
type task struct {
	step  *plan.Step
	group *group
	// key is the step's, with the name that a hook with generateName gets.
	key manifest.Key
	// place is the task's position in the order inside its group.
	place int
	// sent says that this process has issued the step's deletion.
	sent bool
	gate gate
}

// gate is what the machine remembers of a wait. It is not recorded: after a
// restart a limit begins anew.
type gate struct {
	// moved is when the object last made progress, token its progress then.
	moved time.Time
	token string
	// since is when the wait began; degraded, stuck and gone are when the object
	// was first seen in that condition, zero while it is not.
	since, degraded, stuck, gone time.Time
	// blocked is what held the object up when it was looked at last.
	blocked string
}

// New returns a machine that continues the attempt of rec with p. For a resumed
// attempt, steps of rec that p no longer knows and that are not done are
// forgotten: the plan found nothing left to do for them.
func New(p *plan.Plan, rec Record, limits Limits) *Machine {
	m := &Machine{plan: p, limits: limits.WithDefaults(), rec: rec.Clone(), byID: map[string]*task{}}
	for i := range p.Groups {
		m.addGroup(&p.Groups[i])
	}
	for i := range m.groups {
		m.groups[i].batches = batches(m.groups[i].tasks)
	}
	m.onFailure.batches = batches(m.onFailure.tasks)
	for id, s := range m.rec.Steps {
		if _, known := m.byID[id]; !known && !s.State.Done() {
			delete(m.rec.Steps, id)
		}
	}
	return m
}

func (m *Machine) addGroup(from *plan.Group) {
	to := &m.onFailure
	to.phase = manifest.SyncFail
	if from.Phase != manifest.SyncFail {
		// The capacity is fixed at once: tasks point to their group.
		if m.groups == nil {
			m.groups = make([]group, 0, len(m.plan.Groups))
		}
		m.groups = append(m.groups, group{phase: from.Phase, wave: from.Wave, number: len(m.groups) + 1})
		to = &m.groups[len(m.groups)-1]
	}
	for i := range from.Steps {
		s := &from.Steps[i]
		key := s.Key
		key.Name = HookName(m.rec.Operation, s)
		t := &task{step: s, group: to, key: key}
		to.tasks = append(to.tasks, t)
		m.byID[s.ID] = t
	}
}

// Record returns a copy of the record as it stands.
func (m *Machine) Record() Record { return m.rec.Clone() }

// Wait returns what the attempt waits for, nil if it does not wait.
func (m *Machine) Wait() *Wait { return clonePointer(m.rec.Wait) }

// Checked notes that the plan passed the checks before the first write.
func (m *Machine) Checked() { m.rec.Checked = true }

// Reject ends the attempt before anything was written. The results name, per
// step id, what is wrong with the step.
func (m *Machine) Reject(message string, results map[string]string, retry bool, now time.Time) {
	var causes []manifest.Key
	for id, text := range results {
		if t := m.byID[id]; t != nil {
			m.set(t, StepRecord{State: Failed, Message: text, Rejected: true, Retry: retry})
			causes = append(causes, t.key)
		}
	}
	slices.SortFunc(causes, manifest.Key.Compare)
	m.finish(Outcome{Phase: PhaseFailed, Message: message, Causes: causes, Retry: retry}, now)
}

// Stop asks the attempt to end. A stop in favour of a newer release waits for
// the end of what is being written; the first request stands, except that a
// person's overrules it.
func (m *Machine) Stop(s Stop) {
	if m.rec.Stop == nil || (m.rec.Stop.Superseded && !s.Superseded) {
		m.rec.Stop = &s
	}
}

// Position returns the number of the group in progress, counted from 1, and the
// number of groups.
func (m *Machine) Position() (number, of int) {
	return min(m.current+1, len(m.groups)), len(m.groups)
}

// Interest returns the keys whose change can matter now: the objects of the
// group in progress and the effects it waits for.
func (m *Machine) Interest() []manifest.Key {
	g := &m.onFailure
	if m.rec.Failure == nil && m.current < len(m.groups) {
		g = &m.groups[m.current]
	}
	var keys []manifest.Key
	for _, t := range g.tasks {
		keys = append(keys, t.key)
		for _, need := range t.step.Needs {
			keys = append(keys, need.Object, need.Producer)
		}
		keys = append(keys, t.step.Outside...)
	}
	slices.SortFunc(keys, manifest.Key.Compare)
	return slices.Compact(keys)
}

// Waiting returns the objects that the last decision found waiting, the most
// telling first.
func (m *Machine) Waiting() []manifest.Key { return m.held }

// Confirm allows the prunes that need a confirmation.
func (m *Machine) Confirm() { m.confirmed = true }

// Users has prunes ask who uses their objects when their turn comes.
func (m *Machine) Users(of func(manifest.Key) (user manifest.Key, used bool)) { m.users = of }

// record returns the step's record; the zero record if there is none.
func (m *Machine) record(t *task) *StepRecord {
	if s := m.rec.Steps[t.step.ID]; s != nil {
		return s
	}
	return &StepRecord{Key: t.key}
}

// edit returns the step's record for writing.
func (m *Machine) edit(t *task) *StepRecord {
	s := m.rec.Steps[t.step.ID]
	if s == nil {
		s = &StepRecord{Key: t.key, Hook: t.hook(), Untracked: t.step.Untracked}
		m.rec.Steps[t.step.ID] = s
	}
	return s
}

func (m *Machine) set(t *task, s StepRecord) {
	s.Key, s.Hook, s.Untracked = t.key, t.hook(), t.step.Untracked
	m.rec.Steps[t.step.ID] = &s
}

func (t *task) hook() bool { return t.step.Action == plan.Hook }

func (t *task) prunes() bool {
	return t.step.Action == plan.Prune || t.step.Action == plan.SkipPrune
}

// unconfirmed reports whether the task's prune waits for a person.
func (m *Machine) unconfirmed(t *task) bool {
	return t.step.Action == plan.SkipPrune && t.step.Confirm && !m.confirmed && !m.record(t).State.Done()
}

// tell notes an event that happened in group g.
func (m *Machine) tell(g *group, e event.Event) {
	e.Phase, e.Wave, e.Group, e.Groups = g.phase, g.wave, g.number, len(m.groups)
	m.news = append(m.news, e)
}

// last reports whether g is the last group to be passed.
func (m *Machine) last(g *group) bool {
	return g.number == len(m.groups) || g.number == 0
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package saved is what is written down of a plan so that it can be carried out
// later, by somebody else, exactly as it was read: what it relies on and what each
// of its steps does, in digests and names. Planning again and comparing tells
// whether the world has moved. No value of an object is in it.
package saved

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Version is the version of the serialised form.
const Version = 1

// Plan is what must still hold when a plan is carried out.
type Plan struct {
	Version int `json:"version"`
	// App is the Application, "namespace/name", UID tells it from others that had
	// this name.
	App string `json:"app"`
	UID string `json:"uid,omitempty"`
	// Server and Namespace are the destination, Revisions those of the sources.
	Server    string   `json:"server"`
	Namespace string   `json:"namespace,omitempty"`
	Revisions []string `json:"revisions"`
	// Render is a digest of the rendered set, without fields that come out
	// differently each time.
	Render string `json:"render"`
	// Spec holds a digest for each field of the Application that has an influence.
	Spec map[string]string `json:"spec"`
	// Steps are those that do something, in their order.
	Steps []Step `json:"steps"`
}

// What a step does.
const (
	Create = "create"
	Update = "update"
	Delete = "delete"
	Hook   = "hook"
)

// Step is what is done with one object.
type Step struct {
	// ID is the plan's: "Sync/0/apps/Deployment/shop/web".
	ID string `json:"id"`
	// Object is "Kind/name".
	Object string `json:"object"`
	Action string `json:"action"`
	// Found is what the plan found: "absent" or "uid:UID"; a hook replaces whatever
	// there is.
	Found string `json:"found,omitempty"`
	// At is the resourceVersion of a Secret, of whose values not even a digest is
	// kept.
	At string `json:"at,omitempty"`
	// Fields are those that an update changes, with a digest of what they were.
	Fields map[string]string `json:"fields,omitempty"`
}

// Steps returns the steps of a plan that do something. Changes are the fields in
// which live objects differ.
func Steps(p *plan.Plan, changes func(manifest.Key) []diff.Change) []Step {
	list := []Step{}
	for _, g := range p.Groups {
		for _, s := range g.Steps {
			if step, acts := stepOf(s, changes); acts {
				list = append(list, step)
			}
		}
	}
	return list
}

func stepOf(s plan.Step, changes func(manifest.Key) []diff.Change) (Step, bool) {
	step := Step{ID: s.ID, Object: s.Key.Short(), Found: s.Precondition}
	if s.Key.Name == "" {
		step.Object = s.Key.Kind + "/" + s.Object.GetGenerateName() + "*"
	}
	switch s.Action {
	case plan.Create:
		step.Action = Create
	case plan.Update:
		step.Action = Update
		secret := s.Key.Group == "" && s.Key.Kind == "Secret"
		if secret {
			step.At = s.ResourceVersion
		}
		step.Fields = map[string]string{}
		for _, c := range changes(s.Key) {
			if secret {
				step.Fields[c.Path] = ""
			} else {
				step.Fields[c.Path] = digest(c.Live)
			}
		}
	case plan.Hook:
		step.Action, step.Found = Hook, ""
	case plan.Prune:
		step.Action = Delete
	case plan.SkipPrune:
		// Whether something still uses the object changes by itself.
		step.Action = Delete
		return step, s.Confirm || s.Deferred
	default:
		return step, false
	}
	return step, true
}

// digest identifies a value. It is short: it tells whether the value has changed and
// is of little use for guessing it.
func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// Fields gives each leaf of a value a digest, by its path.
func Fields(v any, path string, into map[string]string) {
	switch at := v.(type) {
	case map[string]any:
		for key, value := range at {
			Fields(value, path+"."+key, into)
		}
	case []any:
		for i, value := range at {
			Fields(value, fmt.Sprintf("%s[%d]", path, i), into)
		}
	default:
		into[strings.TrimPrefix(path, ".")] = digest(v)
	}
}

// ID identifies the plan: equal ids do the same to the same world.
func (p Plan) ID() string {
	data, err := json.Marshal(p)
	if err != nil {
		// Texts can always be written.
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Differences says in which points the plan as it would be made now differs from
// the one that was saved; nothing if it is the same.
func (p Plan) Differences(now Plan) []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if p.UID != now.UID {
		say("the Application was deleted and made again")
	}
	if changed := changedKeys(p.Spec, now.Spec); len(changed) > 0 {
		say("the Application was changed: %s", enumerated(changed))
	}
	if p.Server != now.Server || p.Namespace != now.Namespace {
		say("the destination was %s, it is %s", place(p), place(now))
	}
	if !slices.Equal(p.Revisions, now.Revisions) {
		say("the revision was %s, it is %s", strings.Join(p.Revisions, ", "), strings.Join(now.Revisions, ", "))
	} else if p.Render != now.Render {
		say("revision %s renders something else now: what charts ask the cluster has another answer, or another version of Wavetrain renders", strings.Join(p.Revisions, ", "))
	}
	return append(list, p.stepDifferences(now)...)
}

func place(p Plan) string { return strings.TrimSuffix(p.Server+" "+p.Namespace, " ") }

// stepDifferences goes through the steps in their order, first those that were
// planned.
func (p Plan) stepDifferences(now Plan) []string {
	var list []string
	present := map[string]Step{}
	for _, s := range now.Steps {
		present[s.ID] = s
	}
	planned := map[string]bool{}
	for _, s := range p.Steps {
		planned[s.ID] = true
		is, ok := present[s.ID]
		if text := s.difference(is, ok); text != "" {
			list = append(list, s.object()+" "+text)
		}
	}
	for _, s := range now.Steps {
		if planned[s.ID] {
			continue
		}
		text := fmt.Sprintf("would now be %s as well", past(s.Action))
		if len(s.Fields) > 0 {
			text += ": " + enumerated(slices.Sorted(maps.Keys(s.Fields))) + " " + agree(len(s.Fields)) + " not as it was when it was planned"
		}
		list = append(list, s.object()+" "+text)
	}
	return list
}

// difference says what has become of a planned step.
func (s Step) difference(now Step, ok bool) string {
	switch {
	case !ok && s.Action == Create:
		return "was to be created and exists by now"
	case !ok:
		return fmt.Sprintf("would no longer be %s: somebody has done it, or it is not needed any more", past(s.Action))
	case s.Action != now.Action && s.Action == Create:
		return "was to be created and exists by now"
	case s.Action != now.Action:
		return fmt.Sprintf("was to be %s and would now be %s", past(s.Action), past(now.Action))
	case s.Found != now.Found:
		return "was deleted and made again by somebody"
	case s.At != now.At:
		return fmt.Sprintf("was changed on the cluster (resourceVersion %s, it was %s)", now.At, s.At)
	}
	if changed := changedKeys(s.Fields, now.Fields); len(changed) > 0 {
		return "was changed on the cluster: " + enumerated(changed)
	}
	return ""
}

// object is the object of a step as people know it: "Deployment/web (Sync/0)".
func (s Step) object() string {
	parts := strings.SplitN(s.ID, "/", 3)
	return fmt.Sprintf("%s (%s/%s)", s.Object, parts[0], parts[min(1, len(parts)-1)])
}

func past(action string) string {
	switch action {
	case Hook:
		return "run as a hook"
	case Create, Update, Delete:
		return action + "d"
	}
	return action
}

func agree(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// changedKeys are the keys whose values differ, in order.
func changedKeys(a, b map[string]string) []string {
	changed := map[string]bool{}
	for k, v := range a {
		if other, ok := b[k]; !ok || other != v {
			changed[k] = true
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			changed[k] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// enumerated lists names, and not too many.
func enumerated(names []string) string {
	const most = 6
	if over := len(names) - most; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), over)
	}
	return strings.Join(names, ", ")
}

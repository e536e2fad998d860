// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Parse reads the rules of one file. Errors name the file and the line; nothing is guessed.
func Parse(file string, data []byte) (List, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	list := List{}
	if doc.Kind == 0 || resolve(doc.Content[0]).Tag == "!!null" {
		return list, nil
	}
	d := decoder{file: file}
	err := d.mapping(doc.Content[0], "the file", map[string]field{
		"rules": func(n *yaml.Node) error {
			if n.Tag == "!!null" {
				return nil
			}
			if n.Kind != yaml.SequenceNode {
				return d.errorf(n, "rules must be a list")
			}
			return d.sequence(n, func(n *yaml.Node) error {
				rule, err := d.rule(n)
				list = append(list, rule)
				return err
			})
		},
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (d decoder) rule(n *yaml.Node) (Rule, error) {
	r := Rule{Source: fmt.Sprintf("%s:%d", d.file, n.Line)}
	known := map[string]field{"match": func(n *yaml.Node) error { return d.match(n, &r.Match) }}
	d.podKeys(&r, known)
	d.objectKeys(&r, known)
	if err := d.mapping(n, "a rule", known); err != nil {
		return r, err
	}
	if r.Match == (Match{}) {
		return r, d.errorf(n, "a rule needs a match that names at least a kind, a name or an owner")
	}
	return r, r.check(d, n)
}

// check refuses rules whose effects contradict each other.
func (r *Rule) check(d decoder, n *yaml.Node) error {
	if b := r.Binding; b != nil && b.Never && (b.After > 0 || b.FirstPodUsingIt) {
		return d.errorf(n, "neverBind and bindAfter exclude each other")
	}
	if r.HasObjectEffect() && r.Match.objectKind() == "" {
		return d.errorf(n, "an effect on the object itself needs a match with a kind")
	}
	o := r.Outcome
	if o == nil {
		return nil
	}
	ends := 0
	for _, end := range []bool{o.SucceedAfter != nil, o.FailAfter != nil, o.NeverFinish} {
		if end {
			ends++
		}
	}
	switch {
	case ends > 1:
		return d.errorf(n, "succeedAfter, failAfter and neverFinish exclude each other")
	case o.NeverReady && o.ReadyAfter != nil:
		return d.errorf(n, "neverReady and readyAfter exclude each other")
	case o.ExitCode != nil && o.FailAfter == nil:
		return d.errorf(n, "exitCode needs failAfter")
	}
	return nil
}

func (d decoder) match(n *yaml.Node, m *Match) error {
	return d.mapping(n, "match", map[string]field{
		"kind":         d.nonEmpty(&m.Kind),
		"name":         d.nonEmpty(&m.Name),
		"namespace":    d.nonEmpty(&m.Namespace),
		"owner":        optional(&m.Owner, d.ref),
		"image":        d.nonEmpty(&m.Image),
		"generation":   number(d, &m.Generation, 1),
		"occurrence":   number(d, &m.Occurrence, 1),
		"storageClass": d.nonEmpty(&m.StorageClass),
	})
}

// outcome gives the key of an Outcome a place to write to.
func (r *Rule) outcome(read func(o *Outcome) field) field {
	return func(n *yaml.Node) error {
		if r.Outcome == nil {
			r.Outcome = &Outcome{}
		}
		return read(r.Outcome)(n)
	}
}

func (d decoder) podKeys(r *Rule, known map[string]field) {
	known["needs"] = func(n *yaml.Node) error {
		r.Needs = &Needs{FromPodSpec: fromPodSpec(n)}
		if r.Needs.FromPodSpec {
			return nil
		}
		return d.refs(&r.Needs.Refs)(n)
	}
	known["needsKeys"] = func(n *yaml.Node) error {
		if r.NeedsKeys = fromPodSpec(n); !r.NeedsKeys {
			return d.errorf(n, "needsKeys can only be fromPodSpec")
		}
		return nil
	}
	known["needsCompleted"] = d.refs(&r.NeedsCompleted)
	known["needsBound"] = d.refs(&r.NeedsBound)
	known["initTakes"] = optional(&r.InitTakes, d.duration)
	known["deletionTakes"] = optional(&r.DeletionTakes, d.duration)
	known["logs"] = d.nonEmpty(&r.Logs)
	known["addsNodes"] = optional(&r.AddsNodes, d.addsNodes)

	known["readyAfter"] = r.outcome(func(o *Outcome) field { return optional(&o.ReadyAfter, d.duration) })
	known["succeedAfter"] = r.outcome(func(o *Outcome) field { return optional(&o.SucceedAfter, d.duration) })
	known["failAfter"] = r.outcome(func(o *Outcome) field { return optional(&o.FailAfter, d.duration) })
	known["neverReady"] = r.outcome(func(o *Outcome) field { return d.boolean(&o.NeverReady) })
	known["neverFinish"] = r.outcome(func(o *Outcome) field { return d.boolean(&o.NeverFinish) })
	known["waiting"] = r.outcome(func(o *Outcome) field { return optional(&o.Waiting, d.waiting) })
	known["exitCode"] = r.outcome(func(o *Outcome) field {
		return optional(&o.ExitCode, func(code *int32) field { return number(d, code, 0) })
	})
}

func fromPodSpec(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Value == "fromPodSpec" }

func (d decoder) waiting(w *Waiting) field {
	return func(n *yaml.Node) error {
		if err := d.mapping(n, "waiting", map[string]field{
			"reason":  d.nonEmpty(&w.Reason),
			"message": d.text(&w.Message),
		}); err != nil {
			return err
		}
		if w.Reason == "" {
			return d.errorf(n, "waiting needs a reason")
		}
		return nil
	}
}

func (d decoder) addsNodes(a *AddsNodes) field {
	return func(n *yaml.Node) error {
		a.Count = 1
		return d.mapping(n, "addsNodes", map[string]field{
			"after":    d.duration(&a.After),
			"count":    number(d, &a.Count, 1),
			"zone":     d.nonEmpty(&a.Zone),
			"labels":   d.texts(&a.Labels),
			"capacity": d.texts(&a.Capacity),
		})
	}
}

// at wraps the keys of a timed effect.
func (d decoder) at(what string, at *time.Duration, keys map[string]field, required ...string) field {
	keys["at"] = d.duration(at)
	return func(n *yaml.Node) error {
		if err := d.mapping(n, what, keys); err != nil {
			return err
		}
		for _, key := range required {
			if !hasKey(n, key) {
				return d.errorf(n, "%s needs %s", what, key)
			}
		}
		return nil
	}
}

func hasKey(n *yaml.Node, key string) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

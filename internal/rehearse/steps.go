// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// commitStep is what a commit makes the branch's content.
type commitStep struct {
	Rev  string            `yaml:"rev"`
	Put  map[string]string `yaml:"put"`
	Drop []string          `yaml:"drop"`
}

func (s Step) content() (commitStep, error) {
	c := commitStep{Rev: s.text()}
	if c.Rev != "" {
		return c, nil
	}
	return c, s.decode(&c)
}

// lookStep is what render, plan and verify are given.
type lookStep struct {
	App     words  `yaml:"app"`
	Rev     string `yaml:"rev"`
	Cluster string `yaml:"cluster"`
	Delete  bool   `yaml:"delete"`
}

// words is a word or a list of them.
type words []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *words) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if unmarshal(&one) == nil {
		*l = words{one}
		return nil
	}
	return unmarshal((*[]string)(l))
}

func (s Step) asked() (lookStep, error) {
	if text := s.text(); text != "" {
		return lookStep{App: words{text}}, nil
	}
	var l lookStep
	return l, s.decode(&l)
}

// askStep is what somebody asks for.
type askStep struct {
	App       string   `yaml:"app"`
	Force     bool     `yaml:"force"`
	Prune     bool     `yaml:"prune"`
	Resources []string `yaml:"resources"`
}

func (s Step) request() (askStep, error) {
	if text := s.text(); text != "" {
		return askStep{App: text}, nil
	}
	var a askStep
	if err := s.decode(&a); err != nil {
		return a, err
	}
	for _, text := range a.Resources {
		if _, err := parseObject(text); err != nil {
			return a, err
		}
	}
	return a, nil
}

// deleteStep is what is deleted: an Application or an object by name, or one Pod of
// several.
type deleteStep struct {
	name     string
	OnePodOf struct {
		Deployment string `yaml:"deployment"`
		ReplicaSet string `yaml:"replicaSet"`
	} `yaml:"onePodOf"`
}

func (s Step) deletion() (deleteStep, error) {
	d := deleteStep{name: s.text()}
	if d.name != "" {
		if strings.Contains(d.name, "/") {
			_, err := parseObject(d.name)
			return d, err
		}
		return d, nil
	}
	type choice struct {
		OnePodOf struct {
			Deployment string `yaml:"deployment"`
			ReplicaSet string `yaml:"replicaSet"`
		} `yaml:"onePodOf"`
	}
	var c choice
	if err := s.decode(&c); err != nil {
		return d, err
	}
	d.OnePodOf = c.OnePodOf
	which := d.OnePodOf.ReplicaSet
	if namespace, name, _ := strings.Cut(d.OnePodOf.Deployment, "/"); namespace == "" || name == "" || which != "old" && which != "new" && which != "" {
		return d, errors.New("onePodOf needs deployment: namespace/name, and replicaSet: old or new")
	}
	return d, nil
}

// editStep is a change by hand.
type editStep struct {
	Object   string `yaml:"object"`
	Replicas *int64 `yaml:"replicas"`
	Image    string `yaml:"image"`
	Path     string `yaml:"path"`
	Value    any    `yaml:"value"`
	Manager  string `yaml:"manager"`
}

func (s Step) edit() (editStep, object, error) {
	e := editStep{Manager: by}
	if err := s.decode(&e); err != nil {
		return e, object{}, err
	}
	o, err := parseObject(e.Object)
	switch {
	case err != nil:
	case s.Verb == "scale" && e.Replicas == nil:
		err = errors.New("say to how many replicas")
	case s.Verb == "setImage" && e.Image == "":
		err = errors.New("say to which image")
	case s.Verb == "patch" && e.Path == "":
		err = errors.New("say which path")
	}
	return e, o, err
}

// touchStep is a change that is made again and again.
type touchStep struct {
	Object string        `yaml:"object"`
	Every  time.Duration `yaml:"every"`
	For    time.Duration `yaml:"for"`
}

func (s Step) touched() (touchStep, object, error) {
	t := touchStep{Every: time.Second}
	if err := s.decode(&t); err != nil {
		return t, object{}, err
	}
	o, err := parseObject(t.Object)
	if err == nil && (t.Every <= 0 || t.For <= 0) {
		err = errors.New("say how often and for how long, such as every: 1s, for: 10s")
	}
	return t, o, err
}

// waitStep is what a wait waits for.
type waitStep struct {
	For        time.Duration `yaml:"for"`
	Settled    time.Duration `yaml:"settled"`
	App        string        `yaml:"app"`
	Operation  string        `yaml:"operation"`
	Revision   string        `yaml:"revision"`
	Object     string        `yaml:"object"`
	Generation int64         `yaml:"generation"`
	Gone       bool          `yaml:"gone"`
	Within     time.Duration `yaml:"within"`
}

func (s Step) waitFor() (waitStep, error) {
	var what waitStep
	switch text := s.text(); text {
	case "":
		if err := s.decode(&what); err != nil {
			return what, err
		}
	case "settled":
		what.Settled = settleLimit
	default:
		return what, fmt.Errorf("%q cannot be waited for: write settled, or for, app or object with what is expected", text)
	}
	kinds := 0
	for _, given := range []bool{what.For > 0, what.Settled > 0, what.App != "", what.Object != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return what, errors.New("wait for one thing: settled, for a time, an app with its operation, or an object")
	case what.App != "" && !slices.Contains(phases(), what.Operation):
		return what, fmt.Errorf("operation: %q is no phase%s", what.Operation, choices(what.Operation, phases()))
	case what.Object != "":
		_, err := parseObject(what.Object)
		return what, err
	}
	return what, nil
}

// names are those of a check.
func (s Step) names() ([]string, error) {
	if text := s.text(); text != "" {
		return []string{text}, nil
	}
	var names []string
	if err := s.decode(&names); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("give the check a name")
	}
	return names, nil
}

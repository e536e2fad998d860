// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// settleLimit is how long a rehearsal waits for things to settle unless told
// otherwise.
const settleLimit = 90 * time.Second

// Case is a rehearsal laid out in a directory: the repository at each revision
// (rev1, rev2, …), Applications (app*.yaml), objects that are there before
// (cluster*.yaml), rules of the simulation (sim*.yaml) and steps (steps*.yaml).
type Case struct {
	Dir string
	// Variant chooses the files with that ending: sim-x.yaml, steps-x.yaml.
	Variant string
	Steps   []Step
	// Brisk takes things for settled sooner when everything has converged: for whoever
	// is interested in nothing else.
	Brisk bool
}

// Step is one thing that is done.
type Step struct {
	// At is how long after the step before it is done.
	At time.Duration
	// Verb says what, node what with.
	Verb string
	// File and Line are where it is written.
	File string
	Line int

	node *yaml.Node
}

// Load reads a case. Errors name the file and the line.
func Load(dir, variant string) (*Case, error) {
	c := &Case{Dir: dir, Variant: variant}
	file := c.variantFile("steps")
	data, err := os.ReadFile(filepath.Join(dir, file))
	switch {
	case errors.Is(err, fs.ErrNotExist) && variant != "" && !c.hasVariant():
		return nil, fmt.Errorf("%s has no file for variant %q", dir, variant)
	case errors.Is(err, fs.ErrNotExist):
		return c, errors.Join(c.usual(), c.validate())
	case err != nil:
		return nil, err
	}
	if c.Steps, err = parseSteps(file, data); err != nil {
		return nil, err
	}
	return c, c.validate()
}

func (c *Case) hasVariant() bool {
	found, err := filepath.Glob(filepath.Join(c.Dir, "*-"+c.Variant+".yaml"))
	return err == nil && len(found) > 0
}

// variantFile is the variant's file of a kind.
func (c *Case) variantFile(kind string) string {
	if c.Variant != "" {
		return kind + "-" + c.Variant + ".yaml"
	}
	return kind + ".yaml"
}

// simulation is the file of rules to begin with, empty for none.
func (c *Case) simulation() string {
	for _, file := range []string{c.variantFile("sim"), "sim.yaml"} {
		if c.has(file) {
			return file
		}
	}
	return ""
}

func (c *Case) has(file string) bool {
	_, err := os.Stat(filepath.Join(c.Dir, file))
	return err == nil
}

// usual are the steps of a case that lists none: what is there, then every
// revision until it has settled.
func (c *Case) usual() error {
	add := func(verb, value string) {
		c.Steps = append(c.Steps, Step{Verb: verb, node: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}})
	}
	if file := c.variantFile("cluster"); c.has(file) {
		add("cluster", file)
	} else if c.has("cluster.yaml") {
		add("cluster", "cluster.yaml")
	}
	revisions, err := c.revisions()
	if err != nil {
		return err
	}
	if len(revisions) == 0 {
		return fmt.Errorf("%s has neither steps.yaml nor a revision: put the repository into rev1/", c.Dir)
	}
	apps := "app.yaml"
	if file := c.variantFile("app"); c.has(file) {
		apps = file
	}
	if !c.has(apps) {
		return fmt.Errorf("%s has no %s: put the Application into it", c.Dir, apps)
	}
	for i, rev := range revisions {
		add("commit", rev)
		if i == 0 {
			add("app", apps)
		}
		add("wait", "settled")
	}
	return nil
}

var revision = regexp.MustCompile(`^rev(\d+)$`)

// revisions are the revisions of the case in their order.
func (c *Case) revisions() ([]string, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() && revision.MatchString(e.Name()) {
			list = append(list, e.Name())
		}
	}
	slices.SortFunc(list, func(a, b string) int { return revisionNumber(a) - revisionNumber(b) })
	return list, nil
}

func revisionNumber(name string) int {
	m := revision.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	// The pattern lets only digits through.
	n, _ := strconv.Atoi(m[1])
	return n
}

// verbs are the steps there are.
func verbs() []string {
	return []string{
		"cluster", "app", "sim", "settings", "commit", "render", "plan", "verify", "sync", "refresh", "terminate", "rollback", "confirm",
		"delete", "scale", "setImage", "patch", "touch", "wait", "check", "restart",
	}
}

func parseSteps(file string, data []byte) ([]Step, error) {
	var items []yaml.Node
	if err := yaml.Unmarshal(data, &items); err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	steps := make([]Step, 0, len(items))
	for i := range items {
		n := &items[i]
		step := Step{File: file, Line: n.Line}
		if n.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s:%d: a step is a key with what it needs, such as commit: rev1", file, n.Line)
		}
		for k := 0; k+1 < len(n.Content); k += 2 {
			key, value := n.Content[k].Value, n.Content[k+1]
			switch {
			case key == "at":
				var err error
				if step.At, err = time.ParseDuration(value.Value); err != nil {
					return nil, fmt.Errorf("%s:%d: at: %q is no duration such as 3s", file, value.Line, value.Value)
				}
			case !slices.Contains(verbs(), key):
				return nil, fmt.Errorf("%s:%d: there is no step %q%s", file, n.Content[k].Line, key, choices(key, verbs()))
			case step.Verb != "":
				return nil, fmt.Errorf("%s:%d: one step does one thing: %s or %s", file, n.Line, step.Verb, key)
			default:
				step.Verb, step.node = key, value
			}
		}
		if step.Verb == "" {
			return nil, fmt.Errorf("%s:%d: the step does nothing", file, n.Line)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// text returns the value of a step that is a single word.
func (s Step) text() string {
	if s.node != nil && s.node.Kind == yaml.ScalarNode {
		return s.node.Value
	}
	return ""
}

// wrap adds where a step is written.
func (s Step) wrap(err error) error {
	if err == nil {
		return nil
	}
	line := s.Line
	if at, ok := errors.AsType[faultError](err); ok {
		line = at.line
	}
	if s.File == "" {
		return fmt.Errorf("%s: %w", s.Verb, err)
	}
	return fmt.Errorf("%s:%d: %s: %w", s.File, line, s.Verb, err)
}

// String is the step in a line.
func (s Step) String() string {
	if text := s.text(); text != "" {
		return s.Verb + " " + text
	}
	data, err := yaml.Marshal(s.node)
	if err != nil {
		return s.Verb
	}
	return s.Verb + " " + strings.Join(strings.Fields(string(data)), " ")
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"strings"

	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/settings"
)

// Rules are the health rules of an installation, compiled. They may be used by several goroutines.
type Rules struct {
	// exact checks are found by "group/Kind", of the core group "Kind"; patterns are
	// matched against the same.
	exact    map[string]check
	patterns []pattern
	// problems are about rules that are for no kind in particular.
	problems []string
}

// pattern is a check for all kinds that it matches.
type pattern struct {
	glob  glob.Glob
	check check
}

// check judges an object. An error is about the check, not about the object.
type check interface {
	judge(ctx context.Context, obj map[string]any) (health.Result, error)
}

// broken is a check that could not be compiled. Its kinds are Unknown: that no rule was made for them would be a worse
// answer than that the rule does not work.
type broken struct{ err error }

func (b broken) judge(context.Context, map[string]any) (health.Result, error) {
	return health.Result{}, b.err
}

// NewRules compiles health rules. A rule that does not compile breaks only the kinds it is for.
func NewRules(written []settings.HealthRule) (*Rules, error) {
	compiler, err := NewCEL()
	if err != nil {
		return nil, err
	}
	r := &Rules{exact: map[string]check{}}
	for _, rule := range written {
		c := compile(compiler, rule)
		if !strings.Contains(rule.Target, "*") {
			r.exact[rule.Target] = c
			continue
		}
		g, err := glob.Compile(rule.Target)
		if err != nil {
			r.problems = append(r.problems, rule.From+": "+rule.Target+" is not a pattern: use * for any part of a group or kind")
			continue
		}
		r.patterns = append(r.patterns, pattern{glob: g, check: c})
	}
	return r, nil
}

// compile returns the check of a rule.
func compile(compiler *CEL, rule settings.HealthRule) check {
	switch {
	case rule.Broken != "":
		return broken{errors.New(rule.Broken)}
	case len(rule.Cases) > 0:
		c, err := newCELCheck(compiler, rule.From, rule.Cases)
		if err != nil {
			return broken{err}
		}
		return c
	default:
		script, err := CompileLua(rule.From, rule.Lua)
		if err != nil {
			return broken{err}
		}
		return luaCheck{name: rule.From, script: script}
	}
}

// Problems are what could not be read, one sentence each.
func (r *Rules) Problems() []string { return r.problems }

// Judge judges an object by the rule for exactly its kind, else by the first pattern that matches; ok is false when
// there is neither. It is a health.Custom.
func (r *Rules) Judge(obj *unstructured.Unstructured) (result health.Result, ok bool) {
	if r == nil {
		return health.Result{}, false
	}
	c := r.find(obj)
	if c == nil {
		return health.Result{}, false
	}
	result, err := c.judge(context.Background(), obj.Object)
	if err != nil {
		return health.Result{Status: health.Unknown, Reason: "RuleFailed", Message: err.Error()}, true
	}
	return result, true
}

func (r *Rules) find(obj *unstructured.Unstructured) check {
	gk := obj.GroupVersionKind().GroupKind()
	name := gk.Kind
	if gk.Group != "" {
		name = gk.Group + "/" + gk.Kind
	}
	if c, ok := r.exact[name]; ok {
		return c
	}
	for _, p := range r.patterns {
		if p.glob.Match(name) {
			return p.check
		}
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"fmt"

	"github.com/google/cel-go/cel"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/settings"
)

// reasonRule is the reason of verdicts of rules that people wrote.
const reasonRule = "CustomRule"

// luaCheck judges by a Lua script of Argo CD's contract: it returns a table with a status and a message.
type luaCheck struct {
	name   string
	script *Lua
}

func (c luaCheck) judge(ctx context.Context, obj map[string]any) (health.Result, error) {
	returned, err := c.script.Run(ctx, obj)
	if err != nil {
		return health.Result{}, err
	}
	switch v := returned.(type) {
	case nil:
		// A script that returns nothing has no opinion yet. To pass a gate for it would be to guess.
		return health.Result{Status: health.Progressing, Reason: reasonRule, Message: c.name + " returns nothing"}, nil
	case map[string]any:
		status, _ := v["status"].(string)
		message, _ := v["message"].(string)
		return verdict(c.name, status, message)
	default:
		return health.Result{}, fmt.Errorf("%s returns %v, not a table with status and message", c.name, returned)
	}
}

// verdict makes a result of the words of a rule.
func verdict(name, status, message string) (health.Result, error) {
	switch s := health.Status(status); s {
	case health.Healthy, health.Suspended, health.Progressing, health.Missing, health.Degraded, health.Unknown:
		return health.Result{Status: s, Reason: reasonRule, Message: message}, nil
	}
	return health.Result{}, fmt.Errorf("%s: %q is not a health status: use Healthy, Suspended, Progressing, Missing, Degraded or Unknown", name, status)
}

// celCheck judges by the first case that applies.
type celCheck struct {
	name  string
	cases []celCase
}

type celCase struct {
	when, message *Expression
	verdict       health.Result
}

func newCELCheck(compiler *CEL, name string, cases []settings.HealthCase) (*celCheck, error) {
	c := &celCheck{name: name}
	for i, written := range cases {
		at := fmt.Sprintf("%s: case %d", name, i+1)
		result, err := verdict(at, written.Status, written.Message)
		if err != nil {
			return nil, err
		}
		compiled := celCase{verdict: result}
		if written.When != "" {
			if compiled.when, err = compiler.Compile(at+": when", written.When, cel.BoolType); err != nil {
				return nil, err
			}
		}
		if written.MessageExpression != "" {
			if compiled.message, err = compiler.Compile(at+": messageExpression", written.MessageExpression, cel.StringType); err != nil {
				return nil, err
			}
		}
		c.cases = append(c.cases, compiled)
	}
	return c, nil
}

func (c *celCheck) judge(ctx context.Context, obj map[string]any) (health.Result, error) {
	for _, one := range c.cases {
		applies, err := one.applies(ctx, obj)
		if err != nil {
			return health.Result{}, err
		}
		if !applies {
			continue
		}
		if one.message == nil {
			return one.verdict, nil
		}
		result := one.verdict
		text, err := one.message.Eval(ctx, obj)
		if err != nil {
			return health.Result{}, err
		}
		result.Message = fmt.Sprint(text)
		return result, nil
	}
	return health.Result{Status: health.Progressing, Reason: reasonRule, Message: "no case of " + c.name + " applies"}, nil
}

func (c celCase) applies(ctx context.Context, obj map[string]any) (bool, error) {
	if c.when == nil {
		return true, nil
	}
	value, err := c.when.Eval(ctx, obj)
	if err != nil {
		return false, err
	}
	applies, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("%s: the expression yields %v, not true or false", c.when.name, value)
	}
	return applies, nil
}

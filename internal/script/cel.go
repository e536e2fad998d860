// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

const (
	// costLimit is the budget of one evaluation; it is what Kubernetes and those who follow it allow.
	costLimit = 1_000_000
	// checkEvery is after how many steps of a loop an expression sees that its time is up.
	checkEvery = 100
)

// CEL compiles expressions about an object, which they know by the name "object".
type CEL struct {
	env *cel.Env
}

// NewCEL returns a compiler of expressions.
func NewCEL() (*CEL, error) {
	env, err := cel.NewEnv(
		cel.Variable("object", cel.DynType),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		ext.Strings(),
		ext.Lists(),
		ext.Sets(),
	)
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	return &CEL{env: env}, nil
}

// Expression is a compiled expression.
type Expression struct {
	name    string
	program cel.Program
}

// Compile compiles an expression that yields a value of the kind wanted. Errors begin with the name, the line and the
// column.
func (c *CEL) Compile(name, text string, wanted *cel.Type) (*Expression, error) {
	ast, issues := c.env.Compile(text)
	if issues.Err() != nil {
		all := issues.Errors()
		if len(all) == 0 {
			return nil, fmt.Errorf("%s: %s", name, oneLine(issues.Err().Error()))
		}
		at := all[0].Location
		return nil, fmt.Errorf("%s:%d:%d: %s", name, at.Line(), at.Column()+1, oneLine(all[0].Message))
	}
	if got := ast.OutputType(); !got.IsExactType(wanted) && !got.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%s: the expression yields %s, not %s", name, got, wanted)
	}
	program, err := c.env.Program(ast, cel.CostLimit(costLimit), cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, oneLine(err.Error()))
	}
	return &Expression{name: name, program: program}, nil
}

// Eval evaluates the expression for an object.
func (e *Expression) Eval(ctx context.Context, obj map[string]any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	value, _, err := e.program.ContextEval(ctx, map[string]any{"object": obj})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s: the expression takes longer than %s", e.name, timeLimit)
	case err != nil && strings.Contains(err.Error(), "cost limit exceeded"):
		return nil, fmt.Errorf("%s: the expression costs more than %d", e.name, costLimit)
	case err != nil:
		return nil, fmt.Errorf("%s: %s", e.name, oneLine(err.Error()))
	}
	return value.Value(), nil
}

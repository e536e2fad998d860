// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package jq evaluates the jq expressions of ignore rules. An expression sees the
// object it is given and nothing else: no environment, no files, no clock; and it
// is stopped when it takes too long.
package jq

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// timeout bounds one evaluation.
const timeout = time.Second

// Deletion takes the fields out of an object that an expression selects.
type Deletion struct {
	expression string
	code       *gojq.Code
}

// Delete compiles the deletion of what an expression selects, for example
// ".spec.template.spec.containers[] | select(.name == \"proxy\")".
func Delete(expression string) (*Deletion, error) {
	query, err := gojq.Parse("del(" + expression + ")")
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %s", expression, oneLine(err))
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %s", expression, oneLine(err))
	}
	return &Deletion{expression: expression, code: code}, nil
}

// From returns a copy of the object without what the expression selects.
func (d *Deletion) From(obj map[string]any) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	results := d.code.RunWithContext(ctx, toJQ(obj))
	first, ok := results.Next()
	if !ok {
		return nil, fmt.Errorf("jq expression %q: no result", d.expression)
	}
	if err, failed := first.(error); failed {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("jq expression %q: stopped after %s", d.expression, timeout)
		}
		return nil, fmt.Errorf("jq expression %q: %s", d.expression, oneLine(err))
	}
	if _, more := results.Next(); more {
		return nil, fmt.Errorf("jq expression %q: more than one result", d.expression)
	}
	out, ok := fromJQ(first).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("jq expression %q: the result is not an object", d.expression)
	}
	return out, nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// toJQ copies a value into the types that jq calculates with.
func toJQ(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = toJQ(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = toJQ(item)
		}
		return out
	case int64:
		return int(v)
	case int32:
		return int(v)
	default:
		return value
	}
}

// fromJQ turns a result into the types that objects consist of.
func fromJQ(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, item := range v {
			v[name] = fromJQ(item)
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = fromJQ(item)
		}
		return v
	case int:
		return int64(v)
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f
	default:
		return value
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

const (
	// timeLimit bounds one run of a script or an expression, as in Argo CD.
	timeLimit = time.Second
	// maxSteps bounds the instructions of one run of a Lua script. Health scripts take some hundred.
	maxSteps = 1_000_000
	// maxText bounds the length of a text that a Lua script makes, and maxMemory all that it makes in one run.
	maxText   = 1 << 20
	maxMemory = 64 << 20
)

// Lua is a compiled Lua script.
type Lua struct {
	proto *lua.FunctionProto
}

// CompileLua compiles a script. Errors of the script, now or when it runs, begin with the name and the line.
func CompileLua(name, source string) (*Lua, error) {
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		if syntax, ok := errors.AsType[*parse.Error](err); ok {
			return nil, fmt.Errorf("%s:%d: %s near %q", name, syntax.Pos.Line, syntax.Message, syntax.Token)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	proto, err := lua.Compile(metered(chunk), name)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, oneLine(err.Error()))
	}
	return &Lua{proto: proto}, nil
}

// Run runs the script with the object as its global "obj" and returns what the script returns. The object itself is
// not changed.
func (l *Lua) Run(ctx context.Context, obj map[string]any) (any, error) {
	name := l.proto.SourceName
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	bound := &bounded{Context: ctx}
	state := newState()
	defer state.Close()
	bound.replace(state)
	state.SetGlobal("obj", toLua(state, obj))
	state.SetContext(bound)
	state.Push(state.NewFunctionFromProto(l.proto))
	given := bound.meters(state)
	for _, meter := range given {
		state.Push(meter)
	}
	err := state.PCall(len(given), 1, nil)
	switch {
	case bound.exceeded != nil:
		return nil, fmt.Errorf("%s: %w", name, bound.exceeded)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s: the script takes longer than %s", name, timeLimit)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", name, ctx.Err())
	case err != nil:
		return nil, errors.New(raised(name, err))
	}
	return fromLua(state.Get(-1), 0), nil
}

// raised is the script's error on one line, without the stack.
func raised(name string, err error) string {
	text := err.Error()
	if api, ok := errors.AsType[*lua.ApiError](err); ok && api.Object != lua.LNil {
		text = api.Object.String()
	}
	if !strings.HasPrefix(text, name) {
		text = name + ": " + text
	}
	return oneLine(text)
}

func oneLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(text)
}

// bounded ends a script that takes too many steps or too much memory. The interpreter asks for Done before each
// instruction, which makes it the one place where steps can be counted.
type bounded struct {
	context.Context
	steps    int
	memory   int
	matching int
	exceeded error
}

var (
	errSteps    = fmt.Errorf("the script takes more than %d steps", maxSteps)
	errText     = fmt.Errorf("the script makes a text longer than %d bytes", maxText)
	errMatching = fmt.Errorf("the script's patterns take more than %d steps", maxMatching)
	errMemory   = fmt.Errorf("the script takes more than %d bytes of memory", maxMemory)
)

// Done implements context.Context.
func (b *bounded) Done() <-chan struct{} {
	b.steps++
	if b.steps > maxSteps && b.exceeded == nil {
		b.exceeded = errSteps
	}
	if b.exceeded == nil {
		return b.Context.Done()
	}
	over := make(chan struct{})
	close(over)
	return over
}

// Err implements context.Context.
func (b *bounded) Err() error {
	if b.exceeded != nil {
		return b.exceeded
	}
	return b.Context.Err()
}

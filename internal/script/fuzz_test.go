// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"context"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/wavetrain/wavetrain/internal/script"
)

// odd is an object with what scripts do not expect.
func odd() map[string]any {
	return map[string]any{
		"kind": "Widget", "metadata": map[string]any{"name": "w", "generation": int64(2)},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, nil, "x", 1.5, []any{}}, "n": nil},
	}
}

// FuzzLua runs scripts that nobody would write: they end, and harm nothing.
func FuzzLua(f *testing.F) {
	for _, seed := range []string{
		"return {status = 'Healthy'}", "return string.gsub(string.rep('a', 1e5), '.-b', '')", "return string.find(string.rep('a', 1e5), '.-.-.-b')",
		"return string.match('a(b)c', '(%()(.-)(%))'), string.gsub('a.b.c', '%.', '/'), string.match('x=1, y=2', '(%w+)=(%d+)')", "for _, c in ipairs(obj.status.conditions) do if c.type == 'Ready' then return {status='Healthy'} end end",
		"while true do end", "local s = 'x' while true do s = s .. s end", "local t = {} for i = 1, 1e9 do t[i] = {} end", "return string.rep('x', 1e10)",
		"return string.format('%99999d', 1)", "local function f() return f() end return f()", "local function f() return 1 + f() end return f()",
		"return setmetatable({}, {__index = function(t, k) return t[k] end}).x", "os.exit()",
		"goto x ::x:: goto x", "error(obj)", "return obj.status.conditions[2].type",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, source string) {
		compiled, err := script.CompileLua("fuzz", source)
		if err != nil {
			return
		}
		_, _ = compiled.Run(context.Background(), odd())
	})
}

// FuzzCEL evaluates expressions that nobody would write.
func FuzzCEL(f *testing.F) {
	for _, seed := range []string{
		"object.kind == 'Widget'", "object.status.conditions.exists(c, c.type == 'Ready')", "object.?status.?n.orValue(1) > 0", "[1,2,3].map(a, [1,2,3].map(b, a*b))",
		"object.status.conditions.all(c, has(c.type))", "'%s'.format([object])", "'a'.matches('(a+)+$')", "1/0", "object.metadata.generation + 9223372036854775807",
		"duration('9999999999h')", "timestamp('0000-00-00T00:00:00Z')", "object[object]", "'x'.replace('', 'yyyyyyyyyy')", "lists.range(1000000000)",
	} {
		f.Add(seed)
	}
	compiler, err := script.NewCEL()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		expression, err := compiler.Compile("fuzz", text, cel.BoolType)
		if err != nil {
			return
		}
		_, _ = expression.Eval(context.Background(), odd())
	})
}

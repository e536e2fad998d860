// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// newState makes an interpreter in which a script can compute and nothing else. What is safe of the standard libraries
// is always there, so that it does not matter whether a script asks for all of them to be opened.
func newState() *lua.LState {
	state := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: 200, MinimizeStackMemory: true,
		RegistrySize: 1024, RegistryMaxSize: 64 * 1024, RegistryGrowStep: 1024,
	})
	for _, library := range []struct {
		name string
		open lua.LGFunction
		safe []string
	}{
		{"_G", lua.OpenBase, []string{
			"assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawset", "select",
			"setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall", "_VERSION",
		}},
		{lua.StringLibName, lua.OpenString, []string{
			"byte", "char", "find", "format", "gfind", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper", "__index",
		}},
		{lua.TabLibName, lua.OpenTable, []string{"concat", "getn", "insert", "maxn", "remove", "sort"}},
		{lua.MathLibName, lua.OpenMath, nil},
		{lua.OsLibName, lua.OpenOs, []string{"clock", "date", "difftime", "time"}},
	} {
		state.Push(state.NewFunction(library.open))
		state.Push(lua.LString(library.name))
		state.Call(1, 0)
		if library.safe != nil {
			keep(state, library.name, library.safe)
		}
	}
	// Scripts that were once debugged still print.
	state.SetGlobal("print", state.NewFunction(func(*lua.LState) int { return 0 }))
	return state
}

// keep removes all but the named members of a library.
func keep(state *lua.LState, library string, safe []string) {
	table, ok := state.GetGlobal(library).(*lua.LTable)
	if !ok {
		return
	}
	var unsafe []lua.LValue
	table.ForEach(func(name, member lua.LValue) {
		// Other libraries and the table of globals itself are members of the latter.
		if _, isTable := member.(*lua.LTable); !isTable && !slices.Contains(safe, name.String()) {
			unsafe = append(unsafe, name)
		}
	})
	for _, name := range unsafe {
		table.RawSet(name, lua.LNil)
	}
}

// toLua makes a Lua value of a JSON value. Null inside of lists and objects is absent, as Lua has it.
func toLua(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case int32:
		return lua.LNumber(v)
	case int:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case map[string]any:
		table := state.CreateTable(0, len(v))
		for key, field := range v {
			table.RawSetString(key, toLua(state, field))
		}
		return table
	case []any:
		table := state.CreateTable(len(v), 0)
		for i, element := range v {
			table.RawSetInt(i+1, toLua(state, element))
		}
		return table
	}
	return lua.LNil
}

// maxDepth bounds how deep a returned table is read: a table may contain itself.
const maxDepth = 8

// fromLua makes a Go value of what a script returns: a bool, a float64, a string, or a map for a table.
func fromLua(v lua.LValue, depth int) any {
	switch v := v.(type) {
	case lua.LBool:
		return bool(v)
	case lua.LNumber:
		return float64(v)
	case lua.LString:
		return string(v)
	case *lua.LTable:
		fields := map[string]any{}
		if depth < maxDepth {
			v.ForEach(func(key, field lua.LValue) { fields[key.String()] = fromLua(field, depth+1) })
		}
		return fields
	}
	return nil
}

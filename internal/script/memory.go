// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/pm"
)

// What things are taken to cost. The interpreter's tables keep a value in 16 bytes and a key in some more.
const (
	costTable = 256
	costField = 128
	costSlot  = 16
	costMatch = 128
	// maxSubject bounds the texts in which all matches of a pattern are sought at once.
	maxSubject = maxText / 4
)

// charge counts memory that a script asks for. A script that asks for too much is ended; it cannot catch that, because
// the next instruction ends it again.
func (b *bounded) charge(state *lua.LState, bytes int) {
	b.memory += bytes
	if b.memory > maxMemory {
		b.end(state, errMemory)
	}
}

// chargeText counts a text and refuses one that is too long.
func (b *bounded) chargeText(state *lua.LState, length int) {
	if length > maxText {
		b.end(state, errText)
	}
	b.charge(state, length)
}

func (b *bounded) end(state *lua.LState, why error) {
	if b.exceeded == nil {
		b.exceeded = why
	}
	state.RaiseError("%s", why.Error())
}

// meters returns the functions that a metered script is called with, in the order of their names.
func (b *bounded) meters(state *lua.LState) []lua.LValue {
	return []lua.LValue{state.NewFunction(b.text), state.NewFunction(b.table), state.NewFunction(b.room)}
}

// text lets a text pass that was just made.
func (b *bounded) text(state *lua.LState) int {
	if text, ok := state.Get(1).(lua.LString); ok {
		b.chargeText(state, len(text))
	}
	state.Push(state.Get(1))
	return 1
}

// table lets a table pass that was just made, or a key under which one is about to be made.
func (b *bounded) table(state *lua.LState) int {
	switch v := state.Get(1).(type) {
	case *lua.LTable:
		b.charge(state, costTable+v.Len()*costSlot)
	case lua.LNumber:
		b.charge(state, costField+slots(v, 0))
	}
	state.Push(state.Get(1))
	return 1
}

// room lets a table pass that is about to get a field.
func (b *bounded) room(state *lua.LState) int {
	b.grow(state, state.Get(1), state.Get(2))
	state.Push(state.Get(1))
	return 1
}

func (b *bounded) grow(state *lua.LState, into, key lua.LValue) {
	cost := costField
	if table, ok := into.(*lua.LTable); ok {
		if n, ok := key.(lua.LNumber); ok {
			cost += slots(n, table.Len())
		}
	}
	b.charge(state, cost)
}

// slots is what it costs to have room for a number in a table of some length.
func slots(n lua.LNumber, length int) int {
	if n <= lua.LNumber(length) || n >= lua.LNumber(lua.MaxArrayIndex) {
		return 0
	}
	return (int(n) - length) * costSlot
}

// replace puts functions that count in the place of those of the libraries that make texts and tables.
func (b *bounded) replace(state *lua.LState) {
	if texts, ok := state.GetGlobal(lua.StringLibName).(*lua.LTable); ok {
		for _, name := range []string{"lower", "upper", "reverse", "char"} {
			b.after(state, texts, name)
		}
		texts.RawSetString("rep", state.NewFunction(b.repeat))
		texts.RawSetString("gsub", state.NewFunction(b.substitute))
		b.before(state, texts, "format", b.format)
		b.before(state, texts, "gmatch", b.matches)
		b.before(state, texts, "gfind", b.matches)
		b.before(state, texts, "find", b.first)
		b.before(state, texts, "match", b.first)
	}
	if tables, ok := state.GetGlobal(lua.TabLibName).(*lua.LTable); ok {
		b.before(state, tables, "insert", func(state *lua.LState) { b.grow(state, state.Get(1), state.Get(2)) })
		b.before(state, tables, "concat", b.join)
	}
	if globals, ok := state.GetGlobal("_G").(*lua.LTable); ok {
		b.before(state, globals, "rawset", func(state *lua.LState) { b.grow(state, state.Get(1), state.Get(2)) })
	}
}

// before has a function of a library called only after its arguments were looked at.
func (b *bounded) before(state *lua.LState, library *lua.LTable, name string, look func(*lua.LState)) {
	original, ok := library.RawGetString(name).(*lua.LFunction)
	if !ok || original.GFunction == nil {
		return
	}
	// Some functions have values of their own, such as the iterator of gmatch.
	values := make([]lua.LValue, len(original.Upvalues))
	for i, v := range original.Upvalues {
		values[i] = v.Value()
	}
	library.RawSetString(name, state.NewClosure(func(state *lua.LState) int {
		look(state)
		return original.GFunction(state)
	}, values...))
}

// after has the text counted that a function of a library returns.
func (b *bounded) after(state *lua.LState, library *lua.LTable, name string) {
	original, ok := library.RawGetString(name).(*lua.LFunction)
	if !ok || original.GFunction == nil {
		return
	}
	library.RawSetString(name, state.NewFunction(func(state *lua.LState) int {
		n := original.GFunction(state)
		if text, ok := state.Get(-1).(lua.LString); ok {
			b.chargeText(state, len(text))
		}
		return n
	}))
}

// repeat is string.rep.
func (b *bounded) repeat(state *lua.LState) int {
	text, n := state.CheckString(1), max(state.CheckInt(2), 0)
	if len(text) > 0 && n > maxText/len(text) {
		b.end(state, errText)
	}
	b.chargeText(state, len(text)*n)
	state.Push(lua.LString(strings.Repeat(text, n)))
	return 1
}

// wide finds what asks for a field of more than 99 characters, which Lua does not allow either.
var wide = regexp.MustCompile(`%[-+ #0]*(\d{3,}|\d*\.\d{3,})`)

func (b *bounded) format(state *lua.LState) {
	layout := state.CheckString(1)
	if wide.MatchString(layout) {
		state.RaiseError("invalid format (width or precision too long)")
	}
	// Each directive makes at most a hundred characters of its own.
	length := len(layout) * 50
	for i := 2; i <= state.GetTop(); i++ {
		if text, ok := state.Get(i).(lua.LString); ok {
			length += len(text)
		}
	}
	b.chargeText(state, length)
}

// matches looks at a text in which all matches of a pattern are to be found.
func (b *bounded) matches(state *lua.LState) {
	text := state.CheckString(1)
	if len(text) > maxSubject {
		b.end(state, errText)
	}
	b.charge(state, (len(text)+1)*costMatch/4)
	b.rehearse(state, text, state.CheckString(2), 0, state.OptInt(4, -1))
}

// first looks at a text in which one match of a pattern is to be found.
func (b *bounded) first(state *lua.LState) {
	if lua.LVAsBool(state.Get(4)) {
		return
	}
	text, from := state.CheckString(1), state.OptInt(3, 1)
	if from < 0 {
		from += len(text) + 1
	}
	b.rehearse(state, text, state.CheckString(2), from-1, 1)
}

// join looks at the texts that table.concat is about to join.
func (b *bounded) join(state *lua.LState) {
	table := state.CheckTable(1)
	separator := len(state.OptString(2, ""))
	length := 0
	for i := state.OptInt(3, 1); i <= state.OptInt(4, table.Len()) && length <= maxText; i++ {
		length += len(lua.LVAsString(table.RawGetInt(i))) + separator
	}
	b.chargeText(state, length)
}

// substitute is string.gsub. The interpreter's own copies the whole text for each match.
func (b *bounded) substitute(state *lua.LState) int {
	b.matches(state)
	text, pattern, by := state.CheckString(1), state.CheckString(2), state.CheckAny(3)
	state.CheckTypes(3, lua.LTString, lua.LTNumber, lua.LTTable, lua.LTFunction)
	found, err := pm.Find(pattern, []byte(text), 0, state.OptInt(4, -1))
	if err != nil {
		state.RaiseError("%s", err.Error())
	}
	var made strings.Builder
	end := 0
	for _, match := range found {
		made.WriteString(text[end:match.Capture(0)])
		end = match.Capture(1)
		made.WriteString(b.substitution(state, text, match, by))
		if made.Len() > maxText {
			b.end(state, errText)
		}
	}
	made.WriteString(text[end:])
	b.chargeText(state, made.Len())
	state.Push(lua.LString(made.String()))
	state.Push(lua.LNumber(len(found)))
	return 2
}

// substitution is what takes the place of one match.
func (b *bounded) substitution(state *lua.LState, text string, match *pm.MatchData, by lua.LValue) string {
	whole := text[match.Capture(0):match.Capture(1)]
	var value lua.LValue
	switch by := by.(type) {
	case *lua.LTable:
		value = state.GetTable(by, captured(state, text, match, 1))
	case *lua.LFunction:
		args := []lua.LValue{captured(state, text, match, 1)}
		for i := 2; 2*i < match.CaptureLength(); i++ {
			args = append(args, captured(state, text, match, i))
		}
		if err := state.CallByParam(lua.P{Fn: by, NRet: 1}, args...); err != nil {
			state.RaiseError("%s", oneLine(err.Error()))
		}
		value = state.Get(-1)
		state.Pop(1)
	default:
		return expand(state, text, match, lua.LVAsString(by))
	}
	switch {
	case lua.LVIsFalse(value):
		return whole
	case !lua.LVCanConvToString(value):
		state.RaiseError("invalid replacement value (a %s)", value.Type())
	}
	return lua.LVAsString(value)
}

// expand replaces %0 to %9 in a replacement by what was captured.
func expand(state *lua.LState, text string, match *pm.MatchData, by string) string {
	var made strings.Builder
	for i := 0; i < len(by) && made.Len() <= maxText; i++ {
		if by[i] != '%' || i+1 == len(by) {
			made.WriteByte(by[i])
			continue
		}
		i++
		if by[i] < '0' || by[i] > '9' {
			made.WriteByte(by[i])
			continue
		}
		made.WriteString(captured(state, text, match, int(by[i]-'0')).String())
	}
	return made.String()
}

// captured returns a capture of a match: 0 is all of it, and so is 1 if nothing was captured.
func captured(state *lua.LState, text string, match *pm.MatchData, n int) lua.LValue {
	if n == 1 && match.CaptureLength() <= 2 {
		n = 0
	}
	if 2*n >= match.CaptureLength() {
		state.RaiseError("invalid capture index")
	}
	if match.IsPosCapture(2 * n) {
		return lua.LNumber(match.Capture(2 * n))
	}
	return lua.LString(text[match.Capture(2*n):match.Capture(2*n+1)])
}

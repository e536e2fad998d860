// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/health"
)

// TestMemoryOfALuaScriptIsBounded runs scripts that ask for more memory than any machine has. What is measured is all
// that was allocated, whether it was kept or not.
func TestMemoryOfALuaScriptIsBounded(t *testing.T) {
	for name, row := range map[string]struct{ source, says string }{
		"many long texts":         {"local t, s = {}, string.rep('x', 1000000)\nwhile true do t[#t + 1] = s .. #t end", "bytes of memory"},
		"thrown away":             {"local s = string.rep('x', 1000000)\nwhile true do local u = s .. 'y' end", "bytes of memory"},
		"caught":                  {"local s = string.rep('x', 1000000)\nwhile true do pcall(function() local u = s .. 'y' end) end", "bytes of memory"},
		"repeated":                {"local t = {}\nwhile true do table.insert(t, string.rep('x', 1000000)) end", "bytes of memory"},
		"in one instruction":      {"local s = string.rep('x', 1000000)\nreturn s" + strings.Repeat(" .. s", 50), "longer than"},
		"a far number":            {"local t = {}\nt[60000000] = 1", "bytes of memory"},
		"a far number, computed":  {"local t = {}\nt[math.floor(6e7)] = 1", "bytes of memory"},
		"a far number, of many":   {"local t, a = {}\na, t[math.floor(6e7)] = 1, 2", "bytes of memory"},
		"a far number, inserted":  {"local t = {}\ntable.insert(t, 60000000, 1)", "bytes of memory"},
		"a far number, raw":       {"local t = {}\nrawset(t, 60000000, 1)", "bytes of memory"},
		"a far number, written":   {"local t = {[60000000] = 1}", "bytes of memory"},
		"far numbers, many":       {"local t = {}\nwhile true do t[#t + 1] = {[60000] = 1} end", "bytes of memory"},
		"many tables":             {"local t = {}\nwhile true do t = {t, {}, {}} end", "bytes of memory"},
		"joined":                  {"local t, s = {}, string.rep('x', 1000000)\nfor i = 1, 50000 do t[i] = s end\nreturn table.concat(t)", "longer than"},
		"replaced":                {"return (string.rep('x', 200000):gsub('x', string.rep('y', 1000000)))", "longer than"},
		"replaced by a function":  {"local s = string.rep('y', 1000000)\nreturn (string.rep('x', 200000):gsub('x', function() return s end))", "longer than"},
		"replaced by a table":     {"return (string.rep('x', 200000):gsub('x', {x = string.rep('y', 1000000)}))", "longer than"},
		"replaced by itself":      {"return (string.rep('x', 200000):gsub('.*', string.rep('%0', 1000)))", "longer than"},
		"formatted":               {"return string.format(string.rep('%999999d', 1000), 1)", "too long"},
		"formatted, of long text": {"local s = string.rep('x', 1000000)\nreturn string.format('%s%s%s%s', s, s, s, s)", "longer than"},
		"matched":                 {"local s = string.rep('x', 1000000)\nfor m in s:gmatch('x') do end", "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules(t, map[string]string{"resource.customizations.health.example.com_Widget": row.source})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, _ := r.Judge(parse(t, widget))
			runtime.ReadMemStats(&after)
			if got.Status != health.Unknown || !strings.Contains(got.Message, row.says) {
				t.Errorf("%s %q, want Unknown that says %q", got.Status, got.Message, row.says)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 256<<20 {
				t.Errorf("%d MB were allocated", taken>>20)
			}
		})
	}
}

// TestMeteredScriptsMeanTheSame: a script is rewritten to count its memory, which must not be seen.
func TestMeteredScriptsMeanTheSame(t *testing.T) {
	for name, source := range map[string]string{
		"order of assignment": "local i, t = 1, {}\ni, t[i + 0] = i + 1, 20\nreturn tostring(i) .. tostring(t[1]) .. tostring(t[2]) == '220nil'",
		"key computed once":   "local n, t = 0, {}\nlocal function key() n = n + 1 return n end\nt[key()] = 'a'\nreturn n == 1 and t[1] == 'a'",
		"nested":              "local t = {a = {b = {}}}\nt.a.b['c' .. 1] = {x = 'y' .. 'z', 5, [10] = 6}\nreturn t.a.b.c1.x == 'yz' and t.a.b.c1[1] == 5 and t.a.b.c1[10] == 6",
		"all values of calls": "local function three() return 1, 2, 3 end\nlocal t = {three()}\nreturn #t == 3 and select('#', three()) == 3",
		"values of arguments": "local function all(...) return {...} end\nreturn #all(1, 2, 3) == 3",
		"metatables":          "local seen = {}\nlocal t = setmetatable({}, {__newindex = function(_, k, v) seen[k] = v end, __concat = function() return 'joined' end})\nt.x = 1\nreturn seen.x == 1 and rawget(t, 'x') == nil and t .. 'y' == 'joined'",
		"upvalues":            "local s = ''\nfor i = 1, 3 do local f = function() s = s .. i end f() end\nreturn s == '123'",
		"gsub with text":      "return ('hello world'):gsub('(o)(.?)', '<%2%1%0%%>') == 'hell< oo %>w<roor%>ld'",
		"gsub counts":         "return select(2, ('abcabc'):gsub('b', 'x')) == 2 and ('abcabc'):gsub('b', 'x', 1) == 'axcabc'",
		"gsub with function":  "return ('a=1, b=2'):gsub('(%w)=(%w)', function(k, v) if k == 'a' then return v .. k end end) == '1a, b=2'",
		"gsub with table":     "return ('$name is $age'):gsub('%$(%w+)', {name = 'lua'}) == 'lua is $age'",
		"gsub at each place":  "return ('abc'):gsub('', '-') == '-a-b-c-'",
		"gsub anchored":       "return ('  x '):gsub('^%s+', '') == 'x '",
		"gsub positions":      "return ('ab'):gsub('()b', '%1') == 'a2'",
		"format":              "return string.format('%-5s|%05.2f|%d%%', 'ab', 3.14159, 7) == 'ab   |03.14|7%'",
		"concat":              "return table.concat({1, 'b', 3}, ', ') == '1, b, 3' and table.concat({1, 2, 3}, '', 2, 3) == '23'",
		"insert":              "local t = {1, 3}\ntable.insert(t, 2, 2)\ntable.insert(t, 4)\nreturn table.concat(t) == '1234'",
		"goto":                "local n = 0\nwhile true do\n n = n + 1\n if n > 3 then break end\nend\nrepeat n = n - 1 until n .. '' == '0'\nreturn n == 0",
		"methods":             "local t = {n = 0}\nfunction t:add(x) self.n = self.n + x return self end\nfunction t.plain(x) return x .. '!' end\nreturn t:add(2):add(3).n == 5 and t.plain('a') == 'a!'",
	} {
		t.Run(name, func(t *testing.T) {
			source := "local function check()\n" + source + "\nend\nlocal ok = check()\nreturn {status = ok and 'Healthy' or 'Degraded', message = tostring(ok)}"
			r := rules(t, map[string]string{"resource.customizations.health.example.com_Widget": source})
			if got, _ := r.Judge(parse(t, widget)); got.Status != health.Healthy {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
		})
	}
}

// TestErrorsOfMeteredScriptsNameTheLine: what is put around an expression has no line of its own.
func TestErrorsOfMeteredScriptsNameTheLine(t *testing.T) {
	for name, row := range map[string]struct{ source, says string }{
		"joining nothing":   {"local x\n\nreturn 'a' .. x", ":3: "},
		"into nothing":      {"local x\nx.y = 1", ":2: "},
		"computed":          {"local x = {}\nlocal y\n\nx[y.z] = 1", ":4: "},
		"a table of errors": {"local y\nreturn {\n  a = 'b' .. y,\n}", ":3: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules(t, map[string]string{"resource.customizations.health.example.com_Widget": row.source})
			if got, _ := r.Judge(parse(t, widget)); got.Status != health.Unknown || !strings.Contains(got.Message, row.says) {
				t.Errorf("%s %q, want Unknown that says %q", got.Status, got.Message, row.says)
			}
		})
	}
}

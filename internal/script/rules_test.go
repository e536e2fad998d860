// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/script"
	"github.com/wavetrain/wavetrain/internal/settings"
)

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	document, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(document); err != nil {
		t.Fatal(err)
	}
	return obj
}

func rules(t testing.TB, data map[string]string) *script.Rules {
	t.Helper()
	r, err := script.NewRules(settings.Parse(data).Health)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 3, labels: {tier: gold}}, spec: {sizes: [1, 2, 4], replicas: 2}, status: {phase: Cooking, ratio: 0.5, ready: 1}}"

// says returns a script for every object that returns the given table.
func says(status, message string) string {
	return `return {status = "` + status + `", message = "` + message + `"}`
}

func TestJudge(t *testing.T) {
	const ours, lua = "wavetrain.dev.health.example.com_Widget", "resource.customizations.health.example.com_Widget"
	phases := `
hs = {}
if obj.status ~= nil and obj.status.phase == "Cooking" then
  hs.status = "Progressing"
  hs.message = "phase " .. obj.status.phase .. " of " .. obj.metadata.name
  return hs
end
hs.status = "Healthy"
return hs`
	for name, row := range map[string]struct {
		reason string
		data   map[string]string
		object string
		want   health.Status
		says   string
		none   bool
	}{
		"script":        {reason: "the script decides", data: map[string]string{lua: phases}, want: health.Progressing, says: "phase Cooking of w"},
		"no rule":       {reason: "another kind's rule is none of this one's", data: map[string]string{"resource.customizations.health.example.com_Gadget": phases}, none: true},
		"other key":     {reason: "other settings are left alone", data: map[string]string{"url": "https://argocd.example.com", "resource.customizations.ignoreDifferences.example.com_Widget": "x"}, none: true},
		"core kind":     {reason: "the core group has no name", data: map[string]string{"resource.customizations.health.ConfigMap": says("Healthy", "made")}, object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}", want: health.Healthy, says: "made"},
		"combined":      {reason: "all kinds may be in one key", data: map[string]string{"resource.customizations": "example.com/Widget:\n  health.lua.useOpenLibs: true\n  health.lua: |\n    return {status = string.gsub('Suspend', 'nd$', 'nded')}\n  ignoreDifferences: x\n"}, want: health.Suspended},
		"wildcard":      {reason: "a pattern covers a family", data: map[string]string{"resource.customizations": "'*.com/*':\n  health.lua: return {status = 'Degraded', message = 'family'}\n"}, want: health.Degraded, says: "family"},
		"wildcard, not": {reason: "a star for a group does not match another group", data: map[string]string{"resource.customizations": "'*.org/*':\n  health.lua: return {status = 'Degraded'}\n"}, none: true},
		"any kind":      {reason: "a star alone matches all", data: map[string]string{"resource.customizations": "'*':\n  health.lua: return {status = 'Suspended'}\n"}, want: health.Suspended},
		"exact first":   {reason: "the kind's own rule counts more than a pattern's", data: map[string]string{lua: says("Healthy", "own"), "resource.customizations": "'*.com/*':\n  health.lua: return {status = 'Degraded'}\n"}, want: health.Healthy, says: "own"},
		"first pattern": {reason: "patterns are tried in their order", data: map[string]string{"resource.customizations": "'*/Widget':\n  health.lua: return {status = 'Healthy', message = 'one'}\n'example.*/*':\n  health.lua: return {status = 'Degraded'}\n"}, want: health.Healthy, says: "one"},
		"own key wins":  {reason: "a key for one kind counts more than the key for all", data: map[string]string{lua: says("Healthy", "split"), "resource.customizations": "example.com/Widget:\n  health.lua: return {status = 'Degraded'}\n"}, want: health.Healthy, says: "split"},
		"no health":     {reason: "an entry about something else leaves the pattern in force", data: map[string]string{"resource.customizations": "example.com/Widget:\n  ignoreDifferences: x\n'*/*':\n  health.lua: return {status = 'Healthy'}\n"}, want: health.Healthy},
		"nothing":       {reason: "no opinion passes no gate", data: map[string]string{lua: "return nil"}, want: health.Progressing, says: "returns nothing"},
		"falls off":     {reason: "a script without return has no opinion", data: map[string]string{lua: "local x = 1"}, want: health.Progressing},
		"a word":        {reason: "the contract is a table", data: map[string]string{lua: "return 'Healthy'"}, want: health.Unknown, says: lua + " returns Healthy"},
		"not a status":  {reason: "a typing error must be seen", data: map[string]string{lua: says("healthy", "")}, want: health.Unknown, says: `"healthy" is not a health status`},
		"syntax":        {reason: "the line is named", data: map[string]string{lua: "local hs = {}\nif then"}, want: health.Unknown, says: lua + ":2:"},
		"runtime":       {reason: "the line is named", data: map[string]string{lua: "local hs = {}\n\nreturn obj.status.none.phase"}, want: health.Unknown, says: lua + ":3: "},
		"own error":     {reason: "the script's own words", data: map[string]string{lua: "error('no idea')"}, want: health.Unknown, says: lua + ":1: no idea"},
		"endless":       {reason: "the controller must not stand still", data: map[string]string{lua: "while true do end"}, want: health.Unknown, says: "more than 1000000 steps"},
		"endless, caught": {
			reason: "a script cannot catch its end", data: map[string]string{lua: "while true do pcall(function() while true do end end) end"}, want: health.Unknown, says: "steps",
		},
		"doubling":    {reason: "memory is bounded too", data: map[string]string{lua: "local s = 'x'\nwhile true do s = s .. s end"}, want: health.Unknown, says: "longer than 1048576 bytes"},
		"repeating":   {reason: "memory is bounded too", data: map[string]string{lua: "return {status = string.rep('x', 1e12)}"}, want: health.Unknown, says: "longer than"},
		"recursion":   {reason: "the stack is bounded", data: map[string]string{lua: "local function f() return 1 + f() end\nreturn f()"}, want: health.Unknown, says: "stack overflow"},
		"no files":    {reason: "a script computes and nothing else", data: map[string]string{lua: "return {status = (io == nil and require == nil and dofile == nil and loadstring == nil and load == nil and os.getenv == nil and os.execute == nil and os.exit == nil and debug == nil) and 'Healthy' or 'Degraded'}"}, want: health.Healthy},
		"safe parts":  {reason: "what computes is there", data: map[string]string{lua: "print('debugging')\ntable.insert(obj.spec.sizes, 8)\nlocal n = 0\nfor _, v in ipairs(obj.spec.sizes) do n = n + v end\nreturn {status = (n == 15 and math.max(1, 2) == 2 and ('x'):rep(3) == 'xxx' and os.time() > 0 and string.find(obj.metadata.name, '^w')) and 'Healthy' or 'Degraded', message = tostring(n)}"}, want: health.Healthy, says: "15"},
		"no metadata": {reason: "what is absent is nil", data: map[string]string{lua: "return {status = obj.metadata.annotations == nil and 'Healthy' or 'Degraded'}"}, want: health.Healthy},

		"cases":           {reason: "the first case that applies decides", data: map[string]string{ours: "[{when: object.status.phase == 'Done', status: Healthy}, {when: \"object.status.phase == 'Cooking'\", status: Progressing, message: it cooks}]"}, want: health.Progressing, says: "it cooks"},
		"otherwise":       {reason: "a case without a condition always applies", data: map[string]string{ours: "[{when: 'false', status: Healthy}, {status: Degraded, messageExpression: \"'phase ' + object.status.phase\"}]"}, want: health.Degraded, says: "phase Cooking"},
		"no case":         {reason: "no opinion passes no gate", data: map[string]string{ours: "[{when: 'false', status: Healthy}]"}, want: health.Progressing, says: "no case of " + ours},
		"numbers":         {reason: "whole numbers and others compare", data: map[string]string{ours: "[{when: 'object.status.ready < object.spec.replicas && object.status.ratio < 1', status: Progressing}]"}, want: health.Progressing},
		"optional":        {reason: "what may be absent can be asked for", data: map[string]string{ours: "[{when: \"object.?status.?nothing.orValue('x') == 'x' && !has(object.status.nothing)\", status: Healthy}]"}, want: health.Healthy},
		"expression over": {reason: "our own key counts more than Argo CD's", data: map[string]string{lua: says("Degraded", ""), ours: "[{status: Healthy}]"}, want: health.Healthy},
		"combined cases":  {reason: "patterns can have cases", data: map[string]string{"resource.customizations": "'*.com/*':\n  health.cel: [{status: Healthy}]\n"}, want: health.Healthy},
		"absent":          {reason: "an expression that fails says which", data: map[string]string{ours: "[{status: Healthy, when: object.status.nothing == 1}]"}, want: health.Unknown, says: ours + ": case 1: when: no such key: nothing"},
		"bad expression":  {reason: "line and column are named", data: map[string]string{ours: "[{when: 'true', status: Healthy}, {when: 'self.x', status: Healthy}]"}, want: health.Unknown, says: ours + ": case 2: when:1:1: undeclared reference to 'self'"},
		"not a condition": {reason: "a condition is true or false", data: map[string]string{ours: "[{when: \"'yes'\", status: Healthy}]"}, want: health.Unknown, says: "yields string, not bool"},
		"no condition":    {reason: "a condition is true or false", data: map[string]string{ours: "[{when: object.status.phase, status: Healthy}]"}, want: health.Unknown, says: "yields Cooking, not true or false"},
		"case typo":       {reason: "a field nobody reads is an error", data: map[string]string{ours: "[{if: 'true', status: Healthy}]"}, want: health.Unknown, says: ours + ": "},
		"case no status":  {reason: "a case must decide", data: map[string]string{ours: "[{when: 'true'}]"}, want: health.Unknown, says: `case 1: "" is not a health status`},
		"expensive":       {reason: "the controller must not stand still", data: map[string]string{ours: "[{when: 'lists.range(10000).all(a, lists.range(100).all(b, a + b >= 0 && object.status.phase.size() > 0 ))', status: Healthy}]"}, want: health.Unknown, says: "when: the expression "},
	} {
		t.Run(name, func(t *testing.T) {
			if row.object == "" {
				row.object = widget
			}
			obj := parse(t, row.object)
			before := obj.DeepCopy()
			start := time.Now()
			got, ok := rules(t, row.data).Judge(obj)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %s", took)
			}
			if ok == row.none {
				t.Fatalf("%s: a rule was found: %t, want %t", row.reason, ok, !row.none)
			}
			if got.Status != row.want || !strings.Contains(got.Message, row.says) {
				t.Errorf("%s: %s %q, want %s %q", row.reason, got.Status, got.Message, row.want, row.says)
			}
			if strings.Contains(got.Message, "\n") {
				t.Errorf("the message has more than one line: %q", got.Message)
			}
			if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
				t.Errorf("the object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestOneBrokenRuleConcernsItsOwnKindsOnly(t *testing.T) {
	r := rules(t, map[string]string{
		"resource.customizations.health.example.com_Gadget": "this is not Lua",
		"resource.customizations.health.example.com_Widget": says("Healthy", ""),
	})
	if got, _ := r.Judge(parse(t, widget)); got.Status != health.Healthy {
		t.Errorf("the other kind is %s: %s", got.Status, got.Message)
	}
}

func TestProblemsNameWhatIsNoPattern(t *testing.T) {
	got := rules(t, map[string]string{"resource.customizations": "'[*':\n  health.lua: return nil\n"}).Problems()
	if len(got) != 1 || !strings.Contains(got[0], "[* is not a pattern") || strings.Contains(got[0], "\n") {
		t.Errorf("problems %q", got)
	}
	if got := rules(t, nil).Problems(); len(got) != 0 {
		t.Errorf("problems of nothing: %q", got)
	}
}

func TestNoRulesJudgeNothing(t *testing.T) {
	var none *script.Rules
	if _, ok := none.Judge(parse(t, widget)); ok {
		t.Error("no rules found a rule")
	}
}

func TestRulesServeManyAtOnce(t *testing.T) {
	r := rules(t, map[string]string{
		"resource.customizations.health.example.com_Widget": "count = (count or 0) + 1\nreturn {status = 'Healthy', message = tostring(count)}",
		"wavetrain.dev.health.Pod":                          "[{status: Healthy, messageExpression: object.metadata.name}]",
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				// A run leaves nothing behind for the next.
				if got, _ := r.Judge(parse(t, widget)); got.Message != "1" {
					t.Errorf("the script counted to %s", got.Message)
				}
				if got, _ := r.Judge(parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: p}}")); got.Message != "p" {
					t.Errorf("the expression says %q", got.Message)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkLua(b *testing.B) {
	r := rules(b, map[string]string{"resource.customizations.health.example.com_Widget": says("Healthy", "")})
	obj := parse(b, widget)
	b.ReportAllocs()
	for b.Loop() {
		r.Judge(obj)
	}
}

func BenchmarkCEL(b *testing.B) {
	r := rules(b, map[string]string{"wavetrain.dev.health.example.com_Widget": "[{when: object.status.phase == 'Cooking', status: Healthy}]"})
	obj := parse(b, widget)
	b.ReportAllocs()
	for b.Loop() {
		r.Judge(obj)
	}
}

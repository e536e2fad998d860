// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// A specification whose assertions cannot fail is worth nothing; these tests show
// that they can.

func TestConditions(t *testing.T) {
	for text, cases := range map[string]map[string]bool{
		"a=1":       {"1": true, "": false, "11": false},
		"a!=1":      {"1": false, "2": true},
		"a~^b.*c$":  {"bc": true, "b\nc": false, "xbc": false},
		"a!~b":      {"abc": false, "": true},
		"a=":        {"": true, "x": false},
		"a~x=y":     {"x=y": true, "x": false},
		"a.b[0].c=": {"": true},
	} {
		c, err := parseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for value, want := range cases {
			if got := c.holds(value); got != want {
				t.Errorf("%s holds for %q: %t", text, value, got)
			}
		}
	}
	for _, text := range []string{"", "a", "=1", "a~["} {
		if c, err := parseCondition(text); err == nil {
			t.Errorf("%q was read as %+v", text, c)
		}
	}
}

func TestField(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"example.test/a": "x"}, "finalizers": []any{"one", "two"}},
		"spec":     map[string]any{"replicas": int64(3), "list": []any{map[string]any{"name": "first"}}},
	}}
	for path, want := range map[string]string{
		".spec.replicas": "3", ".spec.none": "", ".none.deep": "", ".spec.list[0].name": "first",
		`.metadata.annotations.example\.test/a`: "x", ".metadata.finalizers": `["one","two"]`,
	} {
		if got, err := field(obj, path); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", path, got, err, want)
		}
	}
}

func TestResultTables(t *testing.T) {
	want := table("# hook phase object status phase message\n\nPreSync PreSync Job/hook-*-x Synced Succeeded two words\n- Sync ConfigMap/a Synced Succeeded\n")
	first := []string{"PreSync", "PreSync", "Job/hook-1f-x", "Synced", "Succeeded", "these two words"}
	second := []string{"-", "Sync", "ConfigMap/a", "Synced", "Succeeded", "configmap/a created"}
	changed := func(row []string, column int, text string) []string {
		row = append([]string{}, row...)
		row[column] = text
		return row
	}
	for name, c := range map[string]struct {
		reason string
		got    [][]string
		fits   bool
	}{
		"Same":         {"wildcards and parts of messages are enough", [][]string{first, second}, true},
		"Order":        {"the order counts", [][]string{second, first}, false},
		"Missing":      {"a result less is another table", [][]string{first}, false},
		"More":         {"and so is one more", [][]string{first, second, second}, false},
		"Status":       {"every column counts", [][]string{first, changed(second, 3, "SyncFailed")}, false},
		"OtherMessage": {"the message must have the words", [][]string{changed(first, 5, "others"), second}, false},
	} {
		if err := sameTable(want, c.got); (err == nil) != c.fits {
			t.Errorf("%s: %s: %v", name, c.reason, err)
		}
	}
}

func TestHistoryAssertions(t *testing.T) {
	w := &world{stage: &stage{history: newHistory()}, target: "here"}
	note := func(rv uint64, kind, namespace, name string, what timeline.What) {
		w.history.note(timeline.Moment{Key: manifest.Key{Kind: kind, Namespace: namespace, Name: name}, What: what, ResourceVersion: rv})
	}
	note(1, "Job", "here", "hook", timeline.Created)
	note(5, "Job", "here", "hook", timeline.Done)
	note(6, "ConfigMap", "here", "plain", timeline.Created)
	note(7, "Job", "here", "hook", timeline.Created)
	note(8, "ConfigMap", "elsewhere", "plain", timeline.Deleted)
	note(9, "Namespace", "", "made", timeline.Created)

	for name, c := range map[string]struct {
		ask  assertion
		args []string
		want verdict
	}{
		"InOrder":         {inOrder, []string{"Job/hook", "done", "<", "ConfigMap/plain", "created", "<", "Job/hook", "created:2"}, holds},
		"Reversed":        {inOrder, []string{"ConfigMap/plain", "created", "<", "Job/hook", "done"}, fails},
		"NotYet":          {inOrder, []string{"Job/hook", "done", "<", "Job/hook", "done:2"}, waits},
		"Malformed":       {inOrder, []string{"Job/hook", "done", "ConfigMap/plain", "created"}, fails},
		"UnknownWord":     {inOrder, []string{"Job/hook", "finished"}, fails},
		"ClusterScoped":   {inOrder, []string{"Job/hook", "done", "<", "Namespace/made", "created"}, holds},
		"Never":           {never, []string{"Job/hook", "deleted"}, holds},
		"NeverHappened":   {never, []string{"Job/hook", "deleted", "Job/ho*", "done"}, fails},
		"NeverHere":       {never, []string{"ConfigMap/plain", "deleted"}, holds},
		"NeverElsewhere":  {never, []string{"ConfigMap/elsewhere/plain", "deleted"}, fails},
		"Runs":            {runs, []string{"Job/h?ok", "2"}, holds},
		"RunsTooOften":    {runs, []string{"Job/hook", "1"}, fails},
		"RunsNotYetOften": {runs, []string{"Job/hook", "3"}, waits},
	} {
		if got := judge(c.ask(context.Background(), w, c.args)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// verdict is what an assertion says about now.
type verdict string

const (
	holds verdict = "it holds"
	waits verdict = "it does not hold yet"
	fails verdict = "it cannot hold"
)

func judge(err error) verdict {
	switch {
	case err == nil:
		return holds
	case errors.Is(err, errHopeless):
		return fails
	default:
		return waits
	}
}

func TestHead(t *testing.T) {
	got, err := head("# Points: 1, D2 +\n# What holds\n# in two lines.\n# Controller: own\n\n# a remark\nsync app\n")
	want := scenario{points: []string{"1", "D2", beyond}, statement: "What holds in two lines.", ownController: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(scenario{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = head("# Points: 1\n# What holds.\n# Controller: own, application-namespaces=a,b-*\n")
	want = scenario{points: []string{"1"}, statement: "What holds.", ownController: true, appNamespaces: []string{"a", "b-*"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(scenario{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"# Points: 1\n# What holds.\n# Controller: own, namespaces=a\n", "sync app\n", "# Points: 1\n\nsync app\n", "# Points: 61\n# More than there are.\n", "# Points: X\n# No point.\n"} {
		if s, err := head(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, s)
		}
	}
}

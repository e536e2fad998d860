// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// lastPoint is the number of the last point of the specification.
const lastPoint = 60

// beyond is the point of what has no number.
const beyond = "+"

// scenario is what the head of a file says.
type scenario struct {
	name, file string
	// points are numbers of points, D and a number for differences, and + for
	// what the description of Argo CD says nothing about.
	points    []string
	statement string
	// ownController asks for a control namespace and a controller that no other
	// scenario uses.
	ownController bool
	// appNamespaces are patterns over namespaces, beside the control namespace,
	// that this controller cares for.
	appNamespaces []string
}

// load reads the heads of all scenarios.
func load(t *testing.T) []scenario {
	t.Helper()
	files, err := filepath.Glob("scenarios/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	scenarios := make([]scenario, 0, len(files))
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := head(string(archive.Comment))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		s.file, s.name = file, strings.TrimSuffix(filepath.Base(file), ".txtar")
		scenarios = append(scenarios, s)
	}
	return scenarios
}

// head reads the comment lines at the beginning of a script.
func head(text string) (scenario, error) {
	var s scenario
	var statement []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		comment = strings.TrimSpace(comment)
		if points, ok := strings.CutPrefix(comment, "Points:"); ok {
			s.points = strings.FieldsFunc(points, func(r rune) bool { return r == ',' || r == ' ' })
		} else if own, ok := strings.CutPrefix(comment, "Controller: own"); ok {
			s.ownController = true
			if patterns, ok := strings.CutPrefix(own, ", application-namespaces="); ok {
				s.appNamespaces = strings.Split(patterns, ",")
			} else if own != "" {
				return s, fmt.Errorf("%q says nothing about a controller", own)
			}
		} else {
			statement = append(statement, comment)
		}
	}
	s.statement = strings.Join(statement, " ")
	for _, p := range s.points {
		if p == beyond {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(p, "D")); err != nil || n < 1 || p[0] != 'D' && n > lastPoint {
			return s, fmt.Errorf("%q is no point", p)
		}
	}
	if len(s.points) == 0 || s.statement == "" {
		return s, fmt.Errorf("it begins with neither %q nor a statement", "# Points:")
	}
	return s, nil
}

// entry is a line of the table: a point and what shows it.
type entry struct{ point, scenario, statement string }

// entries orders scenarios by point: numbers first, then differences.
func entries(scenarios []scenario) []entry {
	var all []entry
	for _, s := range scenarios {
		for _, p := range s.points {
			all = append(all, entry{p, s.name, s.statement})
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(comparePoints(a.point, b.point), cmp.Compare(a.scenario, b.scenario))
	})
	return all
}

func comparePoints(a, b string) int {
	rank := func(p string) int {
		if p == beyond {
			return math.MaxInt
		}
		n, err := strconv.Atoi(strings.TrimPrefix(p, "D"))
		if err != nil || p[0] == 'D' {
			return lastPoint + n
		}
		return n
	}
	return cmp.Compare(rank(a), rank(b))
}

// pending reads what is not there yet: a point and the reason, line by line.
func pending(t *testing.T) []entry {
	t.Helper()
	text, err := os.ReadFile("pending.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		point, reason, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("pending.txt: %q is not POINT: REASON", line)
		}
		all = append(all, entry{point: point, statement: "not yet: " + reason})
	}
	return all
}

func TestEveryPointIsShownOrPending(t *testing.T) {
	covered := map[string]int{}
	for _, e := range entries(load(t)) {
		covered[e.point]++
	}
	waiting := map[string]bool{}
	for _, e := range pending(t) {
		if waiting[e.point] {
			t.Errorf("pending.txt names point %s twice", e.point)
		}
		waiting[e.point] = true
	}
	for _, point := range points(t) {
		if covered[point] == 0 && !waiting[point] {
			t.Errorf("point %s has no scenario: write one, or say in pending.txt why there is none", point)
		}
	}
}

// points are the numbers of the specification and the differences that the
// document lists.
func points(t *testing.T) []string {
	t.Helper()
	var all []string
	for n := 1; n <= lastPoint; n++ {
		all = append(all, strconv.Itoa(n))
	}
	data, err := os.ReadFile(compatibility)
	if err != nil {
		t.Fatal(err)
	}
	listed, _, _ := strings.Cut(string(data), tableBegins)
	for _, row := range regexp.MustCompile(`(?m)^\| (D[0-9]+) \|`).FindAllStringSubmatch(listed, -1) {
		all = append(all, row[1])
	}
	return all
}

const (
	compatibility = "../docs/compatibility.md"
	tableBegins   = "<!-- conformance table: begin, made by go test ./conformance -run TestCompatibility -update -->\n"
	tableEnds     = "<!-- conformance table: end -->\n"
)

// TestCompatibility keeps the table of the document what the scenarios say.
func TestCompatibility(t *testing.T) {
	data, err := os.ReadFile(compatibility)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), tableBegins)
	got, after, closed := strings.Cut(rest, tableEnds)
	if !ok || !closed {
		t.Fatalf("%s has no conformance table", compatibility)
	}
	want := markdown(append(entries(load(t)), pending(t)...))
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not what the scenarios say: run go test ./conformance -run TestCompatibility -update", compatibility)
	}
	if err := os.WriteFile(compatibility, []byte(before+tableBegins+want+tableEnds+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func markdown(all []entry) string {
	slices.SortStableFunc(all, func(a, b entry) int { return comparePoints(a.point, b.point) })
	var out strings.Builder
	out.WriteString("| point | what is shown | scenario |\n|---|---|---|\n")
	for _, e := range all {
		name := "–"
		if e.scenario != "" {
			name = "[" + e.scenario + "](../conformance/scenarios/" + e.scenario + ".txtar)"
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", e.point, strings.ReplaceAll(e.statement, "|", `\|`), name)
	}
	return out.String()
}

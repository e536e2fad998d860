// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/rehearse"
)

// TestRehearsals runs the rehearsals of testdata/rehearsals: each is a case with what
// must come of it in want.txt.
func TestRehearsals(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/rehearsals/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no rehearsals (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir, want := t.TempDir(), ""
			for _, f := range archive.Files {
				if f.Name == "want.txt" {
					want = string(f.Data)
					continue
				}
				path := filepath.Join(dir, filepath.FromSlash(f.Name))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out, errs bytes.Buffer
			streams := SystemStreams()
			streams.In, streams.Out, streams.Err = strings.NewReader(""), &out, &errs
			code := run(t.Context(), "v0.0.0-test", []string{"rehearse", dir, "-o", "json", "--timeout", "10m"}, streams)
			var result rehearse.Result
			if err := json.Unmarshal(out.Bytes(), &result); err != nil {
				t.Fatalf("exit code %d: %v\n%s", code, err, errs.String())
			}
			if converged := code == exitOK; converged != result.Converged {
				t.Errorf("exit code %d, though converged is %v", code, result.Converged)
			}
			if diff := cmp.Diff(want, summary(&result, want)); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, errs.String())
			}
		})
	}
}

// summary is what is the same in every run of a rehearsal. Of the order only what is
// asked for is told.
func summary(r *rehearse.Result, want string) string {
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s:", c.Name)
		for _, name := range slices.Sorted(maps.Keys(c.Apps)) {
			fmt.Fprintf(&b, " %s %s %s", name, c.Apps[name].Sync, c.Apps[name].Operation)
		}
		b.WriteString("\n")
	}
	for _, f := range r.Findings {
		if f.Severity != diag.Info {
			fmt.Fprintf(&b, "finding %s %s %s %s %s:%d\n", f.App, f.Severity, f.Code, f.Subject, f.File, f.Line)
		}
	}
	for _, p := range r.Plan {
		var words []string
		for _, g := range p.Groups {
			word := fmt.Sprintf("%s/%d %s", g.Phase, g.Wave, strings.Join(g.Objects, " "))
			for _, o := range g.Prune {
				word = strings.TrimSpace(word) + " -" + o
			}
			words = append(words, word)
		}
		for _, n := range p.Ignored {
			words = append(words, "ignored "+n.Object)
		}
		fmt.Fprintf(&b, "plan %s %s: %s\n", p.App, p.Rev, strings.Join(words, "; "))
	}
	for _, o := range r.Operations {
		fmt.Fprintf(&b, "operation %s %s %d %s\n", o.App, o.Rev, o.Attempt, o.Phase)
	}
	for _, h := range r.Hung {
		fmt.Fprintf(&b, "hung %s", h.App)
		if h.Gate != nil {
			fmt.Fprintf(&b, " %s > %s", h.Gate.At, h.Gate.Next)
		}
		for _, chain := range h.Chains {
			var words []string
			for _, l := range chain {
				name := l.Object.Short()
				if l.Object.Kind == "Pod" {
					name = name[:strings.LastIndex(name, "-")+1] + "*"
				}
				words = append(words, name+" "+l.State)
			}
			fmt.Fprintf(&b, ": %s", strings.Join(words, ", "))
		}
		b.WriteString("\n")
		b.WriteString(slowest(r))
	}
	for line := range strings.Lines(want) {
		if chain, ok := strings.CutPrefix(line, "order "); ok {
			b.WriteString(ordered(r, strings.TrimSpace(chain)))
		}
	}
	if r.Converged {
		b.WriteString("converged\n")
	} else {
		b.WriteString("not converged\n")
	}
	return b.String()
}

// slowest is the critical path of the first rollout, in tens of seconds.
func slowest(r *rehearse.Result) string {
	var words []string
	for _, l := range r.Rollouts[0].Critical {
		if l.Open {
			words = append(words, l.Object+" open")
		} else {
			words = append(words, fmt.Sprintf("%s completed %s", l.Object, l.Took.Truncate(20*time.Second)))
		}
	}
	return strings.ReplaceAll("critical "+strings.Join(words, ", ")+"\n", "1m0s", "60s")
}

// ordered repeats a chain of events if they came in that order, each for the first
// time.
func ordered(r *rehearse.Result, chain string) string {
	last := -1
	for word := range strings.SplitSeq(chain, " < ") {
		object, what, _ := strings.Cut(word, " ")
		at := slices.IndexFunc(r.Events, func(e rehearse.Event) bool { return e.Object == object && e.What == what })
		if at <= last {
			return fmt.Sprintf("order broken at %s (%d after %d)\n", word, at, last)
		}
		last = at
	}
	return "order " + chain + "\n"
}

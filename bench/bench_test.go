// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/cli"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// wavetrainVariable makes the test binary wavetrain instead: the bench measures a
// process of its own.
const wavetrainVariable = "WAVETRAIN_BENCH_IS_WAVETRAIN"

func TestMain(m *testing.M) {
	// A render worker is started by wavetrain, without an environment.
	if os.Getenv(wavetrainVariable) != "" || len(os.Args) > 1 && os.Args[1] == "render-worker" {
		os.Exit(cli.Main("test", os.Args[1:], cli.SystemStreams()))
	}
	os.Exit(m.Run())
}

// TestScenarios runs every scenario at a size that says nothing about speed. A
// figure that must not depend on the machine is compared with its target.
func TestScenarios(t *testing.T) {
	audit := filepath.Join(t.TempDir(), "audit.log")
	env := sandboxtest.Start(t, sandboxtest.Options{Own: true, Nodes: 1, AuditLog: audit})
	plane := &controlPlane{config: env.Config, kubeconfig: env.Kubeconfig, audit: audit}
	cases := map[string]struct {
		// scenario is the case's name unless it is said.
		scenario string
		args     []string
		// want are figures that are there with a value greater than zero.
		want []string
		// exact are values that do not depend on the machine.
		exact map[string]float64
	}{
		"cold": {
			args:  []string{"--applications=2", "--objects=9"},
			want:  []string{"wall, creation to all Synced", cpuFigure, memoryFigure, "requests per object: dry run"},
			exact: map[string]float64{"requests per object: apply": 1},
		},
		"peers": {
			args:  []string{"--applications=2", "--directories=4"},
			want:  []string{"wall, creation to all Synced", cpuFigure, memoryFigure},
			exact: map[string]float64{"requests per object: apply": 1},
		},
		"waves": {
			args:  []string{"--waves=3", "--rounds=1"},
			want:  []string{"wall, median"},
			exact: map[string]float64{"requests per object of the last round: apply": 1},
		},
		"drift": {
			args:  []string{"--applications=2", "--objects=9", "--edits=2", "--rate=10", "--settle=6s"},
			want:  []string{"at the rate: edit to healing write, p50", "burst: edit to healing write, p50"},
			exact: map[string]float64{"at the rate: objects not healed": 0, "burst: objects not healed": 0, "objects written that nobody had edited": 0},
		},
		"steady": {
			args:  []string{"--applications=2", "--objects=9", "--settle=6s", "--for=2s", "--floor-for=1s"},
			want:  []string{"RssAnon of the controller"},
			exact: map[string]float64{"writes but to Leases": 0},
		},
		"memory": {
			args: []string{"--few=1", "--many=2", "--objects=5", "--settle=1s"},
			want: []string{"RssAnon with 5 objects", "RssAnon with 10 objects"},
		},
		"restart": {
			args:  []string{"--applications=2", "--objects=9", "--settle=6s"},
			want:  []string{"until every Application was looked at", "CPU"},
			exact: map[string]float64{"lists of one managed kind, most": 1},
		},
		"cycles": {
			args: []string{"--cycles=4", "--warm-up=2", "--settle=1s", "--concurrency=2"},
			want: []string{"goroutines in the end", "cycles per second"},
		},
		"monorepo": {
			args:  []string{"--services=6", "--floor-services=2"},
			want:  []string{"Helm: renders per CPU-second", "Kustomize: renders per second, cold"},
			exact: map[string]float64{"renders after a commit to one service": 1, "renders after a restart": 0},
		},
		"monorepo with a controller": {
			scenario: "monorepo",
			args:     []string{"--controller", "--services=4", "--settle=1s", "--poll-interval=1s"},
			want:     []string{"delivery, wall"},
			exact:    map[string]float64{"renders after a commit to one service": 1, "Applications that the commit affects": 1},
		},
	}
	environ := append(os.Environ(), wavetrainVariable+"=1")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, talk bytes.Buffer
			streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &talk, Env: os.Getenv, Environ: environ}
			args := append([]string{cmp.Or(tc.scenario, name), "-o", "json", "--wavetrain", os.Args[0]}, tc.args...)
			if err := run(t.Context(), args, streams, plane); err != nil {
				t.Fatalf("%v\n%s", err, talk.String())
			}
			var r Report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			got := map[string]Figure{}
			for _, f := range r.Figures {
				got[f.Name] = f
			}
			for _, figure := range tc.want {
				if got[figure].Value <= 0 {
					t.Errorf("%q is %v, want it measured", figure, got[figure].Value)
				}
			}
			for figure, want := range tc.exact {
				if f, ok := got[figure]; !ok || f.Value != want {
					t.Errorf("%q is %v, want %v", figure, f.Value, want)
				}
			}
			if !strings.Contains(table(t, r), r.Figures[0].Name) {
				t.Error("the table lacks the first figure")
			}
		})
	}
}

func table(t *testing.T, r Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.print(&out, "table"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestFigures(t *testing.T) {
	r := newReport("x", "nothing")
	r.beside("within", 1.2, "s", 1, "B", ratioAtMost(1.25))
	r.add("fewer", 3, "", atMost(3))
	r.add("more", 1.9, "cores", atLeast(1.8))
	r.beside("share", 79, "/s", 100, "SDK", ratioAtLeast(0.75))
	if r.missed() {
		t.Errorf("nothing misses its target: %+v", r.Figures)
	}
	r.beside("beyond", 1.3, "s", 1, "B", ratioAtMost(1.25))
	if !r.missed() {
		t.Error("a ratio above its bound meets the target")
	}
	text := table(t, *r)
	for _, want := range []string{"within  1.2 s", "B 1 s", "1.20   ratio <= 1.25", ">= 1.8 cores", "NO"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

// TestTrail follows a log over the moment in which a new file is begun.
func TestTrail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	line := func(agent, verb, stage string) string {
		return `{"stage":"` + stage + `","verb":"` + verb + `","userAgent":"` + agent + `","requestURI":"/x"}` + "\n"
	}
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(line("wavetrain", "get", "ResponseComplete"))
	log, err := newTrail(path)
	if err != nil {
		t.Fatal(err)
	}
	half := line("wavetrain/v1 (linux)", "patch", "ResponseComplete")
	write(line("wavetrain-sandbox/v1", "patch", "ResponseComplete") + half[:20])
	read := func() (verbs []string) {
		t.Helper()
		if err := log.requests(func(r request) { verbs = append(verbs, r.Verb) }, "wavetrain"); err != nil {
			t.Fatal(err)
		}
		return verbs
	}
	if got := read(); len(got) > 0 {
		t.Errorf("read %v of what was there before, of somebody else and of half a line", got)
	}
	write(half[20:] + line("wavetrain", "watch", "ResponseStarted") + line("wavetrain", "watch", "ResponseComplete"))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(line("wavetrain", "list", "ResponseComplete"))
	if got := strings.Join(read(), " "); got != "patch watch list" {
		t.Errorf("read %q, want each request once, over both files", got)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wavetrain/wavetrain/internal/render/worker"
)

// atOnce is how many scenarios run side by side. They spend their time waiting
// for the cluster, so there can be many more than processors.
const atOnce = "12"

// The test binary limits itself and becomes the program of a plugin, as the real one
// does.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == programCommand {
		seconds, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = worker.Become(seconds, os.Args[3:], os.Environ())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// Flags of the test.
var (
	printTable = flag.Bool("table", false, "print which scenarios passed, by point")
	update     = flag.Bool("update", false, "write the table in docs/compatibility.md anew")
)

// TestConformance runs every scenario. One alone: go test -run TestConformance/hook-presync.
func TestConformance(t *testing.T) {
	scenarios := load(t)
	byName := map[string]scenario{}
	files := make([]string, 0, len(scenarios))
	for _, s := range scenarios {
		byName[s.name] = s
		files = append(files, s.file)
	}
	s := newStage(t)
	t.Cleanup(func() {
		if *printTable {
			report(os.Stdout, scenarios, s.outcomes)
		}
	})
	testscript.Run(t, testscript.Params{
		Files: files,
		Cmds:  commands(),
		Setup: func(env *testscript.Env) error {
			return s.setUp(env, byName[strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")])
		},
	})
}

// report prints a line per point and scenario that was run.
func report(out io.Writer, scenarios []scenario, outcomes map[string]bool) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POINT\tSCENARIO\tRESULT\tSTATEMENT")
	for _, e := range entries(scenarios) {
		passed, ran := outcomes[e.scenario]
		result := "-"
		switch {
		case ran && passed:
			result = "pass"
		case ran:
			result = "FAIL"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.point, e.scenario, result, e.statement)
	}
	// Standard output is the only place it could go to.
	_ = w.Flush()
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/sandbox/internal/controlplane"
)

func TestUsageErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Argument":      {reason: "There is nothing to name.", args: []string{"up"}, want: `takes no arguments, got "up"`},
		"UnknownFlag":   {reason: "A typing error must not start something else.", args: []string{"--node", "3"}, want: "unknown flag: --node"},
		"Output":        {reason: "Only two forms exist.", args: []string{"-o", "yaml"}, want: `--output "yaml": use text or json`},
		"Port":          {reason: "It is no port.", args: []string{"--port", "70000"}, want: "--port 70000: use a number between 1 and 65535, or 0"},
		"Nodes":         {reason: "Without a node no Pod runs.", args: []string{"--nodes", "0"}, want: "--nodes 0: use 1 or more"},
		"RuleSet":       {reason: "A set that is not shipped cannot be used.", args: []string{"--rule-set", "cnpg,vault"}, want: `--rule-set "vault": there are cnpg, external-secrets`},
		"ConfigMapName": {reason: "A ConfigMap lives in a namespace.", args: []string{"--rules-configmap", "rules"}, want: `--rules-configmap "rules": use NAMESPACE/NAME`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Main(t.Context(), "v0", tc.args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if code != exitUsage {
				t.Errorf("%s: exit code %d, want %d", tc.reason, code, exitUsage)
			}
			want := "wavetrain-sandbox: " + tc.want + "\nSee 'wavetrain-sandbox --help'.\n"
			if diff := cmp.Diff(want, errs.String()); diff != "" {
				t.Errorf("%s: standard error (-want +got):\n%s", tc.reason, diff)
			}
			if out.Len() > 0 {
				t.Errorf("%s: standard output has %q", tc.reason, out.String())
			}
		})
	}
}

func TestHelpAndVersionGoToStandardOutput(t *testing.T) {
	for _, flag := range []string{"--help", "--version"} {
		var out, errs bytes.Buffer
		code := Main(t.Context(), "v0", []string{flag}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != exitOK || !strings.Contains(out.String(), "Kubernetes") || errs.Len() > 0 {
			t.Errorf("%s: exit code %d, standard output %q, standard error %q", flag, code, out.String(), errs.String())
		}
	}
}

func TestBadRulesAreFoundBeforeAnythingStarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sim.yaml")
	if err := os.WriteFile(file, []byte("rules:\n- match: {kind: Job}\n  suceedAfter: 2s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	var errs bytes.Buffer
	code := Main(t.Context(), "v0", []string{"--data-dir", dir, "--rules", file}, Streams{Out: io.Discard, Err: &errs})
	if code != exitFailed || !strings.Contains(errs.String(), file+":3: ") {
		t.Errorf("exit code %d, standard error %q, want %d and the line", code, errs.String(), exitFailed)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory was made: %v", err)
	}
}

func TestControl(t *testing.T) {
	cases := map[string]struct {
		reason string
		attach func() error
		input  string
		want   string
	}{
		"Reload": {
			reason: "The answer repeats the number, so that an answer nobody waited for can be told apart.",
			attach: func() error { return nil },
			input:  "reload 1\nreload 2\n",
			want:   "{\"reply\":\"1\"}\n{\"reply\":\"2\"}\n",
		},
		"BadRules": {
			reason: "Whoever sets rules learns why they are refused.",
			attach: func() error { return errors.New("line 2: unknown key") },
			input:  "reload 7\n",
			want:   "{\"reply\":\"7\",\"error\":\"line 2: unknown key\"}\n",
		},
		"Next": {
			reason: "Whoever has nothing else to wait for asks when something happens.",
			attach: func() error { return nil },
			input:  "next 3\n",
			want:   "{\"reply\":\"3\",\"value\":\"1m30s\"}\n",
		},
		"Skip": {
			reason: "Only a time that makes sense can be skipped.",
			attach: func() error { return nil },
			input:  "skip=90s 4\nskip=-1s 5\n",
			want:   "{\"reply\":\"4\"}\n{\"reply\":\"5\",\"error\":\"skip=-1s: \\\"-1s\\\" is no duration such as 10s\"}\n",
		},
		"TooEarly": {
			reason: "Before the control plane is ready there are no rules to reload.",
			input:  "reload 1\n",
			want:   "{\"reply\":\"1\",\"error\":\"not ready yet\"}\n",
		},
		"UnknownWord": {
			reason: "An unknown request is answered, or its sender would wait for ever.",
			attach: func() error { return nil },
			input:  "restart 1\n",
			want:   "{\"reply\":\"1\",\"error\":\"unknown request \\\"restart\\\": use reload, next or skip=DURATION\"}\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := &control{out: &out}
			if tc.attach != nil {
				c.attach(controlplane.Running{
					ReloadRules: tc.attach, Next: func() (time.Duration, bool) { return 90 * time.Second, true }, Skip: func(time.Duration) {},
				})
			}
			c.serve(strings.NewReader(tc.input))
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestControlEndsWithItsInput(t *testing.T) {
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&control{out: io.Discard}).serve(reader)
	}()
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// exitDiffFailed is the exit code of a diff that could not be made: 1 says that
// there are differences.
const exitDiffFailed = 2

// What a sync would do with an object.
const (
	willCreate = "create"
	willUpdate = "update"
	willDelete = "delete"
	// willFail is an object that the API server would refuse.
	willFail = "fail"
)

// difference is one object that is not as it should be.
type difference struct {
	Key     manifest.Key  `json:"key"`
	Action  string        `json:"action"`
	Changes []diff.Change `json:"changes"`
	// Reason says why the API server would refuse the object, or why it would not
	// be deleted.
	Reason string `json:"reason,omitempty"`

	// live and predicted are the states of the object; nil for one that it does not
	// have.
	live, predicted *unstructured.Unstructured
}

// diffOutput are the flags that say how differences are shown.
type diffOutput struct {
	output
	exitCode bool
	code     int
}

func (o *diffOutput) addFlags(cmd *cobra.Command) {
	o.addFlag(cmd, "unified", "fields", "json", "yaml")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", true, "exit with a code of its own when there are differences")
	cmd.Flags().IntVar(&o.code, "diff-exit-code", exitFailed, "the exit code when there are differences")
}

func (o *diffOutput) check() error {
	if o.code < 0 || o.code > 255 {
		return usageError("--diff-exit-code must be between 0 and 255")
	}
	return o.output.check()
}

// show prints differences and returns the exit code as an error.
func (o *diffOutput) show(ctx context.Context, s Streams, list []difference) error {
	if err := o.print(ctx, s, list); err != nil {
		return withCode(exitDiffFailed, err)
	}
	if o.exitCode && o.code != exitOK && len(list) > 0 {
		return withCode(o.code, nil)
	}
	return nil
}

func (o *diffOutput) print(ctx context.Context, s Streams, list []difference) error {
	if list == nil {
		list = []difference{}
	}
	if done, err := o.structured(s.Out, list); done {
		return err
	}
	for _, d := range list {
		if d.Reason != "" {
			fmt.Fprintf(s.Err, "%s: %s\n", d.Key.Short(), d.Reason)
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Err, "no differences")
		return nil
	}
	if o.format == "fields" {
		return printFields(s.Out, list)
	}
	if tool := s.Env("KUBECTL_EXTERNAL_DIFF"); tool != "" && o.format == "" {
		return externalDiff(ctx, s, tool, list)
	}
	for _, d := range list {
		text, err := diff.Unified(d.live, d.predicted)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "===== %s: %s ======\n%s\n", title(d.Key), d.Action, text); err != nil {
			return err
		}
	}
	return nil
}

// printFields prints a line per field: what it is, what it should be, whose it is.
func printFields(w io.Writer, list []difference) error {
	for _, d := range list {
		if _, err := fmt.Fprintf(w, "%s: %s\n", title(d.Key), d.Action); err != nil {
			return err
		}
		if d.Action == willCreate || d.Action == willDelete {
			continue
		}
		for _, c := range d.Changes {
			owner := ""
			if c.Manager != "" {
				owner = "  (owned by " + c.Manager + ")"
			}
			if _, err := fmt.Fprintf(w, "  %s: %s -> %s%s\n", c.Path, valueText(c.Live), valueText(c.Desired), owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueText is a value on one line; "-" is a field that is not there.
func valueText(v any) string {
	if v == nil {
		return "-"
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(text.String())
}

// title names an object as Argo CD's diff does: "apps/Deployment ns/name".
func title(key manifest.Key) string {
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	return key.Group + "/" + key.Kind + " " + name
}

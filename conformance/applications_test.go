// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// app is the Application that the scenario calls so: NAME, or NAMESPACE/NAME for
// one outside of the control namespace.
func (w *world) app(name string) types.NamespacedName {
	if namespace, name, ok := strings.Cut(name, "/"); ok {
		return types.NamespacedName{Namespace: namespace, Name: w.unique(name)}
	}
	return types.NamespacedName{Namespace: w.controller.namespace, Name: w.unique(name)}
}

// latest is the last state of an Application that the watch has shown.
func (w *world) latest(name types.NamespacedName) (*v1alpha1.Application, error) {
	states := w.history.states(name)
	if len(states) == 0 {
		return nil, fmt.Errorf("there is no Application %s", name)
	}
	return states[len(states)-1], nil
}

// facts are what a scenario can ask of an Application.
func facts(app *v1alpha1.Application) map[string]string {
	f := map[string]string{
		"sync": string(app.Status.Sync.Status), "revision": app.Status.Sync.Revision,
		"health": string(app.Status.Health.Status), "health.message": app.Status.Health.Message,
		"history": strconv.Itoa(len(app.Status.History)), "source": app.Status.SourceType,
		"rows": strconv.Itoa(len(app.Status.Resources)), "operation": "", "message": "", "retries": "", "automated": "",
		"only": "", "synced": "", "results": "0",
	}
	var conditions []string
	for _, c := range app.Status.Conditions {
		conditions = append(conditions, string(c.Type)+": "+c.Message)
	}
	f["conditions"] = strings.Join(conditions, "\n")
	state := app.Status.OperationState
	if state == nil {
		return f
	}
	f["operation"], f["message"], f["retries"] = string(state.Phase), state.Message, strconv.FormatInt(state.RetryCount, 10)
	f["automated"] = strconv.FormatBool(state.Operation.InitiatedBy.Automated)
	if state.SyncResult != nil {
		f["synced"], f["results"] = state.SyncResult.Revision, strconv.Itoa(len(state.SyncResult.Resources))
	}
	if state.Operation.Sync != nil {
		var only []string
		for _, r := range state.Operation.Sync.Resources {
			only = append(only, r.Kind+"/"+r.Name)
		}
		f["only"] = strings.Join(only, " ")
	}
	return f
}

// unmet returns the first condition that the Application does not meet.
func unmet(app *v1alpha1.Application, conditions []string) error {
	known := facts(app)
	for _, text := range conditions {
		c, err := parseCondition(text)
		if err != nil {
			return hopeless("%v", err)
		}
		value, ok := known[c.left]
		if !ok {
			return hopeless("an Application has no %q", c.left)
		}
		if !c.holds(value) {
			return fmt.Errorf("%s is %q, not %s %q; %s", c.left, value, c.operator, c.right, summary(app))
		}
	}
	return nil
}

// appIs APP FACT=VALUE...: the Application is like that now.
func appIs(_ context.Context, w *world, args []string) error {
	if len(args) < 2 {
		return hopeless("app APP FACT=VALUE...")
	}
	app, err := w.latest(w.app(args[0]))
	if err != nil {
		return err
	}
	return unmet(app, args[1:])
}

// appWas APP FACT=VALUE...: one state that the watch has shown was like that.
func appWas(_ context.Context, w *world, args []string) error {
	if len(args) < 2 {
		return hopeless("saw APP FACT=VALUE...")
	}
	states := w.history.states(w.app(args[0]))
	err := fmt.Errorf("%s has not been seen", args[0])
	for _, app := range states {
		if err = unmet(app, args[1:]); err == nil {
			return nil
		}
	}
	return err
}

// operations APP N: so many operations have begun; further attempts of one do not
// count.
func operations(_ context.Context, w *world, args []string) error {
	if len(args) != 2 {
		return hopeless("operations APP N")
	}
	want, err := strconv.Atoi(args[1])
	if err != nil {
		return hopeless("%v", err)
	}
	begun := map[string]bool{}
	for _, app := range w.history.states(w.app(args[0])) {
		if state := app.Status.OperationState; state != nil {
			begun[fmt.Sprint(state.StartedAt, state.Operation.Info)] = true
		}
	}
	switch {
	case len(begun) > want:
		return hopeless("there were %d operations, not %d", len(begun), want)
	case len(begun) < want:
		return fmt.Errorf("there were %d operations, not %d", len(begun), want)
	}
	return nil
}

// resultsAre APP FILE: the last operation's results are the lines of the file, in
// that order: hook type or -, phase, object, status, hook phase, and a part of
// the message.
func resultsAre(_ context.Context, w *world, args []string) error {
	if len(args) != 2 {
		return hopeless("results APP FILE")
	}
	text, err := w.read(args[1])
	if err != nil {
		return hopeless("%v", err)
	}
	app, err := w.latest(w.app(args[0]))
	if err != nil {
		return err
	}
	var got [][]string
	if state := app.Status.OperationState; state != nil && state.SyncResult != nil {
		for _, r := range state.SyncResult.Resources {
			hook := r.HookType
			if hook == "" {
				hook = "-"
			}
			got = append(got, []string{hook, r.SyncPhase, r.Kind + "/" + r.Name, string(r.Status), string(r.HookPhase), r.Message})
		}
	}
	return sameTable(table(text), got)
}

// table reads lines of five columns and the rest.
func table(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		fixed := min(len(fields), 5)
		rows = append(rows, append(fields[:fixed:fixed], strings.Join(fields[fixed:], " ")))
	}
	return rows
}

func sameTable(want, got [][]string) error {
	fits := len(want) == len(got)
	for i := 0; fits && i < len(want); i++ {
		fits = sameRow(want[i], got[i])
	}
	if fits {
		return nil
	}
	lines := make([]string, len(got))
	for i, row := range got {
		lines[i] = strings.Join(row, " ")
	}
	return fmt.Errorf("the results are:\n%s", strings.Join(lines, "\n"))
}

// sameRow compares a row: names may have wildcards, of messages a part counts.
func sameRow(want, got []string) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want[:5] {
		if ok, err := path.Match(want[i], got[i]); err != nil || !ok {
			return false
		}
	}
	return strings.Contains(got[5], want[5])
}

// rowIs APP OBJECT [STATUS] [prune] [hook] [confirm]: status.resources has that
// row; negated with the object alone: it has none.
func rowIs(_ context.Context, w *world, args []string) error {
	if len(args) < 2 {
		return hopeless("row APP OBJECT [STATUS] [prune] [hook] [confirm]")
	}
	r, err := w.ref(args[1])
	if err != nil {
		return hopeless("%v", err)
	}
	app, err := w.latest(w.app(args[0]))
	if err != nil {
		return err
	}
	for _, row := range app.Status.Resources {
		if named, err := path.Match(r.name, row.Name); err != nil || !named || row.Kind != r.kind {
			continue
		}
		if len(args) == 2 {
			return nil
		}
		var is []string
		if row.Status != "" {
			is = append(is, string(row.Status))
		}
		for word, set := range map[string]bool{"prune": row.RequiresPruning && !row.Hook, "hook": row.Hook, "confirm": row.RequiresDeletionConfirmation} {
			if set {
				is = append(is, word)
			}
		}
		if got, want := strings.Join(is, " "), strings.Join(args[2:], " "); got != want {
			return fmt.Errorf("the row of %s says %q, not %q", args[1], got, want)
		}
		return nil
	}
	return fmt.Errorf("there is no row of %s; %s", args[1], summary(app))
}

// summary is what a person would want to know of an Application.
func summary(app *v1alpha1.Application) string {
	text := fmt.Sprintf("sync %s, health %s %s", app.Status.Sync.Status, app.Status.Health.Status, app.Status.Health.Message)
	if s := app.Status.OperationState; s != nil {
		text += fmt.Sprintf(", operation %s: %s", s.Phase, s.Message)
	}
	for _, c := range app.Status.Conditions {
		text += fmt.Sprintf("\n  %s: %s", c.Type, c.Message)
	}
	for _, r := range app.Status.Resources {
		text += fmt.Sprintf("\n  %s/%s: %s", r.Kind, r.Name, r.Status)
	}
	return text
}

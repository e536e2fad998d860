// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// heartbeat is how often a wait says that it still waits when nothing changes;
// a silent job is taken for a dead one.
const heartbeat = 30 * time.Second

// verdict is what a wait thinks of an Application.
type verdict struct {
	done, failed bool
	// text is the result, waiting what is still missing.
	text, waiting string
}

// waiter waits for Applications and says what for.
type waiter struct {
	client  client.WithWatch
	streams Streams
	timeout time.Duration
}

// wait returns when every Application is done. It ends with exit code 1 when one
// failed and 4 when the time is up, naming what was still missing.
func (w waiter) wait(ctx context.Context, names []types.NamespacedName, judge func(*v1alpha1.Application) verdict) error {
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.timeout, errTimeUp)
		defer cancel()
	}
	start := time.Now()
	last := map[types.NamespacedName]string{}
	open, failed := slices.Clone(names), false
	for {
		changed := w.changes(ctx, commonNamespace(names))
		still, failedNow, err := w.look(ctx, open, judge, last, start)
		if err != nil && ctx.Err() == nil {
			return err
		}
		open, failed = still, failed || failedNow
		if len(open) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return w.gaveUp(ctx, open, last)
		case <-changed:
		case <-time.After(heartbeat):
			for _, name := range open {
				fmt.Fprintf(w.streams.Err, "%s: still %s (%s)\n", name.Name, last[name], time.Since(start).Round(time.Second))
			}
		}
	}
	if failed {
		return withCode(exitFailed, nil)
	}
	return nil
}

// look judges the Applications that are still open, prints what is new about
// them, and returns those that stay open. When one cannot be read, all do.
func (w waiter) look(ctx context.Context, open []types.NamespacedName, judge func(*v1alpha1.Application) verdict, last map[types.NamespacedName]string, start time.Time) (still []types.NamespacedName, failed bool, err error) {
	for _, name := range open {
		app, err := getApp(ctx, w.client, name)
		if err != nil {
			return open, failed, err
		}
		v := judge(app)
		switch {
		case v.done:
			fmt.Fprintf(w.streams.Err, "%s: %s\n", name.Name, v.text)
		case v.failed:
			failed = true
			fmt.Fprintf(w.streams.Err, "%s: failed: %s\n", name.Name, v.text)
		default:
			still = append(still, name)
			if last[name] != v.waiting {
				last[name] = v.waiting
				fmt.Fprintf(w.streams.Err, "%s: %s (%s)\n", name.Name, v.waiting, time.Since(start).Round(time.Second))
			}
		}
	}
	return still, failed, nil
}

func (w waiter) gaveUp(ctx context.Context, open []types.NamespacedName, last map[types.NamespacedName]string) error {
	if !errors.Is(context.Cause(ctx), errTimeUp) {
		return ctx.Err()
	}
	for _, name := range open {
		fmt.Fprintf(w.streams.Err, "%s: time is up after %s: %s\n", name.Name, w.timeout, last[name])
	}
	return withCode(exitTimeout, nil)
}

// commonNamespace is the namespace of all, or that of none in particular.
func commonNamespace(names []types.NamespacedName) string {
	for _, name := range names {
		if name.Namespace != names[0].Namespace {
			return ""
		}
	}
	return names[0].Namespace
}

// changes returns a channel that is closed at the next change of an Application
// in the namespace, in any if it is empty, or soon if watching does not work.
func (w waiter) changes(ctx context.Context, namespace string) <-chan struct{} {
	changed := make(chan struct{})
	watcher, err := w.client.Watch(ctx, &v1alpha1.ApplicationList{}, client.InNamespace(namespace))
	go func() {
		defer close(changed)
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			return
		}
		defer watcher.Stop()
		for e := range watcher.ResultChan() {
			if e.Type != "ADDED" {
				return
			}
		}
	}()
	return changed
}

var errTimeUp = errors.New("time is up")

func newAppWaitCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var sync, healthy, operation, all bool
	timeout := duration{}
	cmd := &cobra.Command{
		Use:   "wait [NAME...]",
		Short: "Wait until Applications are synced, healthy and idle",
		Long: `Wait until Applications are synced, healthy and idle.

Without --sync, --health or --operation all three are waited for.

Exit codes: 0 reached, 1 an operation failed or an Application is Degraded, 2 wrong usage, 4 time is up.`,
		Example: `  wavetrain app wait frontend --timeout 5m
  wavetrain app wait --all --health`,
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usageError("give names of Applications, or --all")
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			names, err := waitNames(cmd.Context(), c, k, args)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				return fmt.Errorf("no Applications in namespace %q", k.apps())
			}
			if !sync && !healthy && !operation {
				sync, healthy, operation = true, true, true
			}
			w := waiter{client: c, streams: s, timeout: timeout.Duration}
			return w.wait(cmd.Context(), names, func(app *v1alpha1.Application) verdict {
				return stateVerdict(app, sync, healthy, operation)
			})
		},
	}
	k.addAppFlags(cmd.Flags())
	cmd.Flags().BoolVar(&sync, "sync", false, "wait for Synced")
	cmd.Flags().BoolVar(&healthy, "health", false, "wait for Healthy")
	cmd.Flags().BoolVar(&operation, "operation", false, "wait until no operation runs")
	cmd.Flags().BoolVar(&all, "all", false, "all Applications of the namespace")
	cmd.Flags().Var(&timeout, "timeout", "how long to wait (a duration, or seconds); 0 waits for ever")
	return cmd
}

func waitNames(ctx context.Context, c client.Client, k *kube, args []string) ([]types.NamespacedName, error) {
	var names []types.NamespacedName
	for _, arg := range args {
		name, err := k.app(arg)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if len(args) > 0 {
		return names, nil
	}
	var list v1alpha1.ApplicationList
	if err := c.List(ctx, &list, client.InNamespace(k.apps())); err != nil {
		return nil, fmt.Errorf("list applications: %w", err)
	}
	for i := range list.Items {
		names = append(names, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return names, nil
}

// stateVerdict judges the state of an Application as a whole.
func stateVerdict(app *v1alpha1.Application, sync, healthy, operation bool) verdict {
	state := app.Status.OperationState
	running := app.Operation != nil || state != nil && !state.Phase.Completed()
	why := ""
	if text := remark(app); text != "" {
		why = ": " + text
	}
	switch {
	case operation && running:
		return verdict{waiting: "operation running" + why}
	case operation && state != nil && state.Phase != v1alpha1.OperationSucceeded && !app.Status.Overtaken():
		return verdict{failed: true, text: "operation " + string(state.Phase) + why}
	case sync && app.Status.Sync.Status != v1alpha1.SyncStatusSynced:
		return verdict{waiting: "sync status " + orNone(string(app.Status.Sync.Status)) + why}
	case healthy && app.Status.Health.Status == v1alpha1.HealthDegraded:
		return verdict{failed: true, text: "Degraded" + why}
	case healthy && app.Status.Health.Status != v1alpha1.HealthHealthy:
		return verdict{waiting: "health " + orNone(string(app.Status.Health.Status)) + why}
	}
	return verdict{done: true, text: fmt.Sprintf("%s, %s", app.Status.Sync.Status, app.Status.Health.Status)}
}

func orNone(word string) string {
	if word == "" {
		return "not known yet"
	}
	return word
}

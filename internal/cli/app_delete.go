// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// Values of --cascade.
const (
	cascadeForeground = "foreground"
	cascadeBackground = "background"
	cascadeNone       = "none"
)

func newAppDeleteCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var cascade string
	var async bool
	timeout := duration{}
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete an Application, with or without what it manages",
		Long: `Delete an Application and wait until it is gone.

With --cascade=foreground, the default, the objects that it manages are deleted first, the highest wave
first, and each only counts as deleted when the objects below it are gone. With background it counts at
once. With none the objects stay. PreDelete and PostDelete hooks run in any case.

Exit codes: 0 it is gone, 1 it could not be deleted, 2 wrong usage, 4 it was still there when the time was up.`,
		Example: `  wavetrain app delete frontend
  wavetrain app delete frontend --cascade none
  wavetrain app delete frontend --cascade background --timeout 5m`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{cascadeForeground, cascadeBackground, cascadeNone}, cascade) {
				return usageError("--cascade %q is not known: use foreground, background or none", cascade)
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			name, err := k.app(args[0])
			if err != nil {
				return err
			}
			uid, err := requestDeletion(cmd.Context(), c, name, cascade)
			if err != nil {
				return err
			}
			if async {
				fmt.Fprintf(s.Err, "application %q: deletion requested\n", name.Name)
				return nil
			}
			w := waiter{client: c, streams: s, timeout: timeout.Duration}
			return w.untilGone(cmd.Context(), name, uid)
		},
	}
	k.addAppFlags(cmd.Flags())
	cmd.Flags().StringVar(&cascade, "cascade", cascadeForeground, "how the managed objects are deleted: foreground, background or none")
	cmd.Flags().BoolVar(&async, "async", false, "return as soon as the deletion is requested")
	cmd.Flags().Var(&timeout, "timeout", "how long to wait (a duration, or seconds); 0 waits for ever")
	// The flag exists: it was made above.
	_ = cmd.RegisterFlagCompletionFunc("cascade", cobra.FixedCompletions([]string{cascadeForeground, cascadeBackground, cascadeNone}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// requestDeletion has the Application carry the finalizer that the cascade asks
// for, and deletes exactly the one that it has read.
func requestDeletion(ctx context.Context, c client.Client, name types.NamespacedName, cascade string) (types.UID, error) {
	app, err := getApp(ctx, c, name)
	if err != nil {
		return "", err
	}
	before := app.DeepCopy()
	app.Finalizers = cascadeFinalizers(app.Finalizers, cascade)
	if !slices.Equal(before.Finalizers, app.Finalizers) {
		if app.DeletionTimestamp != nil && cascade != cascadeNone {
			return "", fmt.Errorf("application %q is being deleted already, without a cascade or with another one: that can only be changed to --cascade none", name.Name)
		}
		err := c.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			return requestDeletion(ctx, c, name, cascade)
		}
		if err != nil {
			return "", fmt.Errorf("set finalizer of application %q: %w", name.Name, err)
		}
	}
	if err := c.Delete(ctx, app, client.Preconditions{UID: &app.UID}); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("delete application %q: %w", name.Name, err)
	}
	return app.UID, nil
}

// cascadeFinalizers replaces the finalizers that say what becomes of the managed
// objects and leaves all others alone. A finalizer that asks for the same already
// stays as it is.
func cascadeFinalizers(finalizers []string, cascade string) []string {
	forms := map[string][]string{
		cascadeForeground: {v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesForeground},
		cascadeBackground: {v1alpha1.FinalizerResourcesBackground},
	}
	kept, found := []string{}, false
	for _, f := range finalizers {
		wanted := slices.Contains(forms[cascade], f)
		if strings.HasPrefix(f, v1alpha1.FinalizerResources) && (!wanted || found) {
			continue
		}
		found = found || wanted
		kept = append(kept, f)
	}
	if wanted := forms[cascade]; len(wanted) > 0 && !found {
		kept = append(kept, wanted[0])
	}
	return kept
}

// untilGone waits until the Application of that UID does not exist any more and
// says what its deletion is at.
func (w waiter) untilGone(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.timeout, errTimeUp)
		defer cancel()
	}
	start, last := time.Now(), ""
	for {
		changed := w.changes(ctx, name.Namespace)
		app := &v1alpha1.Application{}
		err := w.client.Get(ctx, name, app)
		switch {
		case apierrors.IsNotFound(err), err == nil && app.UID != uid:
			fmt.Fprintf(w.streams.Err, "%s: deleted (%s)\n", name.Name, time.Since(start).Round(time.Second))
			return nil
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("get application %q: %w", name.Name, err)
		case err == nil:
			if text := deletionProgress(app); text != last {
				last = text
				fmt.Fprintf(w.streams.Err, "%s: %s (%s)\n", name.Name, text, time.Since(start).Round(time.Second))
			}
		}
		select {
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), errTimeUp) {
				return ctx.Err()
			}
			fmt.Fprintf(w.streams.Err, "%s: time is up after %s: %s\n", name.Name, w.timeout, last)
			return withCode(exitTimeout, nil)
		case <-changed:
		case <-time.After(heartbeat):
			fmt.Fprintf(w.streams.Err, "%s: still %s (%s)\n", name.Name, last, time.Since(start).Round(time.Second))
		}
	}
}

// deletionProgress is what an Application that is being deleted says about it.
func deletionProgress(app *v1alpha1.Application) string {
	for _, c := range app.Status.Conditions {
		switch c.Type {
		case v1alpha1.ConditionDeletionError, v1alpha1.ConditionDeletionProgressing:
			return c.Message
		}
	}
	return "waiting for a controller to let it go: finalizers " + strings.Join(app.Finalizers, ", ")
}

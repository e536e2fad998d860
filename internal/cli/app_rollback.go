// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
)

func newAppRollbackCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var prune, async bool
	timeout := duration{10 * time.Minute}
	cmd := &cobra.Command{
		Use:   "rollback NAME [ID]",
		Short: "Go back to an earlier sync, without hooks, and stay there",
		Long: `Go back to what an earlier sync rolled out, the one before the last unless ID names another.

Hooks do not run. Automation stays at what was gone back to until a commit changes what the target
revision renders, or until somebody syncs.

Exit codes: 0 the sync succeeded, 1 it failed, 2 wrong usage, 4 it still ran when the time was up.`,
		Example: `  wavetrain app history frontend
  wavetrain app rollback frontend
  wavetrain app rollback frontend 7 --prune`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := int64(-1)
			if len(args) == 2 {
				var err error
				if id, err = strconv.ParseInt(args[1], 10, 64); err != nil || id < 0 {
					return usageError("%q is no id of a sync: `wavetrain app history %s` lists them", args[1], args[0])
				}
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			name, err := k.app(args[0])
			if err != nil {
				return err
			}
			if err := requestRollback(cmd.Context(), c, name, id, prune); err != nil {
				return err
			}
			if async {
				fmt.Fprintf(s.Err, "application %q: rollback requested\n", name.Name)
				return nil
			}
			w := waiter{client: c, streams: s, timeout: timeout.Duration}
			return w.wait(cmd.Context(), []types.NamespacedName{name}, operationVerdict)
		},
	}
	k.addAppFlags(cmd.Flags())
	cmd.Flags().BoolVar(&prune, "prune", false, "delete what the earlier sync did not have")
	cmd.Flags().BoolVar(&async, "async", false, "return as soon as the rollback is requested")
	cmd.Flags().Var(&timeout, "timeout", "how long to wait for the sync (a duration, or seconds); 0 waits for ever")
	return cmd
}

// requestRollback puts the operation on the Application.
func requestRollback(ctx context.Context, c client.Client, name types.NamespacedName, id int64, prune bool) error {
	app, err := getApp(ctx, c, name)
	if err != nil {
		return err
	}
	state := app.Status.OperationState
	if app.Operation != nil || state != nil && !state.Phase.Completed() {
		return fmt.Errorf("application %q: another operation is in progress: wait for it, or end it with `wavetrain app terminate-op %s`", name.Name, argument(name))
	}
	entry, err := historyEntry(app, id)
	if err != nil {
		return err
	}
	before := app.DeepCopy()
	app.Operation = &v1alpha1.Operation{Sync: controller.RollbackSync(app, entry, prune), InitiatedBy: v1alpha1.OperationInitiator{Username: "wavetrain-cli"}}
	if err := c.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("request rollback of application %q: %w", name.Name, err)
	}
	return nil
}

// historyEntry returns the sync of that id; a negative id means the one before
// the last.
func historyEntry(app *v1alpha1.Application, id int64) (v1alpha1.RevisionHistory, error) {
	history := app.Status.History
	if id < 0 {
		if len(history) < 2 {
			return v1alpha1.RevisionHistory{}, fmt.Errorf("application %q has no sync before the last one to go back to", app.Name)
		}
		return history[len(history)-2], nil
	}
	var ids []string
	for i := range history {
		if history[i].ID == id {
			return history[i], nil
		}
		ids = append(ids, strconv.FormatInt(history[i].ID, 10))
	}
	return v1alpha1.RevisionHistory{}, fmt.Errorf("application %q has no sync %d in its history: there are %s", app.Name, id, orNone(strings.Join(ids, ", ")))
}

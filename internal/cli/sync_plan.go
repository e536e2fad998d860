// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/plan/saved"
)

// exitMoved is the exit code of a sync whose plan no longer holds.
const exitMoved = 3

// maxPlan is how large a plan may be that an Application carries: it is written with
// every progress of the operation.
const maxPlan = 512 << 10

// newSyncCmd is "app sync" where people look for it after "plan".
func newSyncCmd(s Streams) *cobra.Command {
	cmd := newAppSyncCmd(s)
	cmd.Example = strings.ReplaceAll(cmd.Example, "wavetrain app sync", "wavetrain sync")
	return cmd
}

// syncPlan carries out the plans of a file, one after the other.
func syncPlan(cmd *cobra.Command, s Streams, k *kube, f *syncFlags, args []string) error {
	flags := cmd.Flags()
	for _, name := range []string{"revision", "prune", "dry-run", "strategy", "resource", "sync-option", "local", "force"} {
		if flags.Changed(name) {
			return usageError("--plan and --%s exclude each other: a plan is carried out as it was made", name)
		}
	}
	list, err := readPlan(f.plan)
	if err != nil {
		return err
	}
	if list, err = chosen(k, f.plan, list, args); err != nil {
		return err
	}
	if f.async && len(list) > 1 {
		return usageError("--async: the plan has %d applications, of which one is synced after the other: give the name of one", len(list))
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Err, "the plan does nothing")
		return nil
	}
	c, err := k.client()
	if err != nil {
		return err
	}
	for i, planned := range list {
		if err := syncPlanned(cmd.Context(), s, c, f, planned); err != nil {
			if rest := len(list) - i - 1; rest > 0 {
				fmt.Fprintf(s.Err, "%d further applications of the plan were not synced\n", rest)
			}
			return err
		}
	}
	return nil
}

// chosen are the syncs of a plan that are asked for: all, or that of one
// Application.
func chosen(k *kube, file string, list []plannedSync, args []string) ([]plannedSync, error) {
	if len(args) == 0 {
		return list, nil
	}
	name, err := k.app(args[0])
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(p plannedSync) bool { return p.Plan.App != name.String() })
	if len(list) == 0 {
		return nil, fmt.Errorf("the plan %s says nothing about application %q: nothing was to be done for it, or it was not planned", file, name)
	}
	return list, nil
}

// syncPlanned carries out the plan of one Application.
func syncPlanned(ctx context.Context, s Streams, c client.WithWatch, f *syncFlags, planned plannedSync) error {
	namespace, name, _ := strings.Cut(planned.Plan.App, "/")
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if err := requestPlanned(ctx, c, key, planned); err != nil {
		return err
	}
	if f.async {
		fmt.Fprintf(s.Err, "application %q: sync requested\n", key.Name)
		return nil
	}
	w := waiter{client: c, streams: s, timeout: f.timeout.Duration}
	err := w.wait(ctx, []types.NamespacedName{key}, operationVerdict)
	var coded *exitError
	if err != nil && (!errors.As(err, &coded) || coded.code != exitFailed) {
		return err
	}
	app, getErr := getApp(ctx, c, key)
	switch {
	case getErr != nil || app.Status.OperationState == nil:
	case err != nil && strings.HasPrefix(app.Status.OperationState.Message, controller.PlanRefused):
		fmt.Fprintln(s.Err, "hint: make the plan again, and look at it")
		return withCode(exitMoved, coded.err)
	case unread(app.Status.OperationState.Operation):
		return fmt.Errorf("application %q: the controller does not know plans and has synced without looking at this one: bring it to the version of this program", key.Name)
	}
	return err
}

// unread tells whether the plan of an operation that has ended is still whole: a
// controller that has looked at it leaves only its id.
func unread(op v1alpha1.Operation) bool {
	return slices.ContainsFunc(op.Info, func(i v1alpha1.Info) bool { return i.Name == controller.InfoPlan && i.Value != saved.Brief(i.Value) })
}

// requestPlanned puts the operation on the Application.
func requestPlanned(ctx context.Context, c client.Client, name types.NamespacedName, planned plannedSync) error {
	text, err := planned.Plan.Encode()
	if err != nil {
		return err
	}
	if len(text) > maxPlan {
		return fmt.Errorf("application %q: its plan has %d KiB, an operation can carry %d: sync it without --plan, or in parts with `wavetrain app sync --resource`", name.Name, len(text)>>10, maxPlan>>10)
	}
	for {
		app, err := getApp(ctx, c, name)
		if err != nil {
			return err
		}
		if err := idle(app); err != nil {
			return err
		}
		sync := &v1alpha1.SyncOperation{Prune: planned.Prune, SyncOptions: planned.Options}
		if app.Spec.MultipleSources() {
			sync.Revisions = planned.Plan.Revisions
		} else {
			sync.Revision = planned.Plan.Revisions[0]
		}
		app.Operation = &v1alpha1.Operation{
			Sync: sync, InitiatedBy: v1alpha1.OperationInitiator{Username: "wavetrain-cli"},
			Info: []v1alpha1.Info{{Name: controller.InfoPlan, Value: text}},
		}
		err = c.Update(ctx, app)
		if !apierrors.IsConflict(err) {
			if err != nil {
				return fmt.Errorf("request sync of application %q: %w", name.Name, err)
			}
			return nil
		}
	}
}

// idle refuses to ask for an operation beside another one.
func idle(app *v1alpha1.Application) error {
	if app.Operation != nil || (app.Status.OperationState != nil && !app.Status.OperationState.Phase.Completed()) {
		return fmt.Errorf("application %q: another operation is in progress: wait for it, or end it with `wavetrain app terminate-op %s`",
			app.Name, argument(client.ObjectKeyFromObject(app)))
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// syncFlags are the flags of `app sync`.
type syncFlags struct {
	revision  string
	prune     bool
	dryRun    bool
	async     bool
	strategy  string
	resources []string
	options   []string
	local     string
	force     bool
	plan      string
	timeout   duration
}

func (f *syncFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.revision, "revision", "", "sync to this revision instead of the target revision")
	flags.BoolVar(&f.prune, "prune", false, "delete what the source no longer contains")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check against the API server without changing anything")
	flags.BoolVar(&f.async, "async", false, "return as soon as the sync is requested")
	flags.StringVar(&f.strategy, "strategy", "hook", "hook runs hooks, apply leaves them out")
	flags.StringArrayVar(&f.resources, "resource", nil, "only this object, as GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME; may be repeated")
	flags.StringArrayVar(&f.options, "sync-option", nil, "sync option, for example Replace=true; may be repeated")
	flags.BoolVar(&f.force, "force", false, "delete and create anew what cannot be changed in place")
	flags.StringVar(&f.local, "local", "", "sync the manifests of this directory instead of the source; the Application's automation must be off, or --dry-run given")
	flags.StringVar(&f.plan, "plan", "", "carry out the plan in this file, that \"wavetrain plan --out\" has written, or nothing if it no longer holds")
	f.timeout = duration{10 * time.Minute}
	flags.Var(&f.timeout, "timeout", "how long to wait for the sync (a duration, or seconds); 0 waits for ever")
}

func newAppSyncCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var f syncFlags
	cmd := &cobra.Command{
		Use:   "sync NAME | --plan FILE",
		Short: "Sync an Application now and wait for the result",
		Long: `Sync an Application now and wait for the result.

--plan FILE syncs the Applications of a plan, one after the other in its order, to the revisions
that were planned. The controller carries out exactly that plan: it plans again right before its
first write, and if an object, the Application or what is rendered has changed since in a way that
changes the plan, it writes nothing and says what has changed. With NAME, only that Application of
the plan is synced.

Exit codes: 0 the sync succeeded, 1 it failed, 2 wrong usage, 3 the plan no longer holds, 4 it still
ran when the time was up.`,
		Example: `  wavetrain app sync frontend
  wavetrain app sync frontend --prune --revision v1.4.0
  wavetrain app sync frontend --resource apps:Deployment:frontend
  wavetrain app sync frontend --local ./charts/frontend --dry-run
  wavetrain sync --plan plan.json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.plan != "" {
				return syncPlan(cmd, s, k, &f, args)
			}
			if len(args) == 0 {
				return usageError("give the name of an Application, or --plan FILE")
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			name, err := k.app(args[0])
			if err != nil {
				return err
			}
			if err := requestSync(cmd.Context(), k, c, name, &f); err != nil {
				return err
			}
			if f.async {
				fmt.Fprintf(s.Err, "application %q: sync requested\n", name.Name)
				return nil
			}
			w := waiter{client: c, streams: s, timeout: f.timeout.Duration}
			err = w.wait(cmd.Context(), []types.NamespacedName{name}, operationVerdict)
			if f.dryRun {
				if printErr := printResults(cmd.Context(), s, c, name); err == nil {
					err = printErr
				}
			}
			return err
		},
	}
	k.addAppFlags(cmd.Flags())
	f.add(cmd.Flags())
	return cmd
}

// requestSync puts the operation on the Application.
func requestSync(ctx context.Context, k *kube, c client.Client, name types.NamespacedName, f *syncFlags) error {
	app, err := getApp(ctx, c, name)
	if err != nil {
		return err
	}
	if err := idle(app); err != nil {
		return err
	}
	sync, err := f.operation(app)
	if err != nil {
		return err
	}
	if f.local != "" {
		cfg, err := k.restConfig()
		if err != nil {
			return err
		}
		if sync.Manifests, err = localManifests(ctx, cfg, app, f.local); err != nil {
			return err
		}
	}
	app.Operation = &v1alpha1.Operation{Sync: sync, InitiatedBy: v1alpha1.OperationInitiator{Username: "wavetrain-cli"}}
	if err := c.Update(ctx, app); err != nil {
		if apierrors.IsConflict(err) {
			return requestSync(ctx, k, c, name, f)
		}
		return fmt.Errorf("request sync of application %q: %w", name.Name, err)
	}
	return nil
}

// printResults prints what became of each object of the last operation.
func printResults(ctx context.Context, s Streams, c client.Client, name types.NamespacedName) error {
	app, err := getApp(ctx, c, name)
	if err != nil {
		return err
	}
	if state := app.Status.OperationState; state != nil && state.SyncResult != nil {
		for _, r := range state.SyncResult.Resources {
			fmt.Fprintf(s.Out, "%s %s/%s: %s\n", r.Status, r.Kind, r.Name, r.Message)
		}
	}
	return nil
}

func (f *syncFlags) operation(app *v1alpha1.Application) (*v1alpha1.SyncOperation, error) {
	sync := &v1alpha1.SyncOperation{
		Revision: f.revision, Prune: f.prune, DryRun: f.dryRun,
		SyncOptions: append(append([]string{}, app.Spec.SyncOptionList()...), f.options...),
	}
	switch f.strategy {
	case "hook":
		if f.force {
			sync.SyncStrategy = &v1alpha1.SyncStrategy{Hook: &v1alpha1.SyncStrategyHook{SyncStrategyApply: v1alpha1.SyncStrategyApply{Force: true}}}
		}
	case "apply":
		sync.SyncStrategy = &v1alpha1.SyncStrategy{Apply: &v1alpha1.SyncStrategyApply{Force: f.force}}
	default:
		return nil, usageError("--strategy %q is not known: use hook or apply", f.strategy)
	}
	if f.local != "" && f.revision != "" {
		return nil, usageError("--local and --revision exclude each other: a directory has no revision")
	}
	for _, text := range f.resources {
		parts := strings.SplitN(text, ":", 3)
		if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
			return nil, usageError("--resource %q: want GROUP:KIND:NAME, for example apps:Deployment:frontend", text)
		}
		r := v1alpha1.SyncOperationResource{Group: parts[0], Kind: parts[1], Name: parts[2]}
		if ns, name, ok := strings.Cut(parts[2], "/"); ok {
			r.Namespace, r.Name = ns, name
		}
		sync.Resources = append(sync.Resources, r)
	}
	return sync, nil
}

// operationVerdict judges the operation that was requested. The controller takes
// the request away in the very write that completes it: a completed operation
// beside a request is the one before. Times do not tell, they have whole seconds.
func operationVerdict(app *v1alpha1.Application) verdict {
	state := app.Status.OperationState
	if state == nil || app.Operation != nil && state.Phase.Completed() {
		return verdict{waiting: "waiting for a controller to begin (`wavetrain serve` or `wavetrain up` must be running)"}
	}
	switch state.Phase {
	case v1alpha1.OperationSucceeded:
		return verdict{done: true, text: state.Message}
	case v1alpha1.OperationFailed, v1alpha1.OperationError:
		return verdict{failed: true, text: state.Message}
	default:
		return verdict{waiting: state.Message}
	}
}

func newAppTerminateCmd(s Streams) *cobra.Command {
	k := newKube(s)
	cmd := &cobra.Command{
		Use:               "terminate-op NAME",
		Short:             "End the running operation of an Application",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, app, err := k.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			state := app.Status.OperationState
			if state == nil || state.Phase.Completed() {
				return fmt.Errorf("application %q: no operation is running", app.Name)
			}
			before := app.DeepCopy()
			state.Phase = v1alpha1.OperationTerminating
			if err := c.Patch(cmd.Context(), app, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("terminate operation of application %q: %w", app.Name, err)
			}
			fmt.Fprintf(s.Err, "application %q: operation is being terminated\n", app.Name)
			return nil
		},
	}
	k.addAppFlags(cmd.Flags())
	return cmd
}

// duration is a flag that takes a Go duration or a number of seconds.
type duration struct{ time.Duration }

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	if parsed, err := time.ParseDuration(text); err == nil {
		d.Duration = parsed
		return nil
	}
	parsed, err := time.ParseDuration(text + "s")
	if err != nil {
		return errors.New("want a duration like 5m, or a number of seconds")
	}
	d.Duration = parsed
	return nil
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }

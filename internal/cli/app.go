// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func newAppCmd(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "app",
		Aliases: []string{"application", "apps"},
		Short:   "Look at Applications and sync them",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAppListCmd(s), newAppGetCmd(s), newAppSyncCmd(s), newAppWaitCmd(s), newAppDiffCmd(s), newAppRecordCmd(s),
		newAppTerminateCmd(s), newAppConfirmCmd(s), newAppDeleteCmd(s), newAppHistoryCmd(s), newAppRollbackCmd(s), newAppResourcesCmd(s))
	return cmd
}

// application connects and reads the Application that the command names.
func (k *kube) application(ctx context.Context, name string) (client.WithWatch, *v1alpha1.Application, error) {
	key, err := k.app(name)
	if err != nil {
		return nil, nil, err
	}
	c, err := k.client()
	if err != nil {
		return nil, nil, err
	}
	app, err := getApp(ctx, c, key)
	return c, app, err
}

// getApp reads one Application; the error says which ones there are when it
// does not exist.
func getApp(ctx context.Context, c client.Client, name types.NamespacedName) (*v1alpha1.Application, error) {
	app := &v1alpha1.Application{}
	err := c.Get(ctx, name, app)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("application %q not found in namespace %q: `wavetrain app list -A` shows all", name.Name, name.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("get application %q: %w", name.Name, err)
	}
	return app, nil
}

// completeApps completes names of Applications; it gives up silently after a
// second, a completion must never hang a shell.
func completeApps(k *kube) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		c, err := k.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var list v1alpha1.ApplicationList
		if err := c.List(ctx, &list, client.InNamespace(k.apps())); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := make([]cobra.Completion, len(list.Items))
		for i := range list.Items {
			names[i] = list.Items[i].Name
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// operationWord is the phase of the last operation, or "" when there was none.
func operationWord(app *v1alpha1.Application) string {
	if app.Status.OperationState == nil {
		return ""
	}
	return string(app.Status.OperationState.Phase)
}

// remark is the one line that matters most about an Application: an error
// condition, else what its operation says unless that went well.
func remark(app *v1alpha1.Application) string {
	for _, c := range app.Status.Conditions {
		return string(c.Type) + ": " + c.Message
	}
	if state := app.Status.OperationState; state != nil && state.Phase != v1alpha1.OperationSucceeded {
		return state.Message
	}
	return app.Status.Health.Message
}

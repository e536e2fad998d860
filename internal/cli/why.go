// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/why"
)

// reasons is why an Application, or an object of it, is not done.
type reasons struct {
	App string `json:"app"`
	// Operation is what the operation says that it waits for.
	Operation string       `json:"operation,omitempty"`
	Phase     string       `json:"phase,omitempty"`
	Chains    [][]why.Link `json:"chains"`
}

func newWhyCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	cmd := &cobra.Command{
		Use:   "why APP [KIND/NAME]",
		Short: "Say why an Application waits, down to what it all hangs on",
		Long: `Say why an Application waits: from what its operation waits for, over Pods, events, conditions
and references, down to the object that everything else hangs on.

With KIND/NAME the chain begins at that object of the Application; a group can be given as in
Cluster.postgresql.cnpg.io/main.

Exit codes: 0 nothing is waited for, 1 something is, 2 wrong usage.`,
		Example: `  wavetrain why frontend
  wavetrain why frontend Deployment/frontend
  wavetrain why frontend -o json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeApps(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			found, err := findReasons(cmd.Context(), s, k, args)
			if err != nil {
				return err
			}
			if done, err := out.structured(s.Out, found); done || err != nil {
				return err
			}
			return printReasons(s, found)
		},
	}
	k.addAppFlags(cmd.Flags())
	out.addFlag(cmd, "json", "yaml")
	return cmd
}

func findReasons(ctx context.Context, s Streams, k *kube, args []string) (*reasons, error) {
	c, app, err := k.application(ctx, args[0])
	if err != nil {
		return nil, err
	}
	cfg, err := k.restConfig()
	if err != nil {
		return nil, err
	}
	opts := controller.Options{Config: cfg, Namespace: k.namespace}
	destination, closeDestination, err := controller.OpenDestination(ctx, opts, c, app.Spec.Destination)
	if err != nil {
		return nil, err
	}
	defer closeDestination()
	found := &reasons{App: app.Name, Chains: [][]why.Link{}}
	var keys []manifest.Key
	if state := app.Status.OperationState; state != nil {
		found.Phase, found.Operation = string(state.Phase), state.Message
	}
	if len(args) == 2 {
		key, err := objectOf(app, args[1])
		if err != nil {
			return nil, err
		}
		keys = []manifest.Key{key}
	} else {
		keys = waitedFor(app)
	}
	e := why.Explainer{Cluster: destination, Produced: s.produced(ctx, opts, c, app)}
	for _, key := range keys {
		chain, err := e.Explain(ctx, key)
		if err != nil {
			return nil, err
		}
		found.Chains = append(found.Chains, chain)
	}
	return found, nil
}

// waitedFor are the objects that an Application's operation waits for or failed
// at; of one that is through, those that are not healthy.
func waitedFor(app *v1alpha1.Application) []manifest.Key {
	namespace := app.Spec.Destination.Namespace
	if state := app.Status.OperationState; state != nil && state.Phase != v1alpha1.OperationSucceeded {
		if keys := why.Named(state.Message, namespace); len(keys) > 0 {
			return keys
		}
	}
	return why.Named(app.Status.Health.Message, namespace)
}

// objectOf finds the object of an Application that an argument names.
func objectOf(app *v1alpha1.Application, text string) (manifest.Key, error) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		return manifest.Key{}, usageError("%q is no object: write KIND/NAME", text)
	}
	kind, group, _ := strings.Cut(kind, ".")
	for _, r := range app.Status.Resources {
		if r.Kind == kind && r.Name == name && (group == "" || r.Group == group) {
			return manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, nil
		}
	}
	return manifest.Key{}, fmt.Errorf("application %q has no %s: `wavetrain app get %s` lists its objects", app.Name, text, argument(client.ObjectKeyFromObject(app)))
}

// produced is what controllers make from the objects of an Application. Without
// its sources chains end earlier.
func (s Streams) produced(ctx context.Context, opts controller.Options, c client.Client, app *v1alpha1.Application) map[manifest.Key]manifest.Key {
	mirrors, err := os.MkdirTemp("", "wavetrain-why-")
	if err != nil {
		return nil
	}
	defer func() { _ = os.RemoveAll(mirrors) }()
	if opts.Sources, err = source.NewStore(source.Options{Dir: mirrors, Env: s.gitEnv()}); err != nil {
		return nil
	}
	defer opts.Sources.Close()
	preview, err := controller.NewPreview(ctx, opts, c, app)
	if err != nil {
		fmt.Fprintf(s.Err, "warning: what the application renders is not known: %v\n", err)
		return nil
	}
	defer preview.Close()
	var objects []manifest.Object
	for _, g := range preview.Plan.Groups {
		for _, step := range g.Steps {
			if step.Object != nil {
				objects = append(objects, *step.Object)
			}
		}
	}
	return why.Produced(objects)
}

func printReasons(s Streams, r *reasons) error {
	waiting := false
	if r.Operation != "" && r.Phase != string(v1alpha1.OperationSucceeded) {
		fmt.Fprintf(s.Out, "%s: %s: %s\n", r.App, r.Phase, r.Operation)
	}
	now := time.Now()
	for _, chain := range r.Chains {
		for depth, link := range chain {
			fmt.Fprintf(s.Out, "%s%s\n", strings.Repeat("  ", depth+1), why.Text([]why.Link{link}, now))
			waiting = waiting || link.State != "Healthy" && link.State != "there"
		}
	}
	if waiting {
		return withCode(exitFailed, nil)
	}
	if r.Phase == string(v1alpha1.OperationRunning) {
		return withCode(exitFailed, nil)
	}
	fmt.Fprintf(s.Out, "%s waits for nothing\n", r.App)
	return nil
}

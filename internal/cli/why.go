// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/release"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/why"
)

// renderPatience is how long why waits for the manifests of an Application, which
// only make its answers better.
const renderPatience = 20 * time.Second

func newWhyCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	cmd := &cobra.Command{
		Use:   "why APP|OBJECT [OBJECT]",
		Short: "Say why an Application or an object waits, down to what it all hangs on",
		Long: `Say why an Application waits: from what its operation waits for, over Pods, events, conditions,
quotas and references, down to the object that everything else hangs on. What no object explains
is told as well: sync windows, projects, prunes that wait for who uses the object.

An OBJECT is KIND/NAME or KIND/NAMESPACE/NAME; a kind can be written as kubectl takes it
(deploy/web), and with its group: Cluster.postgresql.cnpg.io/main. Without an Application it is
looked for in the cluster of the kubeconfig, in the namespaces that Applications deliver to; with
one, in the Application's cluster.

Exit codes: 0 nothing is waited for, 1 something is, 2 wrong usage.`,
		Example: `  wavetrain why frontend
  wavetrain why frontend Deployment/frontend
  wavetrain why Pod/shop/frontend-5d5f7b7c5-vp4fq
  wavetrain why job/migrate -o json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeWhy(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			answer, err := findAnswer(cmd.Context(), s, k, args)
			if err != nil {
				return err
			}
			done, err := out.structured(s.Out, answer)
			if err != nil {
				return err
			}
			if !done {
				printAnswer(s, args[len(args)-1], answer)
			}
			if answer.Waits {
				return withCode(exitFailed, nil)
			}
			return nil
		},
	}
	k.addAppFlags(cmd.Flags())
	out.addFlag(cmd, "json", "yaml")
	return cmd
}

func findAnswer(ctx context.Context, s Streams, k *kube, args []string) (why.Answer, error) {
	if len(args) == 1 && strings.Contains(args[0], "/") {
		if answer, isObject, err := findObject(ctx, s, k, args[0]); isObject || err != nil {
			return answer, err
		}
	}
	c, app, err := k.application(ctx, args[0])
	if err != nil {
		return why.Answer{}, err
	}
	e, p, end, err := s.explainer(ctx, k, c, app)
	if err != nil {
		return why.Answer{}, err
	}
	defer end()
	if len(args) == 2 {
		key, err := objectOf(app, args[1])
		if err != nil {
			return why.Answer{}, err
		}
		answer, err := e.Object(ctx, key)
		return belongsTo(answer, app, key), err
	}
	return e.Application(ctx, app, p, waitOf(ctx, c, app))
}

// waitOf is what the record of an Application's operation says that it waits for.
// Without a record the status has to do.
func waitOf(ctx context.Context, c client.Client, app *v1alpha1.Application) *machine.Wait {
	_, payload, err := release.Load(ctx, c, client.ObjectKeyFromObject(app), app)
	var state rollout.State
	if err != nil || payload == nil || json.Unmarshal(payload, &state) != nil || state.Operation == nil {
		return nil
	}
	return state.Operation.Wait
}

// explainer asks the cluster that an Application goes to. It knows what the
// Application renders unless that takes too long or cannot be found out.
func (s Streams) explainer(ctx context.Context, k *kube, c client.Client, app *v1alpha1.Application) (why.Explainer, *plan.Plan, func(), error) {
	cfg, err := k.restConfig()
	if err != nil {
		return why.Explainer{}, nil, nil, err
	}
	opts := controller.Options{Config: cfg, Namespace: k.namespace}
	if preview, end, err := s.preview(ctx, opts, c, app); err == nil {
		return preview.Explainer(), preview.Plan, end, nil
	} else if app.Status.Sync.Status != "" {
		fmt.Fprintf(s.Err, "warning: what the application renders is not known: %v\n", err)
	}
	destination, end, err := controller.OpenDestination(ctx, opts, c, app.Spec.Destination)
	if err != nil {
		return why.Explainer{}, nil, nil, err
	}
	return why.Explainer{Cluster: destination}, nil, end, nil
}

// preview renders an Application and compares it with its cluster. The function
// that is returned ends it.
func (s Streams) preview(ctx context.Context, opts controller.Options, c client.Client, app *v1alpha1.Application) (*controller.Preview, func(), error) {
	mirrors, err := os.MkdirTemp("", "wavetrain-why-")
	if err != nil {
		return nil, nil, err
	}
	discard := func() { _ = os.RemoveAll(mirrors) }
	if opts.Sources, err = source.NewStore(source.Options{Dir: mirrors, Env: s.gitEnv()}); err != nil {
		discard()
		return nil, nil, err
	}
	look, cancel := context.WithTimeout(ctx, renderPatience)
	preview, err := controller.NewPreview(look, opts, c, app)
	if err != nil {
		cancel()
		opts.Sources.Close()
		discard()
		return nil, nil, err
	}
	return preview, func() {
		preview.Close()
		cancel()
		opts.Sources.Close()
		discard()
	}, nil
}

func printAnswer(s Streams, subject string, a why.Answer) {
	if !a.Waits {
		fmt.Fprintf(s.Out, "%s waits for nothing\n", subject)
		return
	}
	for _, line := range a.Lines() {
		fmt.Fprintln(s.Out, line)
	}
	for _, chain := range a.Chains {
		if len(chain) < 2 {
			continue
		}
		fmt.Fprintln(s.Out)
		for depth, link := range chain {
			text := link.Text
			if link.Field != "" {
				text += "  [" + link.Field + "]"
			}
			fmt.Fprintf(s.Out, "%s%s\n", strings.Repeat("  ", depth), text)
		}
	}
}

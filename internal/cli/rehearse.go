// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rehearse"
	"github.com/wavetrain/wavetrain/internal/rehearse/gantt"
)

// rehearseArguments are the arguments of "wavetrain rehearse".
type rehearseArguments struct {
	dir     string
	variant string
	base    string
	head    string
	output  output
	quiet   bool
	events  bool
	keep    bool
	timeout duration
}

const rehearseLong = `Run a rollout for real on an embedded control plane, and show what happens when: the real
controller, the real API server and Kubernetes' own controllers; Pods and operators are
simulated.

DIR holds
  rev1/, rev2/, …  the repository at each revision
  app.yaml         the Application, as it is applied by hand
  cluster.yaml     objects that are there before
  sim.yaml         rules for Pods, operators and what goes wrong
  steps.yaml       what is done, in order; without it every revision is committed in turn,
                   and waited for until it has settled
--variant x takes steps-x.yaml, and the other files with that ending that there are.
docs/rehearse.md describes the steps.

With --base, DIR is a Git repository instead: what its .wavetrain.yaml lists under bootstrap is
applied, --base is brought to rest, and then --head, which is the last commit unless it is given.
External Secrets and CloudNativePG are simulated.

Exit codes: 0 everything converged, 1 something did not, 2 wrong usage, 4 time is up.`

func newRehearseCmd(s Streams) *cobra.Command {
	a := rehearseArguments{timeout: duration{30 * time.Minute}}
	cmd := &cobra.Command{
		Use:   "rehearse [DIR]",
		Short: "Run a rollout on an embedded control plane and see what happens when",
		Long:  rehearseLong,
		Example: `  wavetrain rehearse rehearsals/upgrade
  wavetrain rehearse rehearsals/upgrade --variant broken -o json > timeline.json
  wavetrain rehearse rehearsals/upgrade -o html > timeline.html
  wavetrain rehearse --base origin/main`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1:
				a.dir = args[0]
			case a.base != "":
				a.dir = "."
			default:
				return usageError("name the directory of a rehearsal, or with --base the revision of this repository to begin with")
			}
			return a.run(cmd.Context(), s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.variant, "variant", "", "take the files of this variant: steps-x.yaml, sim-x.yaml, app-x.yaml")
	f.StringVar(&a.base, "base", "", "rehearse the repository in DIR, by default the one here, from this Git revision")
	f.StringVar(&a.head, "head", "HEAD", "with --base: to this Git revision")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "do not show what happens while it happens")
	f.BoolVar(&a.events, "events", false, "show every change of every object while it happens, not only the steps and waves")
	f.BoolVar(&a.keep, "keep", false, "keep the directory of the rehearsal: data and logs of the control plane, the controller's log, the repository")
	f.Var(&a.timeout, "timeout", "how long the whole rehearsal may take")
	a.output.addFlag(cmd, "text", "json", "html")
	return cmd
}

func (a *rehearseArguments) run(ctx context.Context, s Streams) error {
	if err := a.output.check(); err != nil {
		return err
	}
	dir, known := a.dir, []string(nil)
	if a.base != "" {
		laidOut, urls, err := layOut(ctx, s, a.dir, a.base, a.head)
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(laidOut) }()
		dir, known = laidOut, urls
	}
	c, err := rehearse.Load(dir, a.variant)
	if err != nil {
		return withCode(exitUsage, err)
	}
	c.Brisk = a.base != ""
	urls, err := repositoriesOf(dir, known)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout.Duration, errTimeUp)
	defer cancel()
	result, err := a.rehearse(ctx, s, c, urls)
	if errors.Is(context.Cause(ctx), errTimeUp) {
		err = withCode(exitTimeout, fmt.Errorf("time is up after %s", a.timeout))
	}
	if result == nil {
		return err
	}
	if err = errors.Join(a.write(s, result), err); err != nil {
		return err
	}
	return notConverged(result)
}

// notConverged is the error of a rehearsal that did not converge.
func notConverged(result *rehearse.Result) error {
	if result.Converged {
		return nil
	}
	return withCode(exitFailed, nil)
}

func (a *rehearseArguments) rehearse(ctx context.Context, s Streams, c *rehearse.Case, urls []string) (*rehearse.Result, error) {
	work, err := os.MkdirTemp("", "wavetrain-rehearse-")
	if err != nil {
		return nil, err
	}
	logs, err := os.Create(filepath.Join(work, "controller.log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(work))
	}
	defer func() {
		_ = logs.Close()
		if a.keep {
			fmt.Fprintf(s.Err, "kept: %s (logs in controller.log and sandbox/; wavetrain-sandbox --data-dir %s starts the control plane again)\n", work, filepath.Join(work, "sandbox"))
			return
		}
		_ = os.RemoveAll(work)
	}()
	scheme, err := apiScheme()
	if err != nil {
		return nil, err
	}
	limits := defaultRenderFlags()
	rendering, endWorkers, err := limits.rendering(s, filepath.Join(work, "renderings"))
	if err != nil {
		return nil, err
	}
	defer endWorkers()
	opts := rehearse.Options{
		Work: work, Env: s.gitEnv(), URLs: urls, Scheme: scheme, Rendering: rendering, Log: newLogger(logs, logText, 0), Keep: a.keep,
		Verify: verifyRehearsed,
		Prepare: func(ctx context.Context, cfg *rest.Config, rewrites map[string]string) error {
			c, err := client.New(cfg, client.Options{Scheme: scheme})
			if err != nil {
				return err
			}
			if err := installCRDs(ctx, c); err != nil {
				return err
			}
			if err := ensureNamespace(ctx, c, controller.DefaultNamespace); err != nil {
				return err
			}
			return publishRewrites(ctx, c, controller.DefaultNamespace, rewrites)
		},
	}
	if a.base != "" {
		opts.RuleSets = []string{"external-secrets", "cnpg"}
	}
	if !a.quiet {
		shown := newRehearsalProgress(s.Err, a.events)
		defer shown.stop()
		opts.Stage, opts.Tell, opts.Progress = shown.stage, shown.event, shown.operation
	}
	return rehearse.Run(ctx, c, opts)
}

func (a *rehearseArguments) write(s Streams, result *rehearse.Result) error {
	switch a.output.format {
	case "json":
		_, err := a.output.structured(s.Out, result)
		return err
	case "html":
		text, err := gantt.HTML(result)
		if err != nil {
			return err
		}
		_, err = s.Out.Write([]byte(text))
		return err
	}
	_, err := s.Out.Write([]byte(gantt.Text(result)))
	return err
}

// repositoriesOf are the URLs that the Applications of a rehearsal name, those in
// the revisions among them: the rehearsal's repository stands for all.
func repositoriesOf(dir string, urls []string) ([]string, error) {
	add := func(url string) {
		if url != "" && !slices.Contains(urls, url) {
			urls = append(urls, url)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "app*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := manifest.Decode(filepath.Base(file), data)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if !isApplication(o) {
				continue
			}
			app, err := decodeApplication(o)
			if err != nil {
				return nil, err
			}
			for _, source := range app.Spec.EffectiveSources() {
				if source.Chart == "" && !strings.HasPrefix(source.RepoURL, "oci://") {
					add(source.RepoURL)
				}
			}
		}
	}
	return urls, nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/report/change"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/source"
)

// planCluster are the flags of a plan on a cluster.
type planCluster struct {
	*kube
	apps     []string
	selector string
	all      bool
	live     bool
	prune    string
	options  []string
	from     *diffSources
}

func (c *planCluster) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.addClusterFlags(f)
	f.StringVarP(&c.appNamespace, "app-namespace", "N", "", "namespace of the Applications if it is not --namespace; NAMESPACE/NAME says the same")
	f.StringArrayVar(&c.apps, "app", nil, "plan a sync of this Application; may be repeated")
	f.StringVarP(&c.selector, "selector", "l", "", "plan syncs of the Applications with these labels")
	f.BoolVar(&c.all, "all", false, "plan syncs of all Applications of the namespace")
	f.BoolVar(&c.live, "live", false, "compare the Applications in PATH, and the files around them, with the cluster")
	f.StringVar(&c.prune, "prune", "auto", "delete what is no longer rendered: true, false, or auto for what the Application's automation does")
	f.StringArrayVar(&c.options, "sync-option", nil, "sync option, for example Replace=true; may be repeated")
	c.from = &diffSources{}
	c.from.addFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("app", completeApps(c.kube))
	_ = cmd.RegisterFlagCompletionFunc("prune", cobra.FixedCompletions([]string{"auto", "true", "false"}, cobra.ShellCompDirectiveNoFileComp))
}

// operation is the sync that is planned.
func (c *planCluster) operation(app *v1alpha1.Application) (v1alpha1.Operation, error) {
	prunes, ok := map[string]bool{"auto": app.Spec.AutomatedPrune(), "true": true, "false": false}[c.prune]
	if !ok {
		return v1alpha1.Operation{}, usageError("--prune %q is not known: use auto, true or false", c.prune)
	}
	return v1alpha1.Operation{
		Sync:        &v1alpha1.SyncOperation{Prune: prunes, SyncOptions: append(append([]string{}, app.Spec.SyncOptionList()...), c.options...)},
		InitiatedBy: v1alpha1.OperationInitiator{Username: "wavetrain-cli"},
	}, nil
}

// planner plans syncs on a cluster.
type planner struct {
	*planCluster
	client client.Client
	opts   controller.Options
	// shared plans what comes from repositories.
	shared *controller.Forecaster
}

// planner connects. What it returns besides tidies up.
func (a *planArguments) planner(s Streams) (*planner, func(), error) {
	c := &a.cluster
	c.namespace = cmp.Or(a.render.namespace, controller.DefaultNamespace)
	cfg, err := c.restConfig()
	if err != nil {
		return nil, nil, err
	}
	connected, err := c.client()
	if err != nil {
		return nil, nil, err
	}
	rendering, err := a.render.plugins.rendering(s)
	if err != nil {
		return nil, nil, err
	}
	rendering.KeepConfig = true
	mirrors, err := os.MkdirTemp("", "wavetrain-plan-")
	if err != nil {
		return nil, nil, err
	}
	store, err := source.NewStore(source.Options{Dir: mirrors, Env: s.gitEnv()})
	if err != nil {
		_ = os.RemoveAll(mirrors)
		return nil, nil, err
	}
	p := &planner{planCluster: c, client: connected, opts: controller.Options{Config: cfg, Namespace: c.namespace, Sources: store, Rendering: rendering}}
	p.shared = controller.NewForecaster(p.opts, connected)
	return p, func() {
		p.shared.Close()
		_ = os.RemoveAll(mirrors)
	}, nil
}

// planApps plans syncs of Applications of the cluster.
func (a *planArguments) planApps(ctx context.Context, s Streams) (apps []*change.App, unchanged int, syncs map[string]plannedSync, err error) {
	p, tidy, err := a.planner(s)
	if err != nil {
		return nil, 0, nil, err
	}
	defer tidy()
	list, err := p.applications(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	syncs = map[string]plannedSync{}
	for _, spec := range list {
		app := spec.DeepCopy()
		if err := p.from.setRevisions(app); err != nil {
			return nil, 0, nil, err
		}
		local, err := p.from.open(app)
		if err != nil {
			return nil, 0, nil, err
		}
		what, sync, err := p.plan(ctx, planned{app: app}, spec, local)
		if err != nil {
			return nil, 0, nil, err
		}
		if what == nil {
			unchanged++
			continue
		}
		what.Name = nameBeside(list, spec)
		apps, syncs[what.Name] = append(apps, what), sync
	}
	return apps, unchanged, syncs, nil
}

// nameBeside is an Application's name, with its namespace if another one has the
// same name.
func nameBeside(list []*v1alpha1.Application, app *v1alpha1.Application) string {
	for _, other := range list {
		if other.Name == app.Name && other.Namespace != app.Namespace {
			return app.Namespace + "/" + app.Name
		}
	}
	return app.Name
}

// applications are those that the flags name.
func (p *planner) applications(ctx context.Context) ([]*v1alpha1.Application, error) {
	var list []*v1alpha1.Application
	seen := map[types.NamespacedName]bool{}
	add := func(app *v1alpha1.Application) {
		if name := client.ObjectKeyFromObject(app); !seen[name] {
			seen[name] = true
			list = append(list, app)
		}
	}
	for _, arg := range p.apps {
		name, err := p.app(arg)
		if err != nil {
			return nil, err
		}
		app, err := getApp(ctx, p.client, name)
		if err != nil {
			return nil, err
		}
		add(app)
	}
	if p.selector == "" && !p.all {
		return list, nil
	}
	selector, err := labels.Parse(p.selector)
	if err != nil {
		return nil, usageError("--selector: %w", err)
	}
	var found v1alpha1.ApplicationList
	if err := p.client.List(ctx, &found, client.InNamespace(p.kube.apps()), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list applications: %w", err)
	}
	for i := range found.Items {
		add(&found.Items[i])
	}
	return list, nil
}

// forecast plans a sync of app, which stands in the cluster as spec.
func (p *planner) forecast(ctx context.Context, app, spec *v1alpha1.Application, local map[int]source.Tree) (*controller.Forecast, v1alpha1.Operation, func(), error) {
	op, err := p.operation(spec)
	if err != nil {
		return nil, op, nil, err
	}
	forecaster, end := p.shared, func() {}
	if len(local) > 0 {
		// These directories are this Application's alone.
		opts := p.opts
		opts.Rendering.Local = local
		forecaster = controller.NewForecaster(opts, p.client)
		end = forecaster.Close
	}
	f, err := forecaster.Forecast(ctx, app, spec, op)
	if err != nil {
		end()
		return nil, op, nil, fmt.Errorf("plan application %q: %w", app.Name, err)
	}
	return f, op, end, nil
}

// plan plans a sync of a service's Application, which stands in the cluster as spec.
// It is nil if nothing happens.
func (p *planner) plan(ctx context.Context, service planned, spec *v1alpha1.Application, local map[int]source.Tree) (*change.App, plannedSync, error) {
	f, op, end, err := p.forecast(ctx, service.app, spec, local)
	if err != nil {
		return nil, plannedSync{}, err
	}
	defer end()
	what := changeOf(service.app.Name, f)
	if !what.Acts() || f.Released && onlyHooks(what) {
		return nil, plannedSync{}, nil
	}
	service.plan, service.restless, service.live, service.owners = f.Plan, f.Restless, clusterLook{ctx, f}, f.Owners
	if service.repo == nil {
		if service.repo, err = remoteRepo(ctx, f.Configs); err != nil {
			return nil, plannedSync{}, fmt.Errorf("check application %q: %w", service.app.Name, err)
		}
	}
	if what.Findings, err = checkPlanned(ctx, service); err != nil {
		return nil, plannedSync{}, err
	}
	return what, plannedSync{ID: f.Saved.ID(), Prune: op.Sync.Prune, Options: op.Sync.SyncOptions, Plan: f.Saved}, nil
}

// changeOf is what a forecast does.
func changeOf(name string, f *controller.Forecast) *change.App {
	var took []change.Took
	for _, t := range f.Took {
		took = append(took, change.Took{Phase: string(t.Phase), Wave: t.Wave, Time: t.Took, Object: t.Last})
	}
	what := change.OnCluster(name, change.Live{
		Plan: f.Plan, First: f.First, Replaces: f.Replaces, Took: took,
		Was:     func(s plan.Step) *unstructured.Unstructured { return f.Live[s.Key] },
		Changes: func(s plan.Step) []diff.Change { return f.Verdicts[s.Key].Changes },
		Refusal: func(s plan.Step) string {
			if f.Replaces(s) {
				return ""
			}
			return f.Verdicts[s.Key].Rejected
		},
	})
	what.Refused = f.Refused
	return what
}

// checkPlanned runs the checks of verify on an Application's plan, with what its
// repository says about them.
func checkPlanned(ctx context.Context, service planned) ([]findings.Finding, error) {
	// What comes out differently each time is judged with the plan.
	p := *service.plan
	p.Findings = slices.DeleteFunc(slices.Clone(p.Findings), func(d diag.Diagnostic) bool { return d.Code == render.CodeNondeterministic })
	service.plan = &p
	_, list, err := verifyAll(ctx, []planned{service}, nil)
	kept := []findings.Finding{}
	for _, f := range list {
		if f.App == service.plan.App {
			f.App = service.app.Name
			kept = append(kept, f)
		}
	}
	return kept, err
}

// onlyHooks tells whether a sync would do nothing but run hooks: of a release that
// has been rolled out only somebody who asks for a sync runs them again.
func onlyHooks(a *change.App) bool {
	for _, g := range a.Groups {
		for _, s := range g.Steps {
			if s.Acts() && s.Action != change.Hook {
				return false
			}
		}
	}
	return true
}

// clusterLook answers what a cluster holds.
type clusterLook struct {
	ctx      context.Context
	forecast *controller.Forecast
}

// Get implements verify.Live.
func (c clusterLook) Get(k manifest.Key) (*unstructured.Unstructured, bool) {
	live, err := c.forecast.Look(c.ctx, k)
	return live, err == nil
}

// planFiles compares the Applications of files with the cluster.
func (a *planArguments) planFiles(ctx context.Context, s Streams) (apps []*change.App, unchanged int, err error) {
	p, tidy, err := a.planner(s)
	if err != nil {
		return nil, 0, err
	}
	defer tidy()
	arguments := a.render
	arguments.namespace = ""
	collector, err := arguments.collector(s)
	if err != nil {
		return nil, 0, err
	}
	collector.follow = true
	if err := collector.collect(ctx); err != nil {
		return nil, 0, err
	}
	if !slices.ContainsFunc(collector.planned, func(service planned) bool { return service.app != nil }) {
		return nil, 0, usageError("--live plans Applications, and there is none in %s: `wavetrain diff` compares charts and manifests with a cluster", strings.Join(arguments.inputs, " "))
	}
	for _, service := range collector.planned {
		if service.app == nil {
			fmt.Fprintf(s.Err, "%s is not planned: it belongs to no Application\n", service.plan.App)
			continue
		}
		planned, err := p.planFile(ctx, service)
		if err != nil {
			return nil, 0, err
		}
		if planned == nil {
			unchanged++
			continue
		}
		apps = append(apps, planned)
	}
	return apps, unchanged, nil
}

// planFile plans an Application of a file in the place of the one of its name in the
// cluster.
func (p *planner) planFile(ctx context.Context, service planned) (*change.App, error) {
	app := service.app.DeepCopy()
	app.Namespace = cmp.Or(app.Namespace, p.kube.apps())
	spec := &v1alpha1.Application{}
	err := p.client.Get(ctx, client.ObjectKeyFromObject(app), spec)
	switch {
	case apierrors.IsNotFound(err):
		spec = app
	case err != nil:
		return nil, fmt.Errorf("get application %q: %w", app.Name, err)
	}
	app.UID, app.ResourceVersion, app.Finalizers, app.Status = spec.UID, spec.ResourceVersion, spec.Finalizers, spec.Status
	trees := map[int]source.Tree{}
	for i, src := range app.Spec.EffectiveSources() {
		if src.Chart != "" || !service.repo.has(src.RepoURL) {
			continue
		}
		if trees[i], err = source.OpenLocal(filepath.Clean(service.repo.dir)); err != nil {
			return nil, err
		}
	}
	service.app = app
	what, _, err := p.plan(ctx, service, spec, trees)
	return what, err
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// latest is what the last commands gave.
type latest struct {
	plans    []Plan
	found    []findings.Finding
	rendered []Rendered
}

// view is an Application as a command sees it: its plan, what it renders, and the
// cluster.
type view struct {
	app     *v1alpha1.Application
	written manifest.Object
	plan    *plan.Plan
	holders map[manifest.Key][]manifest.Key
	// deletion is true for the plan of a deletion.
	deletion *controller.Dismantling
	// objects is the rendered set in its order.
	objects []manifest.Object
	// looked are the objects that charts asked the cluster for.
	looked []string
	// restless are the fields that every rendering gives another value, warnings what
	// else there is to say about the rendering that the plan does not.
	restless []render.Restless
	warnings []diag.Diagnostic
	// owners are the other Applications to which objects belong in the cluster.
	owners map[manifest.Key][]string
	live   verify.Live
	close  func()
	// dismantle plans the Application's deletion.
	dismantle func(context.Context) (*controller.Dismantling, error)
}

// look runs render, plan or verify on Applications and keeps what it gives.
func (w *world) look(ctx context.Context, s Step) error {
	l, err := s.asked()
	if err != nil {
		return err
	}
	rev, branch, err := w.lookedAt(ctx, l.Rev)
	if err != nil {
		return err
	}
	content := w.contents[branch]
	apps, err := w.applications(l.App)
	if err != nil {
		return err
	}
	w.begin(s.Verb)
	var subjects []Subject
	for _, one := range apps {
		app := one.Application
		if err := w.adopt(ctx, app); err != nil {
			return err
		}
		if branch != mainBranch {
			follow(app, branch)
		}
		v, err := w.view(ctx, app, l.Cluster == "none")
		if v != nil {
			v.written = one.written
			defer v.close()
		}
		switch s.Verb {
		case "render":
			w.keepRendering(ctx, app, rev, content, v, err)
		case "plan":
			if l.Delete && v != nil {
				v.deletion, err = v.dismantle(ctx)
			}
			w.keepPlan(appLabel(app.Namespace, app.Name), rev, v, err)
		case "verify":
			if subject := w.subject(v, appLabel(app.Namespace, app.Name), err); subject != nil {
				subjects = append(subjects, *subject)
			}
		}
	}
	if len(subjects) > 0 {
		if err := w.verify(ctx, content, subjects); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// lookedAt is the revision that a look is about, and a branch that has it: the one of
// Applications, or another for a revision that is asked for.
func (w *world) lookedAt(ctx context.Context, rev string) (current, branch string, err error) {
	if rev == "" {
		return w.chronicle.current(), mainBranch, nil
	}
	branch = "rehearse-" + rev
	commit, err := w.commitTo(ctx, branch, commitStep{Rev: rev})
	if err != nil {
		return "", "", err
	}
	w.chronicle.name(commit, rev)
	return rev, branch, w.announce(ctx)
}

// application is one as a file has it.
type application struct {
	*v1alpha1.Application
	written manifest.Object
}

// applications reads the Applications of files.
func (w *world) applications(files []string) ([]application, error) {
	var apps []application
	for _, file := range files {
		objects, err := w.read(file)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if !isApplication(o.Unstructured) {
				continue
			}
			app := &v1alpha1.Application{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, app); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if app.Namespace == "" {
				app.Namespace = controller.DefaultNamespace
			}
			apps = append(apps, application{app, o})
		}
	}
	return apps, nil
}

// adopt gives an Application of a file what the one of that name in the cluster
// has come to be: its record tells which objects are its own.
func (w *world) adopt(ctx context.Context, app *v1alpha1.Application) error {
	live := &v1alpha1.Application{}
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(app), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	app.UID, app.ResourceVersion, app.Finalizers, app.Status = live.UID, live.ResourceVersion, live.Finalizers, live.Status
	return nil
}

// follow has an Application follow a branch.
func follow(app *v1alpha1.Application, branch string) {
	if app.Spec.Source != nil {
		app.Spec.Source.TargetRevision = branch
	}
	for i := range app.Spec.Sources {
		app.Spec.Sources[i].TargetRevision = branch
	}
}

func (w *world) view(ctx context.Context, app *v1alpha1.Application, offline bool) (*view, error) {
	if offline {
		return w.viewOffline(ctx, app)
	}
	preview, err := controller.NewPreview(ctx, w.controllerOptions(&atomic.Bool{}), w.client, app)
	if err != nil {
		return nil, err
	}
	objects, err := preview.Objects()
	if err != nil {
		preview.Close()
		return nil, err
	}
	v := &view{app: app, plan: preview.Plan, objects: objects, looked: preview.Looked(), restless: preview.Restless, owners: preview.Owners, holders: map[manifest.Key][]manifest.Key{}, live: cluster{ctx, preview}, close: preview.Close, dismantle: preview.Dismantle}
	for _, c := range preview.Superfluous {
		if c.Holder != (manifest.Key{}) {
			v.holders[c.Key] = preview.Holders(c.Key)
		}
	}
	return v, nil
}

// viewOffline renders and plans without asking the cluster anything.
func (w *world) viewOffline(ctx context.Context, app *v1alpha1.Application) (*view, error) {
	find := func(ctx context.Context, url, project string) (source.Repository, error) {
		return controller.FindRepository(ctx, w.client, controller.DefaultNamespace, url, project)
	}
	renderer := pipeline.NewRenderer(w.store, find, w.opts.Rendering)
	req := pipeline.Request{
		App: app.Name, Name: app.Name, AppNamespace: app.Namespace, Project: app.Spec.ProjectName(),
		Sources: app.Spec.EffectiveSources(), Namespace: app.Spec.Destination.Namespace,
		GeneratePaths: app.Annotations[v1alpha1.AnnotationManifestGeneratePaths],
	}
	revisions, err := renderer.Resolve(ctx, req.Project, req.Sources)
	if err != nil {
		return nil, err
	}
	desired, err := renderer.Render(ctx, req, revisions)
	if err != nil {
		return nil, err
	}
	objects, err := desired.Objects()
	if err != nil {
		return nil, err
	}
	opts := pipeline.PlanOptions(app, app.Spec.SyncOptionList())
	opts.HelmLifecycle, opts.CreateNamespace = false, false
	return &view{
		app: app, close: func() {}, objects: objects, restless: desired.Restless(), warnings: desired.Warnings,
		dismantle: func(context.Context) (*controller.Dismantling, error) {
			return nil, errors.New("a deletion cannot be planned without the cluster: what it deletes is there")
		},
		plan: plan.Build(plan.Input{App: app.Name, Namespace: req.Namespace, Server: app.Spec.Destination.Server, Revisions: revisions, Objects: objects, External: desired.External, Options: opts}),
	}, nil
}

// cluster answers checks from the destination.
type cluster struct {
	ctx     context.Context
	preview *controller.Preview
}

// Get implements verify.Live.
func (c cluster) Get(k manifest.Key) (*unstructured.Unstructured, bool) {
	live, err := c.preview.Look(c.ctx, k)
	return live, err == nil
}

// begin drops what the last command of a kind gave.
func (w *world) begin(verb string) {
	switch verb {
	case "render":
		w.latest.rendered = nil
	case "plan":
		w.latest.plans = nil
	case "verify":
		w.latest.found = []findings.Finding{}
	}
}

// keepPlan keeps the plan of an Application.
func (w *world) keepPlan(app, rev string, v *view, err error) {
	p := Plan{App: app, Rev: rev, Groups: []Group{}, Ignored: []Note{}, Skipped: []Note{}, Moved: []Move{}, OnDeletion: []Group{}}
	if err != nil {
		p.Error = err.Error()
	} else {
		p = describe(v, rev)
	}
	w.latest.plans = append(w.latest.plans, p)
	w.result.Plan = append(w.result.Plan, p)
}

// keepRendering keeps what an Application renders, and the value files that went
// into it.
func (w *world) keepRendering(ctx context.Context, app *v1alpha1.Application, rev, content string, v *view, err error) {
	r := Rendered{App: appLabel(app.Namespace, app.Name), Rev: rev}
	if err != nil {
		r.Error = err.Error()
	} else {
		r.Objects = manifests(v.plan)
	}
	files := os.DirFS(content)
	refs := map[string]fs.FS{}
	for _, s := range app.Spec.EffectiveSources() {
		if s.Ref != "" {
			refs[s.Ref] = files
		}
	}
	for _, s := range app.Spec.EffectiveSources() {
		src := render.Source{Files: files, Path: s.Path, Refs: refs, Helm: s.Helm, Kustomize: s.Kustomize, Directory: s.Directory}
		// Sources that are no charts, or not in the repository, have no value files.
		if e, err := render.ExplainValues(ctx, src, render.Target{AppName: app.Name, Namespace: app.Spec.Destination.Namespace}); err == nil {
			r.ValueFilesUsed = append(r.ValueFilesUsed, paths(e.Files)...)
			r.ValueFilesDropped = append(r.ValueFilesDropped, paths(e.Dropped)...)
		}
	}
	w.latest.rendered = append(w.latest.rendered, r)
	w.result.Rendered = append(w.result.Rendered, r)
}

// paths are files by where they lie in the repository: $ref/ stands for its root.
func paths(files []string) []string {
	list := make([]string, len(files))
	for i, file := range files {
		if list[i] = file; strings.HasPrefix(file, "$") {
			_, list[i], _ = strings.Cut(file, "/")
		}
	}
	return list
}

// describe gives a plan the form of results.
func describe(v *view, rev string) Plan {
	p := Plan{App: appLabel(v.app.Namespace, v.app.Name), Rev: rev, Groups: groupsOf(v, v.plan.Groups), OnDeletion: groupsOf(v, v.plan.OnDeletion), Ignored: []Note{}, Skipped: []Note{}, Moved: []Move{}}
	for _, n := range v.plan.Ignored {
		note := Note{n.Key.Short(), n.Reason}
		if strings.HasPrefix(n.Reason, "skipped") {
			p.Skipped = append(p.Skipped, note)
		} else {
			p.Ignored = append(p.Ignored, note)
		}
	}
	if v.deletion != nil {
		return describeDeletion(v, p)
	}
	for _, m := range v.plan.Moved {
		p.Moved = append(p.Moved, Move{m.Key.Short(), m.From, m.To, m.Because.Short()})
	}
	p.Inputs = v.looked
	for _, g := range v.plan.Groups {
		for _, s := range g.Steps {
			for _, need := range s.Needs {
				p.Why = append(p.Why, Need{s.Key.Short(), need.Object.Short(), need.Producer.Short()})
			}
			if s.Later != "" {
				p.NotDryRun = append(p.NotDryRun, s.Key.Short())
			}
		}
	}
	return p
}

// describeDeletion puts the objects that go between the hooks that run before and
// after them.
func describeDeletion(v *view, p Plan) Plan {
	out := Plan{App: p.App, Rev: p.Rev, Groups: []Group{}, Ignored: []Note{}, Skipped: []Note{}, Moved: []Move{}, OnDeletion: p.OnDeletion}
	hooks := func(phase manifest.Phase) {
		for _, g := range p.OnDeletion {
			if g.Phase == string(phase) {
				out.Groups = append(out.Groups, g)
			}
		}
	}
	hooks(manifest.PreDelete)
	for _, wave := range v.deletion.Waves {
		g := Group{Phase: string(manifest.Sync), Wave: wave.Wave, Objects: []string{}}
		for _, key := range wave.Objects {
			g.Prune = append(g.Prune, key.Short())
		}
		out.Groups = append(out.Groups, g)
	}
	hooks(manifest.PostDelete)
	for _, key := range slices.SortedFunc(maps.Keys(v.deletion.Stays), manifest.Key.Compare) {
		out.Ignored = append(out.Ignored, Note{key.Short(), v.deletion.Stays[key]})
	}
	return out
}

func groupsOf(v *view, all []plan.Group) []Group {
	groups := []Group{}
	for _, g := range all {
		out := Group{Phase: string(g.Phase), Wave: g.Wave, Objects: []string{}}
		for _, s := range g.Steps {
			name := s.Key.Short()
			switch {
			case s.Untracked:
			case s.Action == plan.Prune || s.Deferred || s.Confirm:
				out.Prune = append(out.Prune, name)
				for _, holder := range v.holders[s.Key] {
					if out.HeldBy == nil {
						out.HeldBy = map[string][]string{}
					}
					out.HeldBy[name] = append(out.HeldBy[name], holder.Short())
				}
			case s.Action == plan.SkipPrune:
				out.Keep = append(out.Keep, name)
			default:
				if s.Key.Name == "" {
					name = s.Key.Kind + "/" + s.Object.GetGenerateName() + "*"
				}
				out.Objects = append(out.Objects, name)
			}
		}
		if len(out.Objects)+len(out.Prune)+len(out.Keep) > 0 {
			groups = append(groups, out)
		}
	}
	return groups
}

// manifests are the rendered objects of a plan, without the values of Secrets.
func manifests(p *plan.Plan) []map[string]any {
	var list []map[string]any
	for _, g := range slices.Concat(p.Groups, p.OnDeletion) {
		for _, s := range g.Steps {
			if s.Object == nil || s.Untracked || s.Action == plan.Prune || s.Action == plan.SkipPrune {
				continue
			}
			u := s.Object.DeepCopy()
			if s.Key.Group == "" && s.Key.Kind == "Secret" {
				hide(u, "data")
				hide(u, "stringData")
			}
			list = append(list, u.Object)
		}
	}
	return list
}

func hide(u *unstructured.Unstructured, part string) {
	values, ok := u.Object[part].(map[string]any)
	if !ok {
		return
	}
	for key := range values {
		values[key] = "********"
	}
}

// current is the revision that was committed last.
func (c *chronicle) current() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rev
}

// name gives a commit the name of its revision.
func (c *chronicle) name(commit, rev string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revisions[commit] = rev
}

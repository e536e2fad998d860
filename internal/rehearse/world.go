// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/event"
	"github.com/wavetrain/wavetrain/internal/gitserver"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	engine "github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/sandbox"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// Options of a rehearsal.
type Options struct {
	// Work is a directory for files that end with the rehearsal. Required.
	Work string
	// Env is the environment of git.
	Env []string
	// URLs are those that Applications name and the rehearsal's repository stands
	// for.
	URLs []string
	// Scheme knows the kinds of Applications and projects. Required.
	Scheme *runtime.Scheme
	// Rendering says how the controller renders.
	Rendering pipeline.Rendering
	// Prepare installs what every installation has: the kinds of Argo CD and
	// Wavetrain, the control namespace, and Secrets that say where url is really
	// fetched from. Required.
	Prepare func(ctx context.Context, cfg *rest.Config, rewrites map[string]string) error
	// Verify runs the checks on Applications whose sources lie in a directory. Required.
	Verify func(ctx context.Context, dir string, subjects []Subject) ([]findings.Finding, error)
	// RuleSets are shipped rules of the simulation; their kinds are installed with
	// them.
	RuleSets []string
	// Tell, if not nil, is told of every event as it happens.
	Tell func(Event)
	// Progress, if not nil, is told of the progress of operations.
	Progress event.Sink
	// Stage, if not nil, is told what is being done.
	Stage func(text string)
	// Log receives what the controller logs. Defaults to none.
	Log logr.Logger
	// Keep leaves the data of the control plane in Work.
	Keep bool
}

// world is everything that runs during a rehearsal.
type world struct {
	opts Options
	dir  string
	// brisk is the case's.
	brisk bool

	sandbox   *sandbox.Sandbox
	config    *rest.Config
	client    client.Client
	dynamic   dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	repo      *gitserver.Repository
	server    *gitserver.Server
	store     *source.Store
	chronicle *chronicle
	rollouts  *rollouts
	recorder  *timeline.Recorder

	controller *running
	// appNamespaces are those of Applications besides the control namespace.
	appNamespaces []string
	// life ends with the rehearsal.
	life context.Context
	// head is the commit of the branch, headAt when it was made.
	head   string
	headAt time.Time
	// contents are the directories with the content of branches.
	contents map[string]string
	// clock is ahead of the real one by what was skipped.
	clock *clock
	// expected is when the simulation had something to do last.
	expected time.Time
	// sought is an object that is there and not recorded, since soughtAt.
	sought   types.UID
	soughtAt time.Time
	// touching counts what goes on in the background.
	touching atomic.Int32

	result *Result
	// plans, found and rendered are what the last commands of their kind gave.
	latest latest
}

// running is a controller that runs.
type running struct {
	*controller.Controller
	stop context.CancelFunc
	// dead cuts its connections: nothing that it still does has an effect.
	dead *atomic.Bool
	// done is closed when it has ended, with err.
	done chan struct{}
	err  error
}

// end stops the controller and waits for its end.
func (r *running) end() error {
	r.stop()
	<-r.done
	return r.err
}

// start brings everything up.
func start(ctx context.Context, c *Case, opts Options) (*world, error) {
	w := &world{opts: opts, dir: c.Dir, brisk: c.Brisk, life: ctx, chronicle: newChronicle(opts.Tell), rollouts: newRollouts(opts.Progress), result: &Result{}, clock: &clock{}, contents: map[string]string{}}
	w.rollouts.at, w.chronicle.ahead = w.clock.at, w.clock.ahead
	stage := opts.Stage
	if stage == nil {
		stage = func(string) {}
	}
	var err error
	if w.repo, err = gitserver.NewRepository(ctx, filepath.Join(opts.Work, "repository"), opts.Env); err != nil {
		return w, err
	}
	if w.server, err = gitserver.Listen(w.repo.GitDir(), opts.Env); err != nil {
		return w, err
	}
	stage("control plane is starting")
	dataDir := ""
	if opts.Keep {
		dataDir = filepath.Join(opts.Work, "sandbox")
	}
	if w.sandbox, err = sandbox.Start(ctx, sandbox.Options{RuleSets: opts.RuleSets, DataDir: dataDir}); err != nil {
		return w, err
	}
	if file := c.simulation(); file != "" {
		if err := w.setRules(ctx, file); err != nil {
			return w, err
		}
	}
	if w.config, err = w.sandbox.RESTConfig(); err != nil {
		return w, err
	}
	if err := w.connect(); err != nil {
		return w, err
	}
	rewrites := map[string]string{}
	for _, url := range opts.URLs {
		rewrites[url] = w.server.URL
	}
	stage("installing the kinds of Argo CD and Wavetrain")
	if err := opts.Prepare(ctx, w.config, rewrites); err != nil {
		return w, err
	}
	if w.recorder, err = timeline.Watch(ctx, w.config, w.see); err != nil {
		return w, err
	}
	if w.store, err = source.NewStore(source.Options{Dir: filepath.Join(opts.Work, "mirrors"), Env: opts.Env}); err != nil {
		return w, err
	}
	stage("")
	return w, w.startController(ctx)
}

// see takes a state of an object at the time of the rehearsal.
func (w *world) see(s timeline.Sighting) {
	s.Time = w.clock.at(s.Time)
	w.chronicle.see(s)
}

func (w *world) connect() error {
	var err error
	if w.client, err = client.New(w.config, client.Options{Scheme: w.opts.Scheme}); err != nil {
		return fmt.Errorf("connect to the control plane: %w", err)
	}
	if w.dynamic, err = dynamic.NewForConfig(w.config); err != nil {
		return fmt.Errorf("connect to the control plane: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(w.config)
	if err != nil {
		return fmt.Errorf("connect to the control plane: %w", err)
	}
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	return nil
}

// errDead is what a controller is told that has been killed.
var errDead = errors.New("the controller has been killed")

// mortal is a connection that can be cut.
type mortal struct {
	next http.RoundTripper
	dead *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.next.RoundTrip(r)
}

func (w *world) controllerOptions(dead *atomic.Bool) controller.Options {
	cfg := rest.CopyConfig(w.config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return mortal{next, dead} })
	return controller.Options{
		Config: cfg, Sources: w.store, Rendering: w.opts.Rendering, ApplicationNamespaces: w.appNamespaces,
		Events: w.rollouts.note, Log: w.opts.Log, Pace: engine.Pace{After: telling, Every: telling},
	}
}

func (w *world) startController(ctx context.Context) error {
	r := &running{dead: &atomic.Bool{}, done: make(chan struct{})}
	var err error
	if r.Controller, err = controller.New(w.controllerOptions(r.dead)); err != nil {
		return err
	}
	runCtx, stop := context.WithCancel(ctx)
	r.stop = stop
	go func() {
		defer close(r.done)
		r.err = r.Run(runCtx)
	}()
	w.controller = r
	return nil
}

// kill ends the controller at once, without its doing anything more, and starts
// another.
func (w *world) kill(ctx context.Context) error {
	w.controller.dead.Store(true)
	// How it ended does not matter: it was cut off.
	if err := w.controller.end(); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.startController(ctx)
}

// restart ends the controller in good order and starts another.
func (w *world) restart(ctx context.Context) error {
	// One that has only begun says that it was stopped, which was asked for.
	_ = w.controller.end()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return w.startController(ctx)
}

// end takes everything down.
func (w *world) end() error {
	var errs []error
	if w.controller != nil {
		errs = append(errs, w.controller.end())
	}
	if w.store != nil {
		w.store.Close()
	}
	if w.server != nil {
		errs = append(errs, w.server.Close())
	}
	if w.sandbox != nil {
		errs = append(errs, w.sandbox.Stop(context.Background()))
	}
	return errors.Join(errs...)
}

func (w *world) setRules(ctx context.Context, file string) error {
	data, err := os.ReadFile(filepath.Join(w.dir, file))
	if err != nil {
		return err
	}
	return w.ruled(w.sandbox.SetRules(ctx, data), file)
}

// ruled says in which file of the case rules are wrong.
func (w *world) ruled(err error, file string) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), w.sandbox.Info().RulesFile, file))
}

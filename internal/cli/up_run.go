// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/cli/live"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

const (
	// look is how often `up` looks whether it is done.
	look = 100 * time.Millisecond
	// calm is how long everything has to stay in order before that is believed.
	// The last events of the recording arrive in the meantime.
	calm = 500 * time.Millisecond
)

// up is one run of the command.
type up struct {
	streams Streams
	flags   upFlags
	dir     string
	began   time.Time

	board *live.Board
	show  *live.Show

	// work is a directory for files that end with the run.
	work       string
	repo       *upRepository
	sandbox    *sandbox.Sandbox
	config     *rest.Config
	client     client.Client
	recorder   *timeline.Recorder
	controller *controller.Controller
	apps       *standings
	// later are objects to apply as soon as their kind is served.
	later []manifest.Object

	// life ends with the run. It is kept here because what is started lives longer
	// than the call that starts it, whose own context is the limit on starting.
	life context.Context
	// running are the goroutines that end with the run; ended receives the error
	// of one that ended before it.
	running sync.WaitGroup
	ended   chan error
	// takeDown are the steps that end the run, last one first.
	takeDown []func()

	report upReport
}

func newUp(s Streams, dir string, f upFlags) *up {
	u := &up{streams: s, flags: f, dir: dir, began: time.Now(), ended: make(chan error, 2)}
	u.board = live.NewBoard(controller.DefaultNamespace)
	if s.isTerminal(s.Err) {
		u.show = live.OnTerminal(u.board, s.Err, s.terminalSize)
	} else {
		u.show = live.AsLines(u.board, s.Err, u.began)
	}
	return u
}

// terminalSize is the size of the terminal that progress is shown on.
func (s Streams) terminalSize() (columns, lines int) {
	if f, ok := s.Err.(*os.File); ok {
		if columns, lines, err := term.GetSize(int(f.Fd())); err == nil {
			return columns, lines
		}
	}
	return 80, 24
}

// run does everything from the first check to the last file removed.
func (u *up) run(ctx context.Context) error {
	runCtx, stop := context.WithCancel(ctx)
	u.life = runCtx
	showCtx, hide := context.WithCancel(context.WithoutCancel(ctx))
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		u.show.Run(showCtx)
	}()
	err := u.start(runCtx)
	if err == nil {
		err = u.stay(runCtx)
	}
	if ctx.Err() != nil {
		u.board.Say(time.Now(), "taking everything down")
	}
	stop()
	u.running.Wait()
	if u.recorder != nil {
		u.recorder.Wait()
	}
	for _, step := range slices.Backward(u.takeDown) {
		step()
	}
	hide()
	<-shown
	return err
}

// atEnd adds a step that ends the run. A step that fails is only worth a remark.
func (u *up) atEnd(what string, step func() error) {
	u.takeDown = append(u.takeDown, func() {
		if err := step(); err != nil {
			u.board.Say(time.Now(), "%s: %v", what, err)
		}
	})
}

// start brings everything up in the time that is given for all.
func (u *up) start(ctx context.Context) error {
	if !u.bounded() {
		return u.bringUp(ctx)
	}
	limited, cancel := context.WithDeadlineCause(ctx, u.began.Add(u.flags.timeout.Duration), errTimeUp)
	defer cancel()
	err := u.bringUp(limited)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), errTimeUp) {
		return withCode(exitTimeout, fmt.Errorf("time is up after %s, before anything was rolled out: %w", u.flags.timeout, err))
	}
	return err
}

// bounded tells whether the run has to end by itself.
func (u *up) bounded() bool { return u.flags.whenSynced && u.flags.timeout.Duration > 0 }

// stage shows what is being done and does it.
func (u *up) stage(text string, do func() error) error {
	u.board.Stage(text, time.Now())
	defer u.board.Stage("", time.Now())
	return do()
}

// bringUp starts everything, from the repository to the first objects.
func (u *up) bringUp(ctx context.Context) error {
	var err error
	if u.work, err = os.MkdirTemp("", "wavetrain-up-"); err != nil {
		return err
	}
	u.atEnd("remove temporary files", func() error { return os.RemoveAll(u.work) })
	logger, err := u.logger()
	if err != nil {
		return err
	}
	if u.repo, err = openRepository(ctx, u.dir, u.work, u.streams.gitEnv()); err != nil {
		return err
	}
	u.atEnd("stop Git server", u.repo.server.Close)
	objects, err := u.repo.bootstrap()
	if err != nil {
		return err
	}
	if err := u.stage("control plane is starting", func() error { return u.startSandbox(ctx) }); err != nil {
		return err
	}
	if err := u.stage("installing the kinds of Argo CD and Wavetrain", func() error { return u.prepare(ctx) }); err != nil {
		return err
	}
	if err := u.stage("controller is starting", func() error { return u.startController(logger, applicationNamespaces(objects)) }); err != nil {
		return err
	}
	return u.stage("applying what is applied by hand", func() error { return u.begin(ctx, objects) })
}

func (u *up) startSandbox(ctx context.Context) error {
	opts := sandbox.Options{
		DataDir: u.flags.dataDir, Nodes: u.flags.nodes, RulesFile: u.flags.rules,
		RuleSets: []string{"external-secrets", "cnpg"},
	}
	if u.flags.name != "" {
		var err error
		instances := sandbox.Instances{Dir: filepath.Join(u.streams.stateDir(), "sandboxes")}
		if opts, err = instances.Attach(u.flags.name, opts); err != nil {
			return err
		}
	}
	started, err := sandbox.Start(ctx, opts)
	if err != nil {
		return err
	}
	u.sandbox = started
	u.atEnd("stop control plane", func() error { return started.Stop(context.Background()) })
	u.running.Go(func() {
		select {
		case <-u.life.Done():
		case <-started.Done():
			u.ended <- fmt.Errorf("the control plane has stopped: %w", orUnknown(started.Err()))
		}
	})
	if u.config, err = started.RESTConfig(); err != nil {
		return err
	}
	kubeconfig, err := u.writeKubeconfig(started.Kubeconfig())
	if err != nil {
		return err
	}
	info := started.Info()
	u.board.Say(time.Now(), "control plane ready in %.1f s: Kubernetes %s at %s", info.ReadySeconds, info.KubernetesVersion, info.Server)
	u.board.Say(time.Now(), "from another terminal: export KUBECONFIG=%s", kubeconfig)
	return nil
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("it gave no reason")
	}
	return err
}

// writeKubeconfig copies the kubeconfig to where the user wants it, for as long
// as the control plane runs, and returns the path to use.
func (u *up) writeKubeconfig(from string) (string, error) {
	to := u.flags.kubeconfigOut
	if to == "" {
		return from, nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	if old, err := os.ReadFile(to); err == nil && !strings.Contains(string(old), sandboxContext) {
		return "", fmt.Errorf("--kubeconfig-out %s: the file exists and is not one of ours: give another name", to)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil { //nolint:gosec // the user says which file
		return "", fmt.Errorf("--kubeconfig-out: %w", err)
	}
	u.atEnd("remove kubeconfig", func() error { return os.Remove(to) })
	return filepath.Abs(to)
}

// sandboxContext is the context in a kubeconfig of an embedded control plane.
const sandboxContext = "current-context: wavetrain-sandbox"

// prepare makes the cluster ready for a controller, and starts the recording
// that the proof rests on.
func (u *up) prepare(ctx context.Context) error {
	scheme, err := apiScheme()
	if err != nil {
		return err
	}
	if u.client, err = client.New(u.config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connect to %s: %w", u.config.Host, err)
	}
	if err := installCRDs(ctx, u.client); err != nil {
		return err
	}
	if err := ensureNamespace(ctx, u.client, controller.DefaultNamespace); err != nil {
		return err
	}
	if err := publishRewrites(ctx, u.client, controller.DefaultNamespace, u.repo.rewrites()); err != nil {
		return err
	}
	u.recorder, err = timeline.Record(u.life, u.config, nil)
	return err
}

func (u *up) startController(logger io.Writer, appNamespaces []string) error {
	store, err := source.NewStore(source.Options{
		Dir: filepath.Join(u.work, "mirrors"), Env: u.streams.gitEnv(),
	})
	if err != nil {
		return err
	}
	u.atEnd("stop reading Git", func() error { store.Close(); return nil })
	limits := defaultRenderFlags()
	rendering, endWorkers, err := limits.rendering(u.streams, filepath.Join(u.work, "renderings"))
	if err != nil {
		return err
	}
	context.AfterFunc(u.life, endWorkers)
	u.controller, err = controller.New(controller.Options{
		Rendering: rendering,
		Config:    u.config, ApplicationNamespaces: appNamespaces, Sources: store, Events: u.board.Note, Log: newLogger(logger, logText, 0),
	})
	if err != nil {
		return err
	}
	u.apps = newStandings(u.board, u.repo)
	if err := u.apps.follow(u.life, u.config); err != nil {
		return err
	}
	u.running.Go(func() {
		if err := u.controller.Run(u.life); err != nil && u.life.Err() == nil {
			u.ended <- fmt.Errorf("the controller has stopped: %w", err)
		}
	})
	return nil
}

// begin applies what is applied by hand.
func (u *up) begin(ctx context.Context, objects []manifest.Object) error {
	u.report.since = time.Now()
	var err error
	if u.later, err = applyBootstrap(ctx, u.client, controller.DefaultNamespace, objects); err != nil {
		return err
	}
	u.board.Say(time.Now(), "serving %s at commit %s in place of %s", u.dir, shortRevision(u.repo.commit), u.repo.url)
	names := make([]string, len(objects))
	for i, obj := range objects {
		names[i] = obj.Key().Short()
	}
	u.board.Say(time.Now(), "applied %s", strings.Join(names, ", "))
	for _, obj := range u.later {
		u.board.Say(time.Now(), "%s will be applied when its kind is served", obj.Key().Short())
	}
	return nil
}

// logger opens the log of the controller.
func (u *up) logger() (io.Writer, error) {
	if u.flags.logFile == "" {
		return io.Discard, nil
	}
	file, err := os.OpenFile(u.flags.logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--log-file: %w", err)
	}
	u.atEnd("close log", file.Close)
	return file, nil
}

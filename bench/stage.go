// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/crds"
	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver"
	"github.com/wavetrain/wavetrain/internal/sandbox"
)

// engineAgent is the user agent of the controller's clients.
const engineAgent = "wavetrain"

// controlPlane is an API server that a bench plays on.
type controlPlane struct {
	config            *rest.Config
	kubeconfig, audit string
	// pid is its process; 0 if it is not known.
	pid int
}

// planeCPU is the CPU time of the control plane so far.
func (p controlPlane) planeCPU() (time.Duration, error) {
	if p.pid == 0 {
		return 0, nil
	}
	u, err := usageOf(p.pid)
	return u.cpu(), err
}

// stage is where a scenario plays: a control plane, and a directory for all that
// it leaves on disk.
type stage struct {
	*bench
	controlPlane
	// control holds the Applications that the controller sees, aside those of
	// floor B.
	control, aside string
	dir            string
	client         client.WithWatch
	dynamic        dynamic.Interface
	closers        []func() error
}

// newStage makes a control plane ready for a scenario.
func (b *bench) newStage(ctx context.Context, scenario string) (_ *stage, err error) {
	s := &stage{bench: b, control: scenario + "-control", aside: scenario + "-aside"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "wavetrain-bench-"); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { return os.RemoveAll(s.dir) })
	if b.given != nil {
		s.controlPlane = *b.given
	} else if err := s.startSandbox(ctx); err != nil {
		return nil, err
	}
	s.config = rest.CopyConfig(s.config)
	s.config.UserAgent = "bench"
	if err := s.connect(); err != nil {
		return nil, err
	}
	if err := s.installCRDs(ctx); err != nil {
		return nil, err
	}
	return s, s.namespaces(ctx, s.control, s.aside)
}

func (s *stage) startSandbox(ctx context.Context) error {
	binary := s.sandbox
	if binary == "" {
		found, err := sandbox.FindBinary("bin")
		if err != nil {
			return err
		}
		binary = found
	}
	s.say("starting a control plane")
	s.audit = filepath.Join(s.dir, "audit.log")
	started, err := sandbox.Start(ctx, sandbox.Options{Binary: binary, AuditLog: s.audit})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return started.Stop(context.WithoutCancel(ctx)) })
	s.kubeconfig, s.pid = started.Kubeconfig(), started.Info().PID
	s.config, err = started.RESTConfig()
	return err
}

func (s *stage) connect() (err error) {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(kinds); err != nil {
			return err
		}
	}
	if s.client, err = client.NewWithWatch(s.config, client.Options{Scheme: kinds}); err != nil {
		return err
	}
	s.dynamic, err = dynamic.NewForConfig(s.config)
	return err
}

// Close ends what runs, the last first.
func (s *stage) Close() error {
	var errs []error
	for _, end := range slices.Backward(s.closers) {
		errs = append(errs, end())
	}
	s.closers = nil
	return errors.Join(errs...)
}

func (s *stage) installCRDs(ctx context.Context) error {
	all, err := crds.All()
	if err != nil {
		return err
	}
	for _, crd := range all {
		if err := s.client.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for {
		err := s.client.List(ctx, &v1alpha1.ApplicationList{}, client.Limit(1))
		if err == nil {
			return nil
		}
		if !apierrors.IsNotFound(err) && !strings.Contains(err.Error(), "no match") {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *stage) namespaces(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return nil
}

// gitEnv is the environment in which the bench and its server run git.
func (s *stage) gitEnv() []string {
	return []string{"PATH=" + s.streams.Env("PATH"), "HOME=" + s.dir}
}

// serveRepository commits files and serves them over HTTP until the stage is
// closed.
func (s *stage) serveRepository(ctx context.Context, files map[string][]byte) (*repository, error) {
	dir, err := os.MkdirTemp(s.dir, "repository-")
	if err != nil {
		return nil, err
	}
	r := &repository{dir: dir, env: s.gitEnv()}
	if err := r.git(ctx, "init", "--quiet", "--initial-branch=main"); err != nil {
		return nil, err
	}
	if err := r.write(ctx, files); err != nil {
		return nil, err
	}
	if r.mirror, err = gitserver.NewMirror(ctx, dir, dir+".git", r.env); err != nil {
		return nil, err
	}
	if r.server, err = gitserver.Listen(r.mirror.GitDir, r.env); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, r.server.Close)
	return r, nil
}

// repository is a work tree that is served.
type repository struct {
	dir    string
	env    []string
	mirror *gitserver.Mirror
	server *gitserver.Server
}

func (r *repository) url() string { return r.server.URL }

// commit changes files; the served repository follows at once.
func (r *repository) commit(ctx context.Context, files map[string][]byte) error {
	if err := r.write(ctx, files); err != nil {
		return err
	}
	_, err := r.mirror.Update(ctx)
	return err
}

func (r *repository) write(ctx context.Context, files map[string][]byte) error {
	for name, content := range files {
		full := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(full, content, 0o600); err != nil {
			return err
		}
	}
	if err := r.git(ctx, "add", "--all"); err != nil {
		return err
	}
	return r.git(ctx, "commit", "--quiet", "--message", "files of the bench")
}

func (r *repository) git(ctx context.Context, args ...string) error {
	args = append([]string{"-c", "user.name=bench", "-c", "user.email=bench@example.test", "-C", r.dir}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append([]string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}, r.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// startController runs `wavetrain serve` on the stage. It stops with the stage at
// the latest.
func (s *stage) startController(ctx context.Context) (*process, error) {
	binary, err := filepath.Abs(s.wavetrain)
	if err != nil {
		return nil, err
	}
	log := s.controlLog
	if log == "" {
		log = filepath.Join(s.dir, "controller.log")
	}
	p, err := startProcess(ctx, binary, append(s.streams.Environ, "HOME="+s.dir), log,
		"--kubeconfig", s.kubeconfig, "--namespace", s.control, "--data-dir", filepath.Join(s.dir, "mirrors"),
		"--workers", fmt.Sprint(s.workers), "--poll-interval", s.pollAfter.String())
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error {
		select {
		case <-p.done:
			return nil
		default:
			return p.stop()
		}
	})
	return p, nil
}

// measured is what the controller has done and used during something.
type measured struct {
	wall time.Duration
	// used is the difference, after what it was at the end.
	used, after usage
	peak        usage
	// plane is the CPU time of the control plane.
	plane time.Duration
	*tally
}

// measure runs what with the controller followed.
func (s *stage) measure(ctx context.Context, p *process, what func() (time.Duration, error)) (measured, error) {
	log, err := newTrail(s.audit)
	if err != nil {
		return measured{}, err
	}
	before, err := p.usage()
	if err != nil {
		return measured{}, err
	}
	plane, err := s.planeCPU()
	if err != nil {
		return measured{}, err
	}
	profiled := s.startProfile(ctx, p)
	peak := p.peak()
	wall, err := what()
	after, errUsage := p.usage()
	planeAfter, errPlane := s.planeCPU()
	m := measured{wall: wall, peak: peak(), used: after.since(before), after: after, plane: planeAfter - plane, tally: newTally()}
	if err := errors.Join(err, errUsage, errPlane, profiled(), pause(ctx, settle)); err != nil {
		return measured{}, err
	}
	return m, errors.Join(log.requests(m.add, engineAgent), log.Close())
}

// settle is how long requests that have been answered may take to be logged.
const settle = 300 * time.Millisecond

// profiled is how long a CPU profile lasts: what is measured may be longer.
const profiled = 15 * time.Second

// startProfile begins a CPU profile if one was asked for; the function it returns
// waits for its end.
func (s *stage) startProfile(ctx context.Context, p *process) func() error {
	if s.profile == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() { done <- p.cpuProfile(ctx, profiled, s.profile) }()
	return func() error { return <-done }
}

const (
	cpuFigure    = "CPU per Application, all our processes"
	memoryFigure = "peak RssAnon of the controller"
)

// report adds what the controller used.
func (m measured) report(r *Report, applications int) {
	r.add(cpuFigure, seconds(m.used.cpu())/float64(applications), "CPU-s")
	r.add("  of it the controller", seconds(m.used.Self)/float64(applications), "CPU-s")
	r.add("  of it git and render workers", seconds(m.used.Children)/float64(applications), "CPU-s")
	r.add(memoryFigure, megabytes(m.peak.Anon), "MB")
	r.add("peak RssAnon of its render workers", megabytes(m.peak.WorkersAnon), "MB")
}

func megabytes(n uint64) float64 { return float64(n) / 1e6 }

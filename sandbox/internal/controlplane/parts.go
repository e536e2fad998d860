// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/wavetrain/wavetrain/sandbox/internal/apiserver"
	"github.com/wavetrain/wavetrain/sandbox/internal/controllers"
	"github.com/wavetrain/wavetrain/sandbox/internal/etcd"
	"github.com/wavetrain/wavetrain/sandbox/internal/metricsapi"
	"github.com/wavetrain/wavetrain/sandbox/internal/pki"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim"
)

// Every part gets a context of its own that only its stop function cancels: the end of the caller's context must not
// take the API server away from the controllers that still write.

func (p *plane) startEtcd(ctx context.Context) error {
	server, err := etcd.Start(ctx, etcd.Options{
		Dir:     p.dir.Etcd(),
		Socket:  p.dir.EtcdSocket(),
		LogFile: p.dir.EtcdLog(),
		NoFsync: p.dir.Temporary(),
	})
	if err != nil {
		return err
	}
	p.etcd = server.Endpoint()
	p.stops = append(p.stops, func(ctx context.Context) { p.await(ctx, "database", after(server.Stop)) })
	p.watch("database", server.Err())
	return nil
}

func (p *plane) startAPIServer(ctx context.Context) error {
	keys, err := pki.Ensure(p.dir.PKI(), apiserver.ServiceIP())
	if err != nil {
		return err
	}
	listener, err := p.dir.Listen(p.opts.Port)
	if err != nil {
		return err
	}
	p.keys = keys
	p.server = "https://" + listener.Addr().String()
	p.simulator = keys.RESTConfig(p.server, keys.Simulator)

	serverCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	server, err := apiserver.Start(serverCtx, apiserver.Options{
		Listener: listener,
		Etcd:     p.etcd,
		PKI:      keys,
		Dir:      p.dir.Path(),
		AuditLog: p.opts.AuditLog,
	})
	if err != nil {
		cancel()
		_ = listener.Close()
		return err
	}
	p.stops = append(p.stops, func(ctx context.Context) {
		// Upstream ends the whole process when its server is cancelled before it has come up. It is left to come up
		// first; if that takes too long the process ends, anyway.
		if server.WaitReady(ctx, p.simulator) != nil {
			return
		}
		cancel()
		p.await(ctx, "API server", server.Done())
	})
	p.watchDone("API server", server)
	if err := server.WaitReady(ctx, p.simulator); err != nil {
		return err
	}
	return p.writeKubeconfigs()
}

func (p *plane) writeKubeconfigs() error {
	if err := p.keys.WriteKubeconfig(p.dir.ControllersKubeconfig(), p.server, p.keys.Controllers); err != nil {
		return err
	}
	if err := p.keys.WriteKubeconfig(p.dir.Kubeconfig(), p.server, p.keys.Admin); err != nil {
		return err
	}
	if p.opts.KubeconfigOut == "" {
		return nil
	}
	return p.keys.WriteKubeconfig(p.opts.KubeconfigOut, p.server, p.keys.Admin)
}

func (p *plane) startControllers(ctx context.Context) error {
	controllersCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	running, err := controllers.Start(controllersCtx, controllers.Options{
		Kubeconfig: p.dir.ControllersKubeconfig(),
		PKI:        p.keys,
	})
	if err != nil {
		cancel()
		return err
	}
	p.stops = append(p.stops, func(ctx context.Context) {
		cancel()
		p.await(ctx, "controllers", running.Done())
	})
	p.watchDone("controllers", running)
	return nil
}

func (p *plane) startSimulator(ctx context.Context) error {
	if err := p.ensureRules(); err != nil {
		return err
	}
	simulatorCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	// The signal to stop must also end a start that takes long.
	release := context.AfterFunc(ctx, cancel)
	defer release()

	ruleSets := p.opts.RuleSets
	if ruleSets == nil {
		ruleSets = []string{}
	}
	simulator, err := sim.Start(simulatorCtx, p.simulator, sim.Options{
		Nodes:          p.opts.Nodes,
		RulesFile:      p.opts.RulesFile,
		RulesConfigMap: p.opts.RulesConfigMap,
		RuleSets:       ruleSets,
		InstallCRDs:    !p.opts.WithoutCRDs,
		Log:            p.log.WithName("sim"),
	})
	if err != nil {
		cancel()
		return err
	}
	p.stops = append(p.stops, func(ctx context.Context) {
		cancel()
		p.await(ctx, "simulator", after(simulator.Wait))
	})
	p.simulation = simulator
	return p.startMetrics(ctx, usage{simulator: simulator})
}

// ensureRules gives the simulation a file of rules that somebody can edit, whether or not there is a rule yet.
func (p *plane) ensureRules() error {
	if p.opts.RulesFile != "" {
		return nil
	}
	p.opts.RulesFile = p.dir.Rules()
	file, err := os.OpenFile(p.opts.RulesFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create file of rules: %w", err)
	}
	_, err = file.WriteString("rules: []\n")
	return errors.Join(err, file.Close())
}

func (p *plane) startMetrics(ctx context.Context, source metricsapi.Source) error {
	server, err := metricsapi.Start(source, p.keys)
	if err != nil {
		return err
	}
	p.stops = append(p.stops, func(context.Context) {
		if err := server.Stop(); err != nil {
			p.log.Error(err, "stop metrics API")
		}
	})
	p.watch("metrics API", server.Done())
	return server.Register(ctx, p.simulator)
}

// waitDefaults returns when a Pod can be created in namespace default: its service account is made by a controller,
// so on a fresh control plane this also proves that the controllers work.
func (p *plane) waitDefaults(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(p.simulator)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ticker.C:
		case err := <-p.failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("wait for service account default/default: %w", context.Cause(ctx))
		}
	}
}

// part is something that runs until it is stopped or fails.
type part interface {
	Done() <-chan struct{}
	Err() error
}

// watchDone reports the end of a part as a failure; during a stop nobody listens any more.
func (p *plane) watchDone(name string, running part) {
	go func() {
		<-running.Done()
		p.report(name, running.Err())
	}()
}

func (p *plane) watch(name string, errs <-chan error) {
	go func() {
		if err, open := <-errs; open {
			p.report(name, err)
		}
	}()
}

func (p *plane) report(name string, err error) {
	if err != nil {
		err = fmt.Errorf("%s stopped: %w", name, err)
	} else {
		err = fmt.Errorf("%s stopped", name)
	}
	select {
	case p.failed <- err:
	default:
	}
}

// after returns a channel that is closed when a function has returned.
func after(stop func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		stop()
	}()
	return done
}

// await waits for a part to stop, but not for ever: a part that hangs must not keep the process. The database is safe
// at any moment, because it writes ahead.
func (p *plane) await(ctx context.Context, name string, done <-chan struct{}) {
	begin := time.Now()
	select {
	case <-done:
		p.log.Info("stopped", "part", name, "after", time.Since(begin).String())
	case <-ctx.Done():
		p.log.Info("gave up waiting for a part to stop", "part", name, "after", time.Since(begin).String())
	}
}

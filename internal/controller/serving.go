// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// endpoint is something that is served over HTTP, by every replica.
type endpoint struct {
	name, flag, address string
	handler             http.Handler
	// read is how long a request may take to arrive; 0 sets no limit, without which
	// an answer that takes its time, a profile, would be cut short.
	read time.Duration
}

// endpoints are what the options ask for.
func (c *Controller) endpoints() []endpoint {
	webhooks := http.NewServeMux()
	webhooks.Handle(WebhookPath, c.Webhooks())
	all := []endpoint{
		{"metrics", "metrics-address", c.opts.MetricsAddress, measures(c.opts.Profiling), 0},
		{"health", "health-address", c.opts.HealthAddress, c.probes(), time.Minute},
		{"webhooks", "webhook-address", c.opts.WebhookAddress, webhooks, time.Minute},
	}
	var wanted []endpoint
	for _, e := range all {
		if e.address != "" {
			wanted = append(wanted, e)
		}
	}
	return wanted
}

// serve opens every address before anything starts: one that is taken is an error
// at once, who is answered by one endpoint is answered by the others too, and a
// port that the system chooses (":0") is known from the log. The function that it
// returns closes what the manager has not come to serve.
func (c *Controller) serve(ctx context.Context) (release func(), err error) {
	var listeners []net.Listener
	release = func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	for _, e := range c.endpoints() {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", e.address)
		if err != nil {
			release()
			return nil, fmt.Errorf("serve %s: %w; choose another address with --%s", e.name, err, e.flag)
		}
		listeners = append(listeners, listener)
		timeout := 10 * time.Second
		err = c.manager.Add(&manager.Server{
			Name: e.name, Listener: listener, ShutdownTimeout: &timeout,
			Server: &http.Server{
				Handler: e.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: e.read, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
			},
		})
		if err != nil {
			release()
			return nil, fmt.Errorf("serve %s: %w", e.name, err)
		}
		c.opts.Log.Info("listening", "for", e.name, "address", listener.Addr().String())
	}
	return release, nil
}

// measures are the metrics, and profiles of Go's runtime if they are wanted: these
// show command lines and cost CPU.
func measures(profiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	if profiles {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// probes answer Kubernetes' questions after life and readiness: who is ready has
// seen what is there.
func (c *Controller) probes() http.Handler {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": {"live": healthz.Ping}, "/readyz": {"caches": c.cachesComplete}} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return mux
}

func (c *Controller) cachesComplete(*http.Request) error {
	if !c.ready.Load() {
		return errors.New("what the cluster holds has not been read yet")
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wavetrain/wavetrain/internal/cluster"
)

// cacheMetrics tell of the live caches of the destinations: what is in them, how
// often kinds were listed, and which may not be read. They are read when somebody
// asks for them, and cost nothing in between.
type cacheMetrics struct {
	objects, lists, stale, forbidden *prometheus.Desc

	mu sync.Mutex
	// of are the controllers of the process that are running.
	of []*destinations
}

func newCacheMetrics() *cacheMetrics {
	kind := []string{"server", "group", "kind"}
	return &cacheMetrics{
		objects: prometheus.NewDesc("wavetrain_cluster_objects",
			"Objects in the live cache of a cluster, of each kind that is watched.", kind, nil),
		lists: prometheus.NewDesc("wavetrain_cluster_lists_total",
			"Lists of a watched kind: one to begin with, and one whenever its watch could not go on where it was.", kind, nil),
		stale: prometheus.NewDesc("wavetrain_cluster_stale_kinds",
			"Watched kinds of which what is in the live cache may be out of date, because their watch does not work.", []string{"server"}, nil),
		forbidden: prometheus.NewDesc("wavetrain_cluster_forbidden_kinds",
			"1 for each kind that may not be read although it is needed; without a namespace it may be read in none.", []string{"server", "group", "kind", "namespace"}, nil),
	}
}

var _ prometheus.Collector = (*cacheMetrics)(nil)

// follow adds the destinations of a controller until it ends.
func (m *cacheMetrics) follow(d *destinations) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of = append(m.of, d)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.of = slices.DeleteFunc(m.of, func(other *destinations) bool { return other == d })
	}
}

// Describe implements prometheus.Collector.
func (m *cacheMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.objects, m.lists, m.stale, m.forbidden} {
		out <- desc
	}
}

// sample is one value that is told: of a cluster, a kind, or a kind in a namespace.
type sample struct {
	of                             *prometheus.Desc
	server, group, kind, namespace string
}

// Collect implements prometheus.Collector. Controllers of one process that watch one
// cluster are told of together.
func (m *cacheMetrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	followed := slices.Clone(m.of)
	m.mu.Unlock()
	sums := map[sample]float64{}
	for _, d := range followed {
		for server, kept := range d.kept() {
			stale := sample{of: m.stale, server: server}
			sums[stale] += 0
			for _, k := range kept {
				sums[sample{m.objects, server, k.Kind.Group, k.Kind.Kind, ""}] += float64(k.Objects)
				sums[sample{m.lists, server, k.Kind.Group, k.Kind.Kind, ""}] += float64(k.Lists)
				if k.Stale {
					sums[stale]++
				}
				for _, namespace := range k.Forbidden {
					sums[sample{m.forbidden, server, k.Kind.Group, k.Kind.Kind, namespace}] = 1
				}
			}
		}
	}
	for s, n := range sums {
		labels, kind := []string{s.server, s.group, s.kind}, prometheus.GaugeValue
		switch s.of {
		case m.stale:
			labels = labels[:1]
		case m.forbidden:
			labels = append(labels, s.namespace)
		case m.lists:
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(s.of, kind, n, labels...)
	}
}

// kept is what the live caches have, by the server that Applications name.
func (d *destinations) kept() map[string][]cluster.Kept {
	d.mu.Lock()
	open := make(map[string]*cluster.Cluster, len(d.open))
	for server, dest := range d.open {
		open[server] = dest.Cluster
	}
	d.mu.Unlock()
	all := make(map[string][]cluster.Kept, len(open))
	for server, c := range open {
		all[server] = c.Kept()
	}
	return all
}

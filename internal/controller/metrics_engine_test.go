// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// metric is the value of a metric of this process with these labels, in the order
// server, group, kind, namespace; zero if there is none.
func metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"server", "group", "kind", "namespace"}[:len(labels)]
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			same := len(m.GetLabel()) == len(labels)
			for _, label := range m.GetLabel() {
				at := slices.Index(order, label.GetName())
				same = same && at >= 0 && labels[at] == label.GetValue()
			}
			if same {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// Every metric of ours is explained.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Options{})
	repo := gittest.New(t, map[string]string{"app/a.yaml": configMap("a")})
	w.until(w.app("shop", repo, "app"), time.Minute, "converged", converged)
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "wavetrain_") {
			continue
		}
		ours++
		if !strings.Contains(string(page), "`"+family.GetName()+"`") {
			t.Errorf("docs/metrics.md does not explain %s: %s", family.GetName(), family.GetHelp())
		}
	}
	if ours < 4 {
		t.Errorf("%d metrics are ours: the test shows too little", ours)
	}
}

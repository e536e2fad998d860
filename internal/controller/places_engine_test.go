// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// Of many Applications that are made at once only some have a place, and all are
// delivered.
func TestMoreApplicationsThanPlaces(t *testing.T) {
	t.Parallel()
	const apps = 48
	w := newWorld(t, sandboxtest.Options{})
	files := map[string]string{}
	for i := range apps {
		files[fmt.Sprintf("app%d/a.yaml", i)] = configMap(fmt.Sprintf("a%d", i), "data: {v: '1'}")
	}
	repo := gittest.New(t, files)
	var names []types.NamespacedName
	for i := range apps {
		names = append(names, w.app(fmt.Sprintf("app%d", i), repo, fmt.Sprintf("app%d", i)))
	}
	for _, name := range names {
		w.until(name, 3*time.Minute, "converged", converged)
	}
}

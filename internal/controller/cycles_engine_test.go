// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// Applications that come and go leave no goroutine behind. The test does not run
// beside others: they have goroutines of their own.
func TestGoroutinesDoNotGrow(t *testing.T) {
	const cycles, atOnce = 50, 5
	w := newWorld(t, sandboxtest.Options{})
	files := map[string]string{}
	for slot := range atOnce {
		files[fmt.Sprintf("app%d/a.yaml", slot)] = configMap(fmt.Sprintf("a%d", slot), annotated(manifest.AnnotationSyncWave, "-1")) + "---\n" + configMap(fmt.Sprintf("b%d", slot))
	}
	repo := gittest.New(t, files)
	comeAndGo := func(prefix string, n int) {
		for first := 0; first < n; first += atOnce {
			var names []types.NamespacedName
			for slot := range atOnce {
				names = append(names, w.app(fmt.Sprintf("%s-%d", prefix, first+slot), repo, fmt.Sprintf("app%d", slot), func(app *v1alpha1.Application) {
					app.Finalizers = []string{manifest.ResourcesFinalizer}
				}))
			}
			for _, name := range names {
				w.must(w.client.Delete(t.Context(), w.until(name, time.Minute, "converged", converged)))
			}
			for slot, name := range names {
				w.eventually(time.Minute, name.Name+" is gone", func() (bool, string) {
					err := w.client.Get(t.Context(), name, &v1alpha1.Application{})
					return apierrors.IsNotFound(err), fmt.Sprint(err)
				})
				if w.exists(fmt.Sprintf("b%d", slot), &corev1.ConfigMap{}) {
					t.Fatalf("an object of %s is still there", name.Name)
				}
			}
		}
	}
	comeAndGo("warm", 2*atOnce)
	warm := settledGoroutines()
	comeAndGo("cycle", cycles)
	// A connection more or less is none that a cycle leaves behind.
	const slack = cycles / 5
	var profile bytes.Buffer
	defer func() {
		if t.Failed() {
			t.Logf("warm there were %d goroutines, in the end:\n%s", warm, profile.String())
		}
	}()
	w.eventually(time.Minute, fmt.Sprintf("there are no more than %d goroutines", warm+slack), func() (bool, string) {
		profile.Reset()
		w.must(pprof.Lookup("goroutine").WriteTo(&profile, 1))
		now := runtime.NumGoroutine()
		return now <= warm+slack, fmt.Sprint(now)
	})
}

// settledGoroutines counts goroutines when their number has come to rest.
func settledGoroutines() int {
	least := runtime.NumGoroutine()
	for same := 0; same < 10; same++ {
		time.Sleep(100 * time.Millisecond)
		if now := runtime.NumGoroutine(); now < least {
			least, same = now, 0
		}
	}
	return least
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// A server that says how long it wants to be left alone is left alone for so long.
func TestRetryAfter(t *testing.T) {
	const pause = 20 * time.Minute
	var asked atomic.Int64
	busy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", strconv.Itoa(int(pause.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	url := strings.TrimSuffix(serve(t, busy), "/repo.git")
	for name, target := range map[string]source.Target{
		"git":  {Repository: source.Repository{URL: url + "/repo.git"}},
		"helm": {Repository: source.Repository{URL: url}, Chart: "redis", Revision: "1.x"},
		"oci":  {Repository: source.Repository{URL: "oci://" + strings.TrimPrefix(url, "http://") + "/x", PlainHTTP: true}, Revision: "1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Now())
			store := newStore(t, source.Options{Clock: clock})
			_, err := store.Locate(t.Context(), target)
			var failed *source.Error
			if !errors.As(err, &failed) || failed.Reason != source.RateLimited || !strings.Contains(err.Error(), "left alone for 20m0s") {
				t.Fatalf("got error %v", err)
			}
			before := asked.Load()
			clock.SetTime(clock.Now().Add(pause - time.Second))
			if _, err := store.Locate(t.Context(), target); err == nil || asked.Load() != before {
				t.Errorf("asked %d times before its time, %v", asked.Load()-before, err)
			}
			clock.SetTime(clock.Now().Add(2 * time.Second))
			if _, err := store.Locate(t.Context(), target); err == nil || asked.Load() == before {
				t.Errorf("not asked when its time has come, %v", err)
			}
		})
	}
}

// A server that lists its refs but does not give out commits is not asked for each.
func TestFetchesAreNotRepeatedAtOnce(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	var fetches atomic.Int64
	var broken atomic.Bool
	broken.Store(true)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("command=fetch")) {
			if fetches.Add(1); broken.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		repo.Handler().ServeHTTP(w, r)
	}))
	clock := clocktesting.NewFakePassiveClock(time.Now())
	store := newStore(t, source.Options{Clock: clock})
	at := source.Repository{URL: url}
	for range 3 {
		refused(t, store, at, source.Unavailable, url, "503")
		repo.Commit("another", nil)
	}
	if n := fetches.Load(); n != 1 {
		t.Errorf("%d commits were asked for in one moment", n)
	}
	broken.Store(false)
	clock.SetTime(clock.Now().Add(time.Hour))
	readsX(t, store, at, "1")
}

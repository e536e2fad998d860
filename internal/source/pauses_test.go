// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

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

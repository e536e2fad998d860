// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// Who wants something of a server that is known not to answer is sent away while
// others wait for it, to come back when it answers.
func TestFewWaitForAServerThatHangs(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	var hangs atomic.Bool
	hangs.Store(true)
	goOn := make(chan struct{})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs.Load() {
			select {
			case <-r.Context().Done():
				return
			case <-goOn:
			}
		}
		repo.Handler().ServeHTTP(w, r)
	}))
	clock := clocktesting.NewFakePassiveClock(time.Now())
	first := newStore(t, source.Options{Timeout: time.Second, Clock: clock})
	at := source.Repository{URL: url}
	refused(t, first, at, source.Unavailable, "no answer within 1s")
	clock.SetTime(clock.Now().Add(time.Hour))
	results := make(chan error, 10)
	for range cap(results) {
		go func() {
			_, err := first.Resolve(t.Context(), at, "main")
			results <- err
		}()
	}
	busy := 0
	for range cap(results) {
		err := <-results
		switch {
		case errors.Is(err, source.ErrBusy) && strings.Contains(err.Error(), url):
			busy++
		case err == nil || !strings.Contains(err.Error(), "no answer within 1s"):
			t.Errorf("got error %v", err)
		}
	}
	// Those who come when the answer is known again are told that.
	if busy == 0 || busy > cap(results)-2 {
		t.Errorf("%d of %d were sent away", busy, cap(results))
	}
	hangs.Store(false)
	close(goOn)
	clock.SetTime(clock.Now().Add(time.Hour))
	readsX(t, first, at, "1")
}

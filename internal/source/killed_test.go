// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// fetchVariable makes the test binary fetch a repository instead: the test that
// kills it needs a process of its own. It holds directory, URL and commit.
const fetchVariable = "WAVETRAIN_TEST_FETCH"

func TestMain(m *testing.M) {
	if spec := os.Getenv(fetchVariable); spec != "" {
		parts := strings.Split(spec, "|")
		store, err := source.NewStore(source.Options{Dir: parts[0], Env: gittest.Env()})
		if err == nil {
			_, err = store.Snapshot(context.Background(), source.Repository{URL: parts[1]}, parts[2])
		}
		fmt.Fprintln(os.Stderr, "fetched before it was killed:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A process that is killed in the middle of a fetch leaves a copy behind that the
// next one can use, though git and its lock have outlived it.
func TestKilledWhileItFetches(t *testing.T) {
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte('a' + rand.IntN(26))
	}
	repo := gittest.New(t, map[string]string{"x": "1", "noise": string(noise)})
	head := repo.Git("rev-parse", "HEAD")
	inTheMiddle, goOn := make(chan struct{}), make(chan struct{})
	var stopped atomic.Bool
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		repo.Handler().ServeHTTP(answer, r)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		body := answer.Body.Bytes()
		if len(body) > len(noise)/2 && stopped.CompareAndSwap(false, true) {
			_, _ = w.Write(body[:len(body)/2])
			_ = http.NewResponseController(w).Flush()
			close(inTheMiddle)
			<-goOn
			body = body[len(body)/2:]
		}
		_, _ = w.Write(body)
	}))
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fetchVariable+"="+strings.Join([]string{dir, url, head}, "|"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-inTheMiddle:
	case <-time.After(time.Minute):
		t.Error("nothing was fetched")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	store, err := source.NewStore(source.Options{Dir: dir, Env: gittest.Env(), RefsTTL: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	at := source.Repository{URL: url}
	readsX(t, store, at, "1")
	// The orphan comes to its end beside us.
	close(goOn)
	repo.Commit("second", map[string]string{"x": "2"})
	readsX(t, store, at, "2")
}

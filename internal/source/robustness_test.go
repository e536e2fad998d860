// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

func TestServersThatAnswerWithAnError(t *testing.T) {
	for code, c := range map[int]struct {
		reason source.Reason
		hint   string
	}{
		http.StatusUnauthorized:        {source.Unauthenticated, "wavetrain repo add"},
		http.StatusForbidden:           {source.Forbidden, "wavetrain repo add"},
		http.StatusNotFound:            {source.NotFound, "check the URL"},
		http.StatusGone:                {source.NotFound, "check the URL"},
		http.StatusTooManyRequests:     {source.RateLimited, "later"},
		http.StatusInternalServerError: {source.Unavailable, "later"},
		http.StatusBadGateway:          {source.Unavailable, "later"},
	} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
			refused(t, newStore(t, source.Options{}), source.Repository{URL: url}, c.reason, url, strconv.Itoa(code), c.hint)
		})
	}
}

// raw serves connections with the function.
func raw(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f(conn)
		}
	}()
	return "http://" + listener.Addr().String() + "/repo.git"
}

func TestServersThatDoNotAnswer(t *testing.T) {
	t.Run("hangs", func(t *testing.T) {
		url := raw(t, func(conn net.Conn) {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			time.Sleep(time.Minute)
		})
		refused(t, newStore(t, source.Options{Timeout: time.Second}), source.Repository{URL: url}, source.Unavailable, url, "no answer within 1s")
	})
	t.Run("resets", func(t *testing.T) {
		url := raw(t, func(conn net.Conn) {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		})
		refused(t, newStore(t, source.Options{}), source.Repository{URL: url}, source.Unavailable, url, "breaks the connection")
	})
	t.Run("is not there", func(t *testing.T) {
		refused(t, newStore(t, source.Options{}), source.Repository{URL: "http://127.0.0.1:1/repo.git"}, source.Unavailable, "127.0.0.1:1")
	})
	t.Run("is no Git server", func(t *testing.T) {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>welcome")) }))
		refused(t, newStore(t, source.Options{}), source.Repository{URL: url}, source.NoRevision, url, "not that of a Git repository")
	})
	t.Run("stops in the middle of a fetch", func(t *testing.T) {
		repo := gittest.New(t, map[string]string{"x": "1"})
		var broken atomic.Bool
		broken.Store(true)
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte("command=fetch")) && broken.Load() {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				_, _ = w.Write([]byte("000dpackfile\n0100\x01PACK"))
				panic(http.ErrAbortHandler)
			}
			repo.Handler().ServeHTTP(w, r)
		}))
		store := newStore(t, source.Options{})
		refused(t, store, source.Repository{URL: url}, source.Unavailable, url)
		broken.Store(false)
		store.Forget(url) // or a few seconds later
		readsX(t, store, source.Repository{URL: url}, "1")
	})
}

func TestRedirects(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	for name, c := range map[string]struct {
		reason string
		to     func(r *http.Request) string
		want   string
	}{
		"same host":       {"a repository that was renamed", func(r *http.Request) string { return strings.Replace(r.URL.String(), "/old.git", "/repo.git", 1) }, ""},
		"another host":    {"it would get our credentials", func(*http.Request) string { return "http://git.invalid/repo.git/info/refs?service=git-upload-pack" }, "another host, http://git.invalid"},
		"private address": {"only we may reach it", func(*http.Request) string { return repo.URL + "/info/refs?service=git-upload-pack" }, "another host, http://127.0.0.1"},
		"circle":          {"it has no end", func(r *http.Request) string { return r.URL.String() }, "in a circle"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/old.git/") {
					http.Redirect(w, r, c.to(r), http.StatusMovedPermanently)
					return
				}
				repo.Handler().ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			at := source.Repository{URL: server.URL + "/old.git"}
			store := newStore(t, source.Options{})
			if c.want == "" {
				readsX(t, store, at, "1")
				return
			}
			refused(t, store, at, source.Redirected, at.URL, c.want, "repoURL")
		})
	}
}

func TestFailuresAreNotRepeatedAtOnce(t *testing.T) {
	var asked atomic.Int64
	code := http.StatusTooManyRequests
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// What asks besides wants to know for how long the server is busy.
		if strings.HasPrefix(r.UserAgent(), "git/") {
			asked.Add(1)
		}
		w.WriteHeader(code)
	}))
	clock := clocktesting.NewFakePassiveClock(time.Now())
	store := newStore(t, source.Options{Clock: clock})
	repo := source.Repository{URL: url}
	for range 3 {
		refused(t, store, repo, source.RateLimited)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times in one moment", n)
	}
	// Every further failure doubles the time.
	var waits []time.Duration
	for last, since := asked.Load(), clock.Now(); len(waits) < 3; {
		clock.SetTime(clock.Now().Add(time.Second))
		refused(t, store, repo, source.RateLimited)
		if asked.Load() != last {
			waits = append(waits, clock.Now().Sub(since))
			last, since = asked.Load(), clock.Now()
		}
	}
	if waits[1] != 2*waits[0] || waits[2] != 2*waits[1] {
		t.Errorf("waits %v do not double", waits)
	}
	before := asked.Load()
	store.Forget(url)
	refused(t, store, repo, source.RateLimited)
	if asked.Load() != before+1 {
		t.Error("somebody who asks for a refresh is not heard")
	}
	repo.Credentials.Password = "new"
	refused(t, store, repo, source.RateLimited)
	if asked.Load() != before+2 {
		t.Error("new credentials are not tried")
	}
}

func TestHistoryIsRewritten(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	store := newStore(t, source.Options{})
	at := source.Repository{URL: repo.URL}
	readsX(t, store, at, "1")
	old := repo.Git("rev-parse", "HEAD")
	repo.Git("checkout", "--quiet", "--orphan", "fresh")
	repo.Commit("rewritten", map[string]string{"x": "2"})
	repo.Git("branch", "-M", "fresh", "main")
	repo.Commit("on top", nil)
	readsX(t, store, at, "2")
	if got, err := fs.ReadFile(snapshot(t, store, repo.URL, old), "x"); err != nil || string(got) != "1" {
		t.Errorf("what is deployed must stay readable: %q, %v", got, err)
	}
}

func TestBranchIsDeleted(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	store := newStore(t, source.Options{AllowFile: true})
	at := source.Repository{URL: "file://" + repo.Dir}
	repo.Git("branch", "release")
	if _, err := store.Resolve(t.Context(), at, "release"); err != nil {
		t.Fatal(err)
	}
	repo.Git("branch", "-D", "release")
	_, err := store.Resolve(t.Context(), at, "release")
	if !errors.Is(err, source.ErrNoRevision) || !strings.Contains(err.Error(), "release") {
		t.Errorf("got error %v; want one that names the branch", err)
	}
	_, err = store.Snapshot(t.Context(), at, strings.Repeat("0123456789", 4))
	var failed *source.Error
	if !errors.As(err, &failed) || failed.Reason != source.NoRevision {
		t.Errorf("a commit that is nowhere: %v", err)
	}
}

func TestOnlyWhatIsNeededIsFetched(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	for i := range 20 {
		repo.Commit("more", map[string]string{"x": strconv.Itoa(i), "y": strings.Repeat(strconv.Itoa(i), 100)})
	}
	dir := t.TempDir()
	store, err := source.NewStore(source.Options{Dir: dir, Env: gittest.Env(), RefsTTL: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	readsX(t, store, source.Repository{URL: repo.URL}, "19")
	if got := objectsIn(t, dir); got != 4 {
		t.Errorf("the copy has %d objects; one commit of one tree with two files has 4", got)
	}
	repo.Commit("one more", map[string]string{"x": "20"})
	readsX(t, store, source.Repository{URL: repo.URL}, "20")
	if got := objectsIn(t, dir); got != 7 {
		t.Errorf("the copy has %d objects; a commit that changes one file adds 3 to 4", got)
	}
}

// objectsIn counts the objects of the one mirror below dir.
func objectsIn(t *testing.T, dir string) int {
	t.Helper()
	mirrors, err := filepath.Glob(filepath.Join(dir, "*.git"))
	if err != nil || len(mirrors) != 1 {
		t.Fatalf("mirrors %v, %v; want one", mirrors, err)
	}
	cmd := exec.Command("git", "--git-dir", mirrors[0], "cat-file", "--batch-all-objects", "--batch-check")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(out), "\n")
}

func TestDamagedCopyIsMadeAgain(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, mirror string){
		"emptied pack": func(t *testing.T, mirror string) {
			t.Helper()
			eachFile(t, mirror, ".pack", func(string) []byte { return nil })
		},
		"garbled pack": func(t *testing.T, mirror string) {
			t.Helper()
			eachFile(t, mirror, ".pack", func(old string) []byte { return []byte(old[:12] + strings.Repeat("x", len(old)-12)) })
		},
		"lost pack": func(t *testing.T, mirror string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(mirror, "objects", "pack")); err != nil {
				t.Fatal(err)
			}
		},
		"lost HEAD": func(t *testing.T, mirror string) {
			t.Helper()
			if err := os.Remove(filepath.Join(mirror, "HEAD")); err != nil {
				t.Fatal(err)
			}
		},
		"half made": func(t *testing.T, mirror string) {
			t.Helper()
			for _, name := range []string{"wavetrain", "config", "refs", "objects"} {
				if err := os.RemoveAll(filepath.Join(mirror, name)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"stale lock": func(t *testing.T, mirror string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(mirror, "shallow.lock"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := gittest.New(t, map[string]string{"x": "1"})
			dir := t.TempDir()
			opts := source.Options{Dir: dir, Env: gittest.Env(), RefsTTL: time.Nanosecond}
			first, err := source.NewStore(opts)
			if err != nil {
				t.Fatal(err)
			}
			at := source.Repository{URL: repo.URL}
			readsX(t, first, at, "1")
			first.Close()
			mirrors, err := filepath.Glob(filepath.Join(dir, "*.git"))
			if err != nil || len(mirrors) != 1 {
				t.Fatalf("mirrors %v, %v", mirrors, err)
			}
			damage(t, mirrors[0])
			second, err := source.NewStore(opts)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(second.Close)
			readsX(t, second, at, "1")
			repo.Commit("second", map[string]string{"x": "2"})
			readsX(t, second, at, "2")
		})
	}
}

// eachFile rewrites the files below dir with the suffix.
func eachFile(t *testing.T, dir, suffix string, change func(old string) []byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, suffix) {
			return err
		}
		old, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.Remove(name); err != nil {
			return err
		}
		return os.WriteFile(name, change(string(old)), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTwoProcessesOnOneMirror(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "0"})
	dir := t.TempDir()
	var stores []*source.Store
	for range 3 {
		store, err := source.NewStore(source.Options{Dir: dir, Env: gittest.Env(), RefsTTL: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		stores = append(stores, store)
	}
	for round := range 4 {
		want := strconv.Itoa(round)
		repo.Commit("next", map[string]string{"x": want})
		var wg sync.WaitGroup
		for _, store := range stores {
			for range 3 {
				wg.Go(func() { readsX(t, store, source.Repository{URL: repo.URL}, want) })
			}
		}
		wg.Wait()
	}
}

func TestHundredThousandRefs(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	commit := repo.Git("rev-parse", "HEAD")
	var packed strings.Builder
	packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n" + commit + " refs/heads/main\n")
	for i := range 100_000 {
		fmt.Fprintf(&packed, "%s refs/tags/v1.%05d.0\n", commit, i)
	}
	if err := os.WriteFile(filepath.Join(repo.Dir, ".git", "packed-refs"), []byte(packed.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	store := newStore(t, source.Options{AllowFile: true})
	at := source.Repository{URL: "file://" + repo.Dir}
	readsX(t, store, at, "1")
	if got, err := store.Resolve(t.Context(), at, "1.x"); err != nil || got != commit {
		t.Errorf("1.x of a hundred thousand tags is %s, %v", got, err)
	}
	before, err := store.Version(t.Context(), source.Target{Repository: at})
	if err != nil {
		t.Fatal(err)
	}
	repo.Git("tag", "v2.0.0")
	if after, err := store.Version(t.Context(), source.Target{Repository: at}); err != nil || after == before {
		t.Errorf("a new tag is no new version: %s, %v", after, err)
	}
}

func TestOneProcessForAllReaders(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\nPATH=" + os.Getenv("PATH") + " exec git \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	store := newStore(t, source.Options{RefsTTL: time.Hour})
	for range 200 {
		readsX(t, store, source.Repository{URL: repo.URL}, "1")
	}
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// One to list, two to make the copy, one to read.
	if n := strings.Count(string(said), "core.hooksPath"); n != 4 {
		t.Errorf("git was called %d times for 200 looks at one commit:\n%s", n, said)
	}
}

func TestTagPrefix(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	first := repo.Git("rev-parse", "HEAD")
	repo.Git("tag", "shop/v1.2.0")
	repo.Commit("second", map[string]string{"x": "2"})
	repo.Git("tag", "v1.9.0")
	store := newStore(t, source.Options{AllowFile: true})
	at := source.Target{Repository: source.Repository{URL: "file://" + repo.Dir}, Revision: "1.x", TagPrefix: "shop/"}
	if got, err := store.Locate(t.Context(), at); err != nil || got != first {
		t.Errorf("1.x below shop/ is %s, %v; want %s", got, err, first)
	}
	at.TagPrefix = "other/"
	if _, err := store.Locate(t.Context(), at); err == nil || !strings.Contains(err.Error(), `"other/"`) {
		t.Errorf("got error %v; want one that names the prefix", err)
	}
}

// TestCopyThatIsBeingMade has others ask for a commit while the first who asked
// for it makes the copy.
func TestCopyThatIsBeingMade(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	head := repo.Git("rev-parse", "HEAD")
	for range 10 {
		store := newStore(t, source.Options{})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				snap, err := store.Snapshot(t.Context(), source.Repository{URL: repo.URL}, head)
				if err != nil {
					t.Error(err)
					return
				}
				if err := snap.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

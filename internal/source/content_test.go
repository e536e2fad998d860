// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// gitlink commits a submodule: a commit of another repository at a path.
func gitlink(repo *gittest.Repository, at, commit string, modules string) string {
	repo.Commit("modules", map[string]string{".gitmodules": modules})
	repo.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+","+at)
	repo.Git("commit", "--quiet", "--message", "link")
	repo.Update()
	return repo.Git("rev-parse", "HEAD")
}

func TestSubmodules(t *testing.T) {
	library := gittest.New(t, map[string]string{"chart/values.yaml": "a: 1\n", "link": "-> chart/values.yaml"})
	pinned := library.Git("rev-parse", "HEAD")
	library.Commit("later", map[string]string{"chart/values.yaml": "a: 2\n"})
	// The library asks for a login that only its own Secret has.
	address := serve(t, guarded(library, basic("me", password)))
	repo := gittest.New(t, map[string]string{"x": "1", "outside": "-> vendor/library/chart/values.yaml"})
	commit := gitlink(repo, "vendor/library", pinned, "[submodule \"library\"]\n\tpath = vendor/library\n\turl = "+address+"\n")

	store := newStore(t, source.Options{})
	with := source.Repository{URL: repo.URL, Related: func(_ context.Context, url string) (source.Repository, error) {
		return source.Repository{URL: url, Scope: "ours", Credentials: source.Credentials{Username: "me", Password: password}}, nil
	}}
	snap, err := store.Snapshot(t.Context(), with, commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vendor/library/chart/values.yaml", "vendor/library/link", "outside"} {
		if got, err := fs.ReadFile(snap, name); err != nil || string(got) != "a: 1\n" {
			t.Errorf("%s = %q, %v; want the file at the recorded commit", name, got, err)
		}
	}
	if err := fstest.TestFS(snap, "vendor/library/chart/values.yaml", "x"); err != nil {
		t.Error(err)
	}
	if snap.ObjectID("vendor/library/chart/values.yaml") == "" || snap.ObjectID("vendor/library/nothing") != "" {
		t.Error("object ids do not tell what is in the submodule")
	}

	without := source.Repository{URL: repo.URL, Scope: "others"}
	if snap, err = store.Snapshot(t.Context(), without, commit); err != nil {
		t.Fatal(err)
	}
	_, err = fs.ReadFile(snap, "vendor/library/link")
	if err == nil || !strings.Contains(err.Error(), "submodule vendor/library") || !strings.Contains(err.Error(), address) {
		t.Errorf("got error %v; want one that names the submodule and its repository", err)
	}
	if got, err := fs.ReadFile(snap, "x"); err != nil || string(got) != "1" {
		t.Errorf("a submodule that cannot be read must not hinder the rest: %q, %v", got, err)
	}
}

// Projects share the copy of a repository that both may read. A submodule is read
// with what the project may use whose Application is looked at.
func TestSubmodulesOfProjectsAreApart(t *testing.T) {
	library := gittest.New(t, map[string]string{"y": "2"})
	address := serve(t, guarded(library, basic("me", password)))
	repo := gittest.New(t, map[string]string{"x": "1"})
	commit := gitlink(repo, "lib", library.Git("rev-parse", "HEAD"), "[submodule \"l\"]\n\tpath = lib\n\turl = "+address+"\n")
	store := newStore(t, source.Options{})
	open := func(scope string, creds source.Credentials) *source.Snapshot {
		snap, err := store.Snapshot(t.Context(), source.Repository{URL: repo.URL, Related: func(_ context.Context, url string) (source.Repository, error) {
			return source.Repository{URL: url, Scope: scope, Credentials: creds}, nil
		}}, commit)
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	without := open("", source.Credentials{})
	with := open("shop", source.Credentials{Username: "me", Password: password})
	if _, err := fs.ReadFile(without, "lib/y"); err == nil {
		t.Error("a project reads a submodule with the credentials of another")
	}
	if got, err := fs.ReadFile(with, "lib/y"); err != nil || string(got) != "2" {
		t.Errorf("with its own: %q, %v", got, err)
	}
}

func TestUnusedCopiesAreDeleted(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	dir := t.TempDir()
	opts := source.Options{Dir: dir, Env: gittest.Env(), RefsTTL: time.Nanosecond}
	store, err := source.NewStore(opts)
	if err != nil {
		t.Fatal(err)
	}
	readsX(t, store, source.Repository{URL: repo.URL}, "1")
	store.Close()
	for _, c := range []struct {
		days, want int
	}{{20, 1}, {40, 0}} {
		opts.Clock = clocktesting.NewFakePassiveClock(time.Now().AddDate(0, 0, c.days))
		if _, err := source.NewStore(opts); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.git")); err != nil || len(left) != c.want {
			t.Errorf("after %d days: %v, %v; want %d", c.days, left, err, c.want)
		}
	}
}

func TestSubmoduleURLs(t *testing.T) {
	library := gittest.New(t, map[string]string{"y": "2"})
	pinned := library.Git("rev-parse", "HEAD")
	for name, c := range map[string]struct{ parent, url, want string }{
		"sibling":      {"https://git.example.test/acme/deploy.git", "../library.git", "https://git.example.test/acme/library.git"},
		"other group":  {"https://git.example.test/acme/deploy", "../../platform/library", "https://git.example.test/platform/library"},
		"scp":          {"git@git.example.test:acme/deploy.git", "../library.git", "git@git.example.test:acme/library.git"},
		"too far":      {"https://git.example.test/acme/deploy", "../../../../etc", "leads out"},
		"local path":   {"https://git.example.test/acme/deploy", "/etc", "no URL of a repository"},
		"not declared": {"https://git.example.test/acme/deploy", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			repo := gittest.New(t, map[string]string{"x": "1"})
			modules := "[submodule \"l\"]\n\tpath = lib\n\turl = " + c.url + "\n"
			if c.url == "" {
				modules = "# nothing\n"
			}
			commit := gitlink(repo, "lib", pinned, modules)
			asked := ""
			snap, err := newStore(t, source.Options{}).Snapshot(t.Context(), source.Repository{
				URL: c.parent, FetchURL: repo.URL, Related: func(_ context.Context, url string) (source.Repository, error) {
					asked = url
					if strings.HasPrefix(url, "/") {
						return source.Repository{URL: url}, nil
					}
					return source.Repository{URL: url, FetchURL: library.URL}, nil
				},
			}, commit)
			if err != nil {
				t.Fatal(err)
			}
			got, err := fs.ReadFile(snap, "lib/y")
			switch {
			case strings.Contains(c.want, "://") || strings.Contains(c.want, "@"):
				if asked != c.want || err != nil || string(got) != "2" {
					t.Errorf("asked for %q, read %q, %v; want %s", asked, got, err, c.want)
				}
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("got %q, %v; want an error with %q", got, err, c.want)
			}
		})
	}
}

func TestLFS(t *testing.T) {
	content := strings.Repeat("large\n", 100)
	sum := sha256.Sum256([]byte(content))
	id := hex.EncodeToString(sum[:])
	repo := gittest.New(t, map[string]string{"x": fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", id, len(content))})
	var downloads atomic.Int64
	broken := false
	// The two requests of Git LFS: the batch names where to download from.
	mux := http.NewServeMux()
	var server *httptest.Server
	mux.HandleFunc("POST /repo.git/info/lfs/objects/batch", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"objects": []any{map[string]any{
			"oid": id, "size": len(content),
			"actions": map[string]any{"download": map[string]any{"href": server.URL + "/storage/" + id, "header": map[string]string{"X-Ticket": "7"}}},
		}}})
	})
	mux.HandleFunc("GET /storage/{id}", func(w http.ResponseWriter, r *http.Request) {
		downloads.Add(1)
		if r.Header.Get("X-Ticket") != "7" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if broken {
			_, _ = w.Write([]byte("something else"))
			return
		}
		_, _ = w.Write([]byte(content))
	})
	mux.Handle("/repo.git/", repo.Handler())
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	url := server.URL + "/repo.git"

	plain, err := tryX(t, newStore(t, source.Options{}), source.Repository{URL: url})
	if err != nil || !strings.HasPrefix(plain, "version https://git-lfs") {
		t.Errorf("without enableLFS the pointer stays: %q, %v", plain, err)
	}
	store := newStore(t, source.Options{})
	readsX(t, store, source.Repository{URL: url, LFS: true}, content)
	readsX(t, store, source.Repository{URL: url, LFS: true}, content)
	if downloads.Load() != 1 {
		t.Errorf("%d downloads of one object", downloads.Load())
	}
	broken = true
	_, err = tryX(t, newStore(t, source.Options{}), source.Repository{URL: url, LFS: true})
	if err == nil || !strings.Contains(err.Error(), "other content") {
		t.Errorf("content that is not what the pointer names: %v", err)
	}
}

// TestSizesAreNotRead damages the end of a file, which only who reads it meets.
func TestSizesAreNotRead(t *testing.T) {
	noise := make([]byte, 100<<10)
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	repo := gittest.New(t, map[string]string{"dir/large": string(noise), "dir/empty": ""})
	dir := t.TempDir()
	store, err := source.NewStore(source.Options{Dir: dir, Env: gittest.Env()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	snap := snapshot(t, store, repo.URL, repo.Git("rev-parse", "HEAD"))
	id := repo.Git("rev-parse", "HEAD:dir/large")
	found, err := filepath.Glob(filepath.Join(dir, "*.git", "objects", id[:2], id[2:]))
	if err != nil || len(found) != 1 {
		t.Fatalf("the object is in %v, %v", found, err)
	}
	if err := errors.Join(os.Chmod(found[0], 0o600), os.Truncate(found[0], 50<<10)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"dir/large": 100 << 10, "dir/empty": 0} {
		if info, err := fs.Stat(snap, name); err != nil || info.Size() != want {
			t.Errorf("%s has %v, %v; want %d bytes", name, info, err, want)
		}
	}
	entries, err := fs.ReadDir(snap, "dir")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := e.Info(); err != nil {
			t.Error(err)
		}
	}
	if _, err := fs.ReadFile(snap, "dir/large"); err == nil {
		t.Error("the file is not damaged: the test shows nothing")
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

func newStore(t *testing.T, opts source.Options) *source.Store {
	t.Helper()
	opts.Dir = t.TempDir()
	opts.Env = gittest.Env()
	if opts.RefsTTL == 0 {
		opts.RefsTTL = time.Nanosecond
	}
	store, err := source.NewStore(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

func snapshot(t *testing.T, store *source.Store, url, commit string) *source.Snapshot {
	t.Helper()
	snap, err := store.Snapshot(t.Context(), source.Repository{URL: url}, commit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := snap.Close(); err != nil {
			t.Errorf("close snapshot: %v", err)
		}
	})
	return snap
}

func TestResolve(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	first := repo.Git("rev-parse", "HEAD")
	repo.Git("tag", "v1.0.0")
	repo.Commit("second", map[string]string{"x": "2"})
	repo.Git("tag", "-a", "v1.2.0", "-m", "annotated")
	second := repo.Git("rev-parse", "HEAD")
	repo.Git("branch", "release", first)
	bare := "file://" + repo.Dir

	store := newStore(t, source.Options{AllowFile: true})
	for name, c := range map[string]struct{ reason, revision, want string }{
		"head":        {"an empty revision is HEAD", "", second},
		"branch":      {"a branch by its short name", "release", first},
		"full ref":    {"a ref by its full name", "refs/heads/release", first},
		"tag":         {"a lightweight tag", "v1.0.0", first},
		"annotated":   {"an annotated tag is peeled to its commit", "v1.2.0", second},
		"constraint":  {"the highest tag that matches", "1.x", second},
		"exact":       {"a constraint that only one tag meets", "~1.0", first},
		"commit":      {"a full id needs no look-up", first, first},
		"abbreviated": {"seven digits are enough", first[:7], first},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := store.Resolve(t.Context(), source.Repository{URL: bare}, c.revision)
			if err != nil || got != c.want {
				t.Errorf("%s: Resolve(%q) = %q, %v; want %q", c.reason, c.revision, got, err, c.want)
			}
		})
	}
	for name, revision := range map[string]string{"unknown branch": "nope", "no tag matches": "9.x", "unknown commit": "abcdef1"} {
		t.Run(name, func(t *testing.T) {
			_, err := store.Resolve(t.Context(), source.Repository{URL: bare}, revision)
			if !errors.Is(err, source.ErrNoRevision) || !strings.Contains(err.Error(), revision) || !strings.Contains(err.Error(), bare) {
				t.Errorf("Resolve(%q) = %v; want ErrNoRevision naming revision and repository", revision, err)
			}
		})
	}
}

func TestSnapshotIsAFileSystem(t *testing.T) {
	files := map[string]string{"README": "top", "a/b/c.yaml": "deep", "a/empty": "", "link": "-> a/b"}
	repo := gittest.New(t, files)
	store := newStore(t, source.Options{})
	commit, err := store.Resolve(t.Context(), source.Repository{URL: repo.URL}, "main")
	if err != nil {
		t.Fatal(err)
	}
	snap := snapshot(t, store, repo.URL, commit)
	if err := fstest.TestFS(snap, "README", "a/b/c.yaml", "a/empty", "link/c.yaml"); err != nil {
		t.Error(err)
	}
}

func TestSnapshotFollowsLinksInsideOnly(t *testing.T) {
	repo := gittest.New(t, map[string]string{
		"dir/file": "content", "ok": "-> dir/file", "up/back": "-> ../dir/file",
		"out": "-> ../../etc/passwd", "abs": "-> /etc/passwd", "loop": "-> loop", "chain": "-> ok",
	})
	store := newStore(t, source.Options{})
	commit := repo.Git("rev-parse", "HEAD")
	snap := snapshot(t, store, repo.URL, commit)
	for _, name := range []string{"ok", "up/back", "chain"} {
		if got, err := fs.ReadFile(snap, name); err != nil || string(got) != "content" {
			t.Errorf("%s = %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{"out": "leads out", "abs": "leads out", "loop": "too many"} {
		if _, err := fs.ReadFile(snap, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", name, err, want)
		}
	}
}

func TestReadsAreWhatAResultDependsOn(t *testing.T) {
	repo := gittest.New(t, map[string]string{"one/x": "1", "two/y": "2"})
	store := newStore(t, source.Options{})
	before := snapshot(t, store, repo.URL, repo.Git("rev-parse", "HEAD"))
	if _, err := fs.ReadFile(before, "one/x"); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(before, "one/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("stat of a missing file: %v", err)
	}
	reads := before.Reads()
	if _, looked := reads["one/missing"]; !looked || reads["one/x"] == "" {
		t.Errorf("reads = %v; want the file and the missing one", reads)
	}

	after := snapshot(t, store, repo.URL, repo.Commit("elsewhere", map[string]string{"two/y": "3"}))
	same := map[string]string{}
	for name := range reads {
		same[name] = after.ObjectID(name)
	}
	if diff := cmp.Diff(reads, same); diff != "" {
		t.Errorf("a commit elsewhere changed what was read:\n%s", diff)
	}
	changed := snapshot(t, store, repo.URL, repo.Commit("here", map[string]string{"one/missing": "now"}))
	if changed.ObjectID("one/missing") == reads["one/missing"] {
		t.Error("a file that appeared is not seen as a change")
	}
}

func TestRepositoryThatVanishes(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	store := newStore(t, source.Options{})
	commit, err := store.Resolve(t.Context(), source.Repository{URL: repo.URL}, "main")
	if err != nil {
		t.Fatal(err)
	}
	snapshot(t, store, repo.URL, commit)
	repo.Vanish()

	_, err = store.Resolve(t.Context(), source.Repository{URL: repo.URL}, "main")
	var failed *source.Error
	if !errors.As(err, &failed) || failed.URL != repo.URL {
		t.Errorf("Resolve = %v; want an Error naming %s", err, repo.URL)
	}
	snap := snapshot(t, store, repo.URL, commit)
	if got, err := fs.ReadFile(snap, "x"); err != nil || string(got) != "1" {
		t.Errorf("a commit that is mirrored must stay readable: %q, %v", got, err)
	}
}

func TestSameRepository(t *testing.T) {
	const url = "https://git.example.test/acme/deploy"
	for _, other := range []string{url, url + ".git", url + "/"} {
		if !source.SameRepository(url, other) {
			t.Errorf("%s is another repository than %s", other, url)
		}
	}
	if source.SameRepository(url, url+"2") {
		t.Error("two repositories are taken for one")
	}
}

func TestMirrorsLocalPathsAndPasswords(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	const public = "https://git.example.test/acme/deploy"
	store := newStore(t, source.Options{})
	mirrored := source.Repository{URL: public, FetchURL: repo.URL}
	commit, err := store.Resolve(t.Context(), mirrored, "main")
	if err != nil {
		t.Fatalf("the mirror is not used: %v", err)
	}
	snap, err := store.Snapshot(t.Context(), mirrored, commit)
	if err != nil {
		t.Fatal(err)
	}
	if err := snap.Close(); err != nil {
		t.Error(err)
	}
	if _, err := store.Resolve(t.Context(), mirrored, "nope"); err == nil || !strings.Contains(err.Error(), public) {
		t.Errorf("error %v does not show the URL that Applications name", err)
	}
	if _, err := store.Resolve(t.Context(), source.Repository{URL: repo.Dir}, "main"); err == nil {
		t.Error("a local path is fetched although AllowFile is off")
	}
	_, err = store.Resolve(t.Context(), source.Repository{URL: "http://user:secret@127.0.0.1:1/x.git"}, "main")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v; want one without the password", err)
	}
}

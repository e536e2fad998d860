// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// A copy does not grow with every commit that was ever looked at, and what is in use
// is not what goes, however old it is.
func TestCopiesAreTidiedUp(t *testing.T) {
	repo := gittest.New(t, map[string]string{"x": "1"})
	old := repo.Git("rev-parse", "HEAD")
	dir := t.TempDir()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	store, err := source.NewStore(source.Options{Dir: dir, Env: gittest.Env(), RefsTTL: time.Nanosecond, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	at := source.Repository{URL: repo.URL}
	readsX(t, store, at, "1")
	mirrors, err := filepath.Glob(filepath.Join(dir, "*.git"))
	if err != nil || len(mirrors) != 1 {
		t.Fatalf("mirrors %v, %v", mirrors, err)
	}
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"--git-dir", mirrors[0]}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	// As many commits as if somebody had looked at them, an hour later.
	var creations strings.Builder
	later := clock.Now().Add(time.Hour)
	for i := range 300 {
		name := fmt.Sprintf("%040x", i)
		fmt.Fprintf(&creations, "create refs/snapshots/%s %s\n", name, old)
		used := filepath.Join(mirrors[0], "used", name)
		if err := os.WriteFile(used, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(used, later, later); err != nil {
			t.Fatal(err)
		}
	}
	git(creations.String(), "update-ref", "--stdin")
	clock.SetTime(clock.Now().Add(3 * time.Hour))
	// The first commit is looked at still.
	if err := snapshot(t, store, repo.URL, old).Close(); err != nil {
		t.Fatal(err)
	}
	repo.Commit("second", map[string]string{"x": "2"})
	readsX(t, store, at, "2")
	kept := git("", "for-each-ref", "--format=%(refname)", "refs/snapshots/")
	if n := strings.Count(kept, "\n"); n != 200 {
		t.Errorf("%d commits are kept; want 200", n)
	}
	for _, commit := range []string{old, repo.Git("rev-parse", "HEAD")} {
		if !strings.Contains(kept, commit) {
			t.Errorf("commit %s is in use and was dropped", commit)
		}
	}
	if left, err := os.ReadDir(filepath.Join(mirrors[0], "used")); err != nil || len(left) > 201 {
		t.Errorf("%d files say when commits were used, %v", len(left), err)
	}
}

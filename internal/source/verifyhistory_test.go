// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// sshSigner is a key and what has git sign with it.
func sshSigner(t *testing.T) (key gittest.SSHKey, options []string) {
	t.Helper()
	key = gittest.NewSSHKey(t)
	file := filepath.Join(t.TempDir(), "key")
	if err := errors.Join(os.WriteFile(file, []byte(key.Private), 0o600), os.WriteFile(file+".pub", []byte(key.Public), 0o600)); err != nil {
		t.Fatal(err)
	}
	return key, []string{"-c", "commit.gpgSign=true", "-c", "tag.gpgSign=true", "-c", "gpg.format=ssh", "-c", "user.signingKey=" + file}
}

func TestVerifyHistory(t *testing.T) {
	home, alice, alicePublic := gnupg(t, "alice")
	byAlice := []string{"-c", "commit.gpgSign=true", "-c", gpgIn(t, home), "-c", "user.signingKey=" + alice}
	bob, byBob := sshSigner(t)
	// Known to the installation, for other projects.
	carol, byCarol := sshSigner(t)
	// Known to nobody.
	_, byMallory := sshSigner(t)
	byNobody := []string{}
	keys := source.Keyring{
		Keys:    map[string]string{"alice": alicePublic, "bob": bob.Public, "carol": carol.Public},
		Allowed: []string{alice, bob.Fingerprint()}, History: true,
	}
	const seal = "seal\n\nArgocd-gpg-seal: reviewed"

	for name, c := range map[string]struct {
		reason string
		make   func(commit func(message string, by []string), repo *gittest.Repository)
		// words is what the refusal says; none for a history that is accepted.
		words []string
	}{
		"signed": {"GnuPG and SSH keys, mixed", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byAlice)
			commit("two", byBob)
			commit("three", byAlice)
		}, nil},
		"unsigned head": {"like any other demand", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byAlice)
			commit("two", byNobody)
		}, []string{"the commit is not signed", "permits only"}},
		"unsigned before": {"a signed head does not vouch for what it stands on", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byAlice)
			commit("two", byNobody)
			commit("three", byAlice)
		}, []string{"before it is not signed", "Argocd-gpg-seal"}},
		"of another project": {"a key that is known but not allowed", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byCarol)
			commit("two", byAlice)
		}, []string{"before it is signed with " + carol.Fingerprint()}},
		"unknown key": {"a key that nobody knows", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byAlice)
			commit("two", byMallory)
			commit("three", byAlice)
		}, []string{"before it is signed with the unknown key"}},
		"sealed": {"who seals vouches for what is before", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byNobody)
			commit("two", byMallory)
			commit(seal, byBob)
			commit("three", byAlice)
		}, nil},
		"the head seals": {"nothing needs to come after", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byNobody)
			commit(seal, byAlice)
		}, nil},
		"unsigned after a seal": {"it vouches for what is before it only", func(commit func(string, []string), _ *gittest.Repository) {
			commit(seal, byAlice)
			commit("one", byNobody)
			commit("two", byAlice)
		}, []string{"before it is not signed"}},
		"sealed by nobody": {"anybody can write those words", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byNobody)
			commit(seal, byNobody)
			commit("two", byAlice)
		}, []string{"before it is not signed"}},
		"sealed by another": {"only who may sign may seal", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byNobody)
			commit(seal, byCarol)
			commit("two", byAlice)
		}, []string{"before it is signed with " + carol.Fingerprint()}},
		"words in the text": {"a trailer stands at the end of the message", func(commit func(string, []string), _ *gittest.Repository) {
			commit("one", byNobody)
			commit("Argocd-gpg-seal: is what I do not do\n\nas said above", byAlice)
		}, []string{"before it is not signed"}},
		"merged": {"a branch brings its own history", func(commit func(string, []string), repo *gittest.Repository) {
			commit(seal, byAlice)
			repo.Git("checkout", "--quiet", "-b", "side")
			commit("side", byNobody)
			repo.Git("checkout", "--quiet", "signed")
			commit("main", byAlice)
			repo.Git(append(byAlice, "merge", "--quiet", "--no-ff", "--message", "merge", "side")...)
		}, []string{"before it is not signed"}},
		"merged and sealed": {"the merge vouches for the branch", func(commit func(string, []string), repo *gittest.Repository) {
			commit(seal, byAlice)
			repo.Git("checkout", "--quiet", "-b", "side")
			commit("side", byNobody)
			repo.Git("checkout", "--quiet", "signed")
			commit("main", byAlice)
			repo.Git(append(byAlice, "merge", "--quiet", "--no-ff", "--message", "merge\n\nargocd-GPG-seal: reviewed", "side")...)
		}, nil},
		"signed tag": {"a tag vouches for one commit, not for its past", func(commit func(string, []string), repo *gittest.Repository) {
			commit(seal, byAlice)
			commit("one", byNobody)
			repo.Git(append(byBob, "tag", "--message", "v1", "v1")...)
		}, []string{"the commit is not signed"}},
	} {
		t.Run(name, func(t *testing.T) {
			repo := gittest.New(t, map[string]string{"x": "1"})
			// The first commit of a repository has nothing before it.
			repo.Git("checkout", "--quiet", "--orphan", "signed")
			c.make(func(message string, by []string) {
				repo.Git(append(by, "commit", "--quiet", "--allow-empty", "--message", message)...)
			}, repo)
			repo.Update()
			url := withTags(t, repo).URL
			err := newStore(t, source.Options{}).Verify(t.Context(), source.Repository{URL: url}, repo.Git("rev-parse", "HEAD"), keys)
			if len(c.words) == 0 {
				if err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			failed, ok := errors.AsType[*source.Error](err)
			if !ok || failed.Reason != source.Unsigned {
				t.Fatalf("%s: got error %v; want it refused as unsigned", c.reason, err)
			}
			for _, words := range c.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%s: %v does not say %q", c.reason, err, words)
				}
			}
		})
	}
}

// A project that demands the head alone does not get less when history is verified
// for another, nor the other way round.
func TestHistoryIsADemandOfItsOwn(t *testing.T) {
	bob, byBob := sshSigner(t)
	repo := gittest.New(t, map[string]string{"x": "1"})
	repo.Git(append(byBob, "commit", "--quiet", "--allow-empty", "--message", "signed")...)
	repo.Update()
	head := repo.Git("rev-parse", "HEAD")
	store := newStore(t, source.Options{})
	keys := source.Keyring{Keys: map[string]string{"bob": bob.Public}, Allowed: []string{bob.Fingerprint()}}
	for _, demand := range []bool{false, true, false, true} {
		keys.History = demand
		if err := store.Verify(t.Context(), source.Repository{URL: repo.URL}, head, keys); (err != nil) != demand {
			t.Errorf("with history %v: %v", demand, err)
		}
	}
}

// What was verified is not verified again: not by the next commit, not after a
// restart. Other keys are another question.
func TestOnlyWhatIsNewIsVerified(t *testing.T) {
	home, alice, public := gnupg(t, "alice")
	byAlice := []string{"-c", "commit.gpgSign=true", "-c", gpgIn(t, home), "-c", "user.signingKey=" + alice}
	repo := gittest.New(t, map[string]string{"x": "1"})
	repo.Git("checkout", "--quiet", "--orphan", "signed")
	for range 12 {
		repo.Git(append(byAlice, "commit", "--quiet", "--allow-empty", "--message", "signed")...)
	}
	server := withTags(t, repo)

	gpg, err := exec.LookPath("gpg")
	if err != nil {
		t.Fatal(err)
	}
	bin, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := "#!/bin/sh\ncase \"$*\" in *--verify*) echo verify >> " + calls + ";; esac\nexec " + gpg + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "gpg"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(gittest.Env(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	dir := t.TempDir()
	verified := func(keys source.Keyring) int {
		t.Helper()
		store, err := source.NewStore(source.Options{Dir: dir, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if err := store.Verify(t.Context(), source.Repository{URL: server.URL}, repo.Git("rev-parse", "HEAD"), keys); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(calls)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(calls); err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "verify")
	}
	keys := source.Keyring{Keys: map[string]string{"alice": public}, Allowed: []string{alice}, History: true}
	if n := verified(keys); n < 12 {
		t.Errorf("%d signatures were looked at, there are 12", n)
	}
	if n := verified(keys); n != 0 {
		t.Errorf("after a restart %d signatures were looked at, nothing is new", n)
	}
	repo.Git(append(byAlice, "commit", "--quiet", "--allow-empty", "--message", "thirteenth")...)
	if n := verified(keys); n < 1 || n > 2 {
		t.Errorf("%d signatures were looked at, one commit is new", n)
	}
	keys.Allowed = append(keys.Allowed, "0123456789ABCDEF")
	if n := verified(keys); n < 13 {
		t.Errorf("with other keys %d signatures were looked at, there are 13", n)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/gitserver"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// gnupg makes a key; home is where its secret half is.
func gnupg(t *testing.T, name string) (home, fingerprint, public string) {
	t.Helper()
	// The agent's socket must have a short name.
	home, err := os.MkdirTemp("", "gpg") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command("gpg", append([]string{"--batch", "--homedir", home, "--passphrase", ""}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("gpg %v: %v", args, err)
		}
		return string(out)
	}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--homedir", home, "--kill", "all")
		if err := errors.Join(kill.Run(), os.RemoveAll(home)); err != nil {
			t.Error(err)
		}
	})
	run("--quick-generate-key", name+" <"+name+"@example.test>", "ed25519", "sign", "never")
	for line := range strings.SplitSeq(run("--list-keys", "--with-colons"), "\n") {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			return home, fields[9], run("--armor", "--export")
		}
	}
	t.Fatal("no fingerprint")
	return "", "", ""
}

// withTags serves all refs of a repository.
func withTags(t *testing.T, repo *gittest.Repository) *gitserver.Server {
	t.Helper()
	server, err := gitserver.Listen(filepath.Join(repo.Dir, ".git"), gittest.Env())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // some tests have closed it before
	return server
}

func TestVerify(t *testing.T) {
	home, fingerprint, public := gnupg(t, "alice")
	strangerHome, strangerPrint, strangerPublic := gnupg(t, "mallory")
	key := gittest.NewSSHKey(t)
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := errors.Join(os.WriteFile(keyFile, []byte(key.Private), 0o600), os.WriteFile(keyFile+".pub", []byte(key.Public), 0o600)); err != nil {
		t.Fatal(err)
	}
	sshPrint := key.Fingerprint()

	repo := gittest.New(t, map[string]string{"x": "1"})
	commit := func(args ...string) string {
		repo.Git(append(args, "commit", "--quiet", "--allow-empty", "--gpg-sign", "--message", "signed")...)
		repo.Update()
		return repo.Git("rev-parse", "HEAD")
	}
	unsigned := repo.Git("rev-parse", "HEAD")
	byAlice := commit("-c", gpgIn(t, home), "-c", "user.signingKey="+fingerprint)
	byMallory := commit("-c", gpgIn(t, strangerHome), "-c", "user.signingKey="+strangerPrint)
	bySSH := commit("-c", "gpg.format=ssh", "-c", "user.signingKey="+keyFile)
	// Commits that nobody has signed, with tags.
	tagged := func(name string, args ...string) string {
		id := repo.Commit(name, map[string]string{"x": name})
		repo.Git(append(args, "tag", "--message", name, name)...)
		return id
	}
	sign := func(args ...string) []string { return append(args, "-c", "tag.gpgSign=true") }
	tagByAlice := tagged("v1", sign("-c", gpgIn(t, home), "-c", "user.signingKey="+fingerprint)...)
	tagBySSH := tagged("v2", sign("-c", "gpg.format=ssh", "-c", "user.signingKey="+keyFile)...)
	tagByMallory := tagged("v3", sign("-c", gpgIn(t, strangerHome), "-c", "user.signingKey="+strangerPrint)...)
	tagByNobody := tagged("v4")
	// The same signature over another content.
	forged := forge(t, repo, byAlice)

	url := withTags(t, repo).URL
	all := map[string]string{"alice": public, "ssh": key.Public}
	both := map[string]string{"alice": public, "mallory": strangerPublic, "ssh": key.Public}
	for name, c := range map[string]struct {
		reason, commit string
		keys           source.Keyring
		words          string
	}{
		"good":                  {"signed with an allowed key", byAlice, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, ""},
		"long id":               {"projects name keys by their last 16 digits", byAlice, source.Keyring{Keys: all, Allowed: []string{fingerprint[len(fingerprint)-16:]}}, ""},
		"ssh":                   {"signed with an allowed SSH key", bySSH, source.Keyring{Keys: all, Allowed: []string{sshPrint}}, ""},
		"unsigned":              {"not signed at all", unsigned, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, "not signed"},
		"unknown key":           {"signed by somebody whom the installation does not know", byMallory, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, "unknown key"},
		"known, not allowed":    {"another project may trust that key", byMallory, source.Keyring{Keys: both, Allowed: []string{fingerprint}}, "permits only " + fingerprint},
		"ssh, not allowed":      {"an SSH key of another project", bySSH, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, sshPrint},
		"ssh, unknown":          {"an SSH key that nobody knows", bySSH, source.Keyring{Keys: map[string]string{"alice": public}, Allowed: []string{sshPrint}}, "unknown key"},
		"forged":                {"a good signature of other content", forged, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, "signature is bad"},
		"signed tag":            {"who signs a release vouches for its commit", tagByAlice, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, ""},
		"signed tag, ssh":       {"the same with an SSH key", tagBySSH, source.Keyring{Keys: all, Allowed: []string{sshPrint}}, ""},
		"tag of a stranger":     {"anybody who may push can sign a tag", tagByMallory, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, "the commit is not signed, and its tag v3 is signed with the unknown key"},
		"tag, not allowed":      {"a key for another project", tagBySSH, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, "its tag v2 is signed with " + sshPrint},
		"tag of nobody":         {"a tag says nothing unless it is signed", tagByNobody, source.Keyring{Keys: all, Allowed: []string{fingerprint}}, "the commit is not signed: its project permits"},
		"too short to be an id": {"eight digits can be made to fit", byAlice, source.Keyring{Keys: all, Allowed: []string{fingerprint[len(fingerprint)-8:]}}, "permits only"},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, source.Options{})
			err := store.Verify(t.Context(), source.Repository{URL: url}, c.commit, c.keys)
			if c.words == "" {
				if err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			var failed *source.Error
			if !errors.As(err, &failed) || failed.Reason != source.Unsigned || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), url) {
				t.Errorf("%s: got error %v; want %q and the repository in it", c.reason, err, c.words)
			}
		})
	}
}

// forge makes a commit with the signature of another one and serves it.
func forge(t *testing.T, repo *gittest.Repository, commit string) string {
	t.Helper()
	body := repo.Git("cat-file", "commit", commit)
	file := filepath.Join(t.TempDir(), "commit")
	if err := os.WriteFile(file, []byte(strings.Replace(body, "\n\nsigned", "\n\nforged", 1)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	forged := repo.Git("hash-object", "-t", "commit", "-w", file)
	repo.Git("update-ref", "HEAD", forged)
	repo.Update()
	return forged
}

// A server may say that a signed tag is about any commit; nobody has signed that.
func TestSignedTagOfAnotherCommit(t *testing.T) {
	home, fingerprint, public := gnupg(t, "alice")
	repo := gittest.New(t, map[string]string{"x": "1"})
	good := repo.Git("rev-parse", "HEAD")
	repo.Git("-c", gpgIn(t, home), "-c", "user.signingKey="+fingerprint, "tag", "--sign", "--message", "v1", "v1")
	evil := repo.Commit("evil", map[string]string{"x": "2"})
	honest := withTags(t, repo).Handler()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		honest.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		_, _ = w.Write(bytes.ReplaceAll(answer.Body.Bytes(), []byte("peeled:"+good), []byte("peeled:"+evil)))
	}))
	keys := source.Keyring{Keys: map[string]string{"alice": public}, Allowed: []string{fingerprint}}
	err := newStore(t, source.Options{}).Verify(t.Context(), source.Repository{URL: url}, evil, keys)
	var failed *source.Error
	if !errors.As(err, &failed) || failed.Reason != source.Unsigned {
		t.Errorf("got error %v; want the commit refused", err)
	}
}

// gpgIn is the setting that has git sign with the keys of a directory.
func gpgIn(t *testing.T, home string) string {
	t.Helper()
	wrapper := filepath.Join(t.TempDir(), "gpg")
	if err := os.WriteFile(wrapper, []byte("#!/bin/sh\nexec gpg --homedir "+home+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return "gpg.program=" + wrapper
}

// What a signed tag vouches for stays so when the tag is deleted, or the server is
// gone: a release that has begun is resumed.
func TestSignedTagThatIsGone(t *testing.T) {
	home, fingerprint, public := gnupg(t, "alice")
	repo := gittest.New(t, map[string]string{"x": "1"})
	commit := repo.Git("rev-parse", "HEAD")
	repo.Git("-c", gpgIn(t, home), "-c", "user.signingKey="+fingerprint, "tag", "--sign", "--message", "v1", "v1")
	server := withTags(t, repo)
	keys := source.Keyring{Keys: map[string]string{"alice": public}, Allowed: []string{fingerprint}}
	dir := t.TempDir()
	for _, moment := range []string{"there", "deleted", "server gone"} {
		switch moment {
		case "deleted":
			repo.Git("tag", "--delete", "v1")
		case "server gone":
			if err := server.Close(); err != nil {
				t.Fatal(err)
			}
		}
		store, err := source.NewStore(source.Options{Dir: dir, Env: gittest.Env()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		if err := store.Verify(t.Context(), source.Repository{URL: server.URL}, commit, keys); err != nil {
			t.Errorf("%s: %v", moment, err)
		}
	}
}

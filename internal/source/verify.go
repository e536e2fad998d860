// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Keyring is who may sign commits.
type Keyring struct {
	// Keys are public keys: GnuPG's in ASCII armour, or a line of an SSH key. Their
	// names do not matter.
	Keys map[string]string
	// Allowed are ids of keys that a commit may be signed with: the long id or the
	// fingerprint of a GnuPG key, the fingerprint of an SSH key, SHA256:….
	Allowed []string
	// History says that all commits before it must be signed as well, as far back as a
	// commit that seals what is before itself.
	History bool
}

func (k Keyring) digest() string {
	var all strings.Builder
	if k.History {
		all.WriteString("history\x02")
	}
	for _, name := range slices.Sorted(maps.Keys(k.Keys)) {
		all.WriteString(k.Keys[name] + "\x00")
	}
	for _, id := range slices.Sorted(slices.Values(k.Allowed)) {
		all.WriteString("\x01" + id)
	}
	return sha256Hex([]byte(all.String()))
}

// verdicts remembers which commits were found to be signed well, and of those whose
// history counts, which were not: that takes long to find out, and does not change.
type verdicts struct {
	mu  sync.Mutex
	of  map[string]error
	max int
}

func newVerdicts() verdicts { return verdicts{of: map[string]error{}, max: 10_000} }

func (v *verdicts) known(key string) (ok bool, verdict error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	verdict, ok = v.of[key]
	return ok, verdict
}

func (v *verdicts) note(key string, verdict error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.of) > v.max {
		clear(v.of)
	}
	v.of[key] = verdict
}

// Verify returns nil if the commit, or a tag that is about it, is signed with one of
// the allowed keys. The error says who signed them, or that nobody did.
func (s *Store) Verify(ctx context.Context, repo Repository, commit string, keys Keyring) error {
	key := commit + " " + keys.digest()
	if known, verdict := s.verdicts.known(key); known {
		return verdict
	}
	m, err := s.mirror(repo)
	if err != nil {
		return err
	}
	if err := m.ensure(ctx, commit); err != nil {
		return err
	}
	var detail, hint string
	if keys.History {
		detail, hint, err = m.verifyHistory(ctx, commit, keys)
	} else if detail, hint, err = m.verify(ctx, signed{kind: "commit", id: commit, name: "the commit"}, keys); err == nil && detail != "" {
		detail, hint, err = m.verifyTags(ctx, commit, keys, detail, hint)
	}
	if err != nil {
		return err
	}
	if detail == "" {
		s.verdicts.note(key, nil)
		return nil
	}
	refusal := &Error{Op: "verify commit " + short(commit) + " of", URL: repo.Display(), Reason: Unsigned, Detail: detail, Hint: hint}
	if keys.History {
		s.verdicts.note(key, refusal)
	}
	return refusal
}

// signed is an object that may be signed.
type signed struct {
	// kind of the object: commit or tag.
	kind, id string
	// about is the commit that a tag must be about: what the server says of that
	// nobody has signed.
	about string
	// name is what people call it.
	name string
}

// isAbout tells whether a tag is about the commit that it shall be about.
func (o signed) isAbout(data []byte) bool {
	return o.kind != "tag" || bytes.HasPrefix(data, []byte("object "+o.about+"\ntype commit\n"))
}

// hasSignature tells whether the content of an object has one, good or not.
func (o signed) hasSignature(data []byte) bool {
	head, message, _ := bytes.Cut(data, []byte("\n\n"))
	if o.kind == "commit" {
		return bytes.Contains(head, []byte("\ngpgsig"))
	}
	return bytes.Contains(message, []byte("-----BEGIN PGP SIGNATURE-----")) || bytes.Contains(message, []byte("-----BEGIN SSH SIGNATURE-----"))
}

// verify says what is wrong with an object's signature; nothing if it is good.
func (m *mirror) verify(ctx context.Context, o signed, keys Keyring) (detail, hint string, err error) {
	kind, data, err := m.objects.read(o.id)
	if err != nil {
		return "", "", err
	}
	if kind != o.kind || !o.isAbout(data) || !o.hasSignature(data) {
		return o.unsigned(keys)
	}
	a := &access{}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := m.trust(ctx, a, keys); err != nil {
		return "", "", err
	}
	return m.judgeSignature(ctx, a, m.dir, o, keys)
}

func (o signed) unsigned(keys Keyring) (detail, hint string, err error) {
	return o.name + " is not signed", "its project permits only commits that are signed with " + strings.Join(keys.Allowed, " or "), nil
}

// trust has git know the keys.
func (m *mirror) trust(ctx context.Context, a *access, keys Keyring) error {
	signers, armoured := sortKeys(keys)
	file, err := m.store.privateFile(a, "signers", signers)
	if err != nil {
		return err
	}
	a.set("gpg.ssh.allowedSignersFile", file)
	a.set("gpg.minTrustLevel", "undefined")
	a.env = append(a.env, "GNUPGHOME="+a.dir)
	return m.importKeys(ctx, a, armoured)
}

// judgeSignature says what is wrong with the signature that an object has.
func (m *mirror) judgeSignature(ctx context.Context, a *access, dir string, o signed, keys Keyring) (detail, hint string, err error) {
	cmd := m.store.git.command(ctx, a, dir, "verify-"+o.kind, "--raw", o.id)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	// That it fails is said in what it prints.
	errRun := cmd.Run()
	if ctx.Err() != nil {
		return "", "", context.Cause(ctx)
	}
	detail, hint = judge(o.name, said.String(), errRun == nil, keys.Allowed)
	return detail, hint, nil
}

// sortKeys tells SSH keys from those of GnuPG.
func sortKeys(keys Keyring) (signers string, armoured []string) {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(keys.Keys)) {
		text := keys.Keys[name]
		if key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text)); err == nil {
			fmt.Fprintf(&lines, "* namespaces=\"git\" %s", ssh.MarshalAuthorizedKey(key))
		} else {
			armoured = append(armoured, text)
		}
	}
	return lines.String(), armoured
}

func (m *mirror) importKeys(ctx context.Context, a *access, armoured []string) error {
	for _, text := range armoured {
		cmd := exec.CommandContext(ctx, "gpg", "--batch", "--no-tty", "--quiet", "--homedir", a.dir, "--no-autostart", "--import")
		cmd.Env = m.store.git.env
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("import a key of argocd-gpg-keys-cm with gpg: %s: %w", lastWords(strings.ReplaceAll(string(out), filepath.Dir(a.dir), "")), err)
		}
	}
	return nil
}

// judge reads what git prints of a signature: the status lines of GnuPG, or the
// sentence of ssh-keygen.
func judge(name, said string, good bool, allowed []string) (detail, hint string) {
	signed := ""
	for line := range strings.SplitSeq(said, "\n") {
		words := strings.Fields(line)
		if rest, ok := strings.CutPrefix(line, "[GNUPG:] "); ok {
			words = strings.Fields(rest)
			switch {
			case len(words) < 2:
			case words[0] == "NO_PUBKEY":
				return name + " is signed with the unknown key " + words[1], "put the key into the ConfigMap argocd-gpg-keys-cm if it is one to trust"
			case words[0] == "BADSIG":
				return "the signature is bad: " + name + " is not what " + words[1] + " has signed", ""
			case words[0] == "EXPKEYSIG" || words[0] == "EXPSIG":
				return "the signature, or the key " + words[1] + ", has expired", ""
			case words[0] == "REVKEYSIG":
				return "the key " + words[1] + " has been revoked", ""
			case words[0] == "VALIDSIG":
				// The key that signed, and the one that it belongs to.
				signed = words[1]
				if permits(allowed, words[1]) || permits(allowed, words[len(words)-1]) {
					return unlessFailed(good)
				}
			}
			continue
		}
		if i := slices.Index(words, "key"); i >= 0 && i+1 < len(words) && strings.HasPrefix(words[i+1], "SHA256:") {
			signed = words[i+1]
			if strings.HasPrefix(line, "Good \"git\" signature for *") && slices.Contains(allowed, signed) {
				return unlessFailed(good)
			}
			if !strings.HasPrefix(line, "Good \"git\" signature for *") {
				return name + " is signed with the unknown key " + signed, "put the key into the ConfigMap argocd-gpg-keys-cm if it is one to trust"
			}
		}
	}
	if signed == "" {
		return "the signature cannot be verified: " + lastWords(said), ""
	}
	return name + " is signed with " + signed, "its project permits only " + strings.Join(allowed, " or ")
}

func unlessFailed(good bool) (detail, hint string) {
	if !good {
		return "the signature is not accepted by git", ""
	}
	return "", ""
}

// permits tells whether a fingerprint is among the ids, which may be its end.
func permits(allowed []string, fingerprint string) bool {
	return slices.ContainsFunc(allowed, func(id string) bool {
		id = strings.ToUpper(strings.TrimPrefix(strings.TrimPrefix(id, "0x"), "0X"))
		return len(id) >= 16 && strings.HasSuffix(strings.ToUpper(fingerprint), id)
	})
}

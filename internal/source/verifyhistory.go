// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// sealTrailer in the message of a signed commit says that its author vouches for
	// everything before it.
	sealTrailer = "Argocd-gpg-seal"
	// maxHistory bounds how many commits are verified for one.
	maxHistory = 50_000
	// verifiedAtOnce is after how many verified commits that is noted, so that what was
	// done stays done.
	verifiedAtOnce = 200
	// maxStops is how many verified commits are noted.
	maxStops = 100
	// historyTimeout bounds verifying; each commit takes some milliseconds.
	historyTimeout = 15 * time.Minute
)

// pastCommit is a commit that must be signed.
type pastCommit struct {
	id      string
	parents []string
	seals   bool
}

// historyVerdict is what verifying came to.
type historyVerdict struct{ detail, hint string }

// verifyHistory says what is wrong with the signatures of a commit and of all before
// it; nothing if they are good. It goes back as far as commits that seal what is
// before them, or that it has verified with the same keys. Tags vouch for nothing
// here. It goes on when the one who asked first gives up.
func (m *mirror) verifyHistory(ctx context.Context, commit string, keys Keyring) (detail, hint string, err error) {
	done := m.asks.DoChan("verify "+commit+" "+keys.digest(), func() (any, error) {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), historyTimeout, errNoAnswer(historyTimeout))
		defer cancel()
		past, err := m.past(ctx, commit, keys)
		if err != nil {
			return nil, err
		}
		if len(past) > maxHistory {
			return historyVerdict{fmt.Sprintf("more than %d commits before it would have to be verified", maxHistory), sealAdvice}, nil
		}
		return m.verifyPast(ctx, past, keys)
	})
	select {
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	case res := <-done:
		verdict, _ := res.Val.(historyVerdict)
		return verdict.detail, verdict.hint, res.Err
	}
}

const sealAdvice = "have somebody whom the project trusts review what is before and seal it: git commit --allow-empty --gpg-sign --trailer '" + sealTrailer + ": REASON'"

// past returns the commits that have to be verified, the commit itself first, each
// before its parents. It fetches the history if it lacks something.
func (m *mirror) past(ctx context.Context, commit string, keys Keyring) ([]pastCommit, error) {
	dir := m.historyDir()
	if past, err := m.listPast(ctx, dir, commit, keys); err == nil {
		return past, nil
	}
	_, err := m.once(ctx, "history "+commit, func(ctx context.Context) (any, error) {
		unlock, err := m.lock(ctx, dir)
		if err != nil {
			return nil, err
		}
		defer unlock()
		if err := m.init(ctx, dir); err != nil {
			return nil, err
		}
		if err := m.fetchHistory(ctx, dir, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
			return nil, err
		}
		if _, err := m.parseCommit(ctx, dir, commit); err == nil {
			return nil, nil
		}
		// Nothing leads to it any more, but the server may still have it.
		return nil, m.fetchHistory(ctx, dir, "+"+commit+":"+keptCommits+commit)
	})
	if err != nil {
		return nil, err
	}
	past, err := m.listPast(ctx, dir, commit, keys)
	if err != nil {
		return nil, m.fail("read the history of", nil, err)
	}
	return past, nil
}

// listPast is past of what is there already.
func (m *mirror) listPast(ctx context.Context, dir, commit string, keys Keyring) ([]pastCommit, error) {
	if makeOf(dir) == "" {
		return nil, errMissingObject
	}
	if _, err := os.Stat(filepath.Join(dir, "shallow")); err == nil {
		return nil, errors.New("the server does not have all of it")
	}
	stops := m.stops(dir, keys)
	if slices.Contains(stops, commit) {
		return nil, nil
	}
	args := []string{
		"log", "--topo-order", "--ignore-missing",
		"--format=%H%x09%P%x09%(trailers:key=" + sealTrailer + ",valueonly,unfold,separator=%x20)", commit, "--not",
	}
	out, err := m.store.git.run(ctx, dir, append(args, stops...)...)
	if err != nil {
		return nil, err
	}
	var all []pastCommit
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) != 3 || !isFullCommit(fields[0]) {
			return nil, fmt.Errorf("git log printed %q", line)
		}
		all = append(all, pastCommit{id: fields[0], parents: strings.Fields(fields[1]), seals: strings.TrimSpace(fields[2]) != ""})
	}
	if len(all) == 0 || all[0].id != commit {
		return nil, errMissingObject
	}
	return unsealed(all), nil
}

// unsealed leaves out what is before a seal. Whether those who seal may do so is
// verified like any other commit.
func unsealed(all []pastCommit) []pastCommit {
	sealed := map[string]bool{}
	// Parents come after all their children.
	return slices.DeleteFunc(all, func(c pastCommit) bool {
		if c.seals || sealed[c.id] {
			for _, parent := range c.parents {
				sealed[parent] = true
			}
		}
		return sealed[c.id]
	})
}

// verifyPast verifies commits: the first, because that is what lacks a signature if
// something does, then the others, the oldest first, so that of each that was
// verified everything before it was.
func (m *mirror) verifyPast(ctx context.Context, past []pastCommit, keys Keyring) (verdict historyVerdict, err error) {
	if len(past) == 0 {
		return historyVerdict{}, nil
	}
	a := &access{}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := m.trust(ctx, a, keys); err != nil {
		return historyVerdict{}, err
	}
	head := past[0].id
	ids := make([]string, len(past))
	for i, c := range past {
		ids[len(past)-1-i] = c.id
	}
	for chunk := range slices.Chunk(append([]string{head}, ids...), verifiedAtOnce) {
		bad, err := m.firstUnsigned(ctx, a, chunk, keys)
		if err != nil {
			return historyVerdict{}, err
		}
		if bad != "" {
			return m.explainPast(ctx, a, bad, head, keys)
		}
		if err := m.stop(chunk[len(chunk)-1], keys); err != nil {
			return historyVerdict{}, err
		}
	}
	return historyVerdict{}, nil
}

// firstUnsigned returns the first of some commits that is not signed with an allowed
// key, or nothing.
func (m *mirror) firstUnsigned(ctx context.Context, a *access, ids []string, keys Keyring) (string, error) {
	cmd := m.store.git.command(ctx, a, m.historyDir(), "log", "--no-walk=unsorted", "--stdin", "--format=%H%x09%G?%x09%GF%x09%GP")
	cmd.Stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	out, err := m.store.git.runCommand(ctx, a, cmd)
	if err != nil {
		return "", m.fail("verify the history of", a, err)
	}
	good := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) == 4 {
			good[fields[0]] = signedWell(fields[1], fields[2], fields[3], keys.Allowed)
		}
	}
	for _, id := range ids {
		if !good[id] {
			return id, nil
		}
	}
	return "", nil
}

// signedWell reads what git log says of a signature. GnuPG calls keys that nobody has
// certified of unknown validity; SSH keys that are not among those it was given, too.
func signedWell(verdict, fingerprint, primary string, allowed []string) bool {
	if strings.HasPrefix(fingerprint, "SHA256:") {
		return verdict == "G" && slices.Contains(allowed, fingerprint)
	}
	return (verdict == "G" || verdict == "U") && (permits(allowed, fingerprint) || permits(allowed, primary))
}

// explainPast says what is wrong with a commit that is not signed well.
func (m *mirror) explainPast(ctx context.Context, a *access, bad, head string, keys Keyring) (historyVerdict, error) {
	o := signed{kind: "commit", id: bad, name: "the commit"}
	if bad != head {
		o.name = "the commit " + short(bad) + " before it"
	}
	data, err := m.store.git.run(ctx, m.historyDir(), "cat-file", "commit", bad)
	if err != nil {
		return historyVerdict{}, m.fail("read the history of", nil, err)
	}
	var detail, hint string
	if o.hasSignature(data) {
		detail, hint, err = m.judgeSignature(ctx, a, m.historyDir(), o, keys)
	} else {
		detail, hint, err = o.unsigned(keys)
	}
	if err != nil {
		return historyVerdict{}, err
	}
	if detail == "" {
		detail = "the signature of " + o.name + " is not accepted by git"
	}
	if bad != head {
		hint = strings.TrimPrefix(hint+"; or "+sealAdvice, "; or ")
	}
	return historyVerdict{detail, hint}, nil
}

// stopsFile names the commits that were verified with all that is before them, with
// certain keys.
func (m *mirror) stopsFile(keys Keyring) string {
	return filepath.Join(m.historyDir(), "verified", keys.digest())
}

func (m *mirror) stops(dir string, keys Keyring) []string {
	data, err := os.ReadFile(filepath.Join(dir, "verified", keys.digest()))
	if err != nil {
		return nil // then everything is verified
	}
	return slices.DeleteFunc(strings.Fields(string(bytes.ToValidUTF8(data, nil))), func(id string) bool { return !isFullCommit(id) })
}

// stop notes a commit that was verified with all that is before it.
func (m *mirror) stop(commit string, keys Keyring) error {
	stops := append(m.stops(m.historyDir(), keys), commit)
	stops = stops[max(0, len(stops)-maxStops):]
	if err := writeFile(m.stopsFile(keys), []byte(strings.Join(stops, "\n")+"\n")); err != nil {
		return fmt.Errorf("note which commits were verified: %w", err)
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
)

// ErrNoRevision is wrapped by the error of a revision that names nothing.
var ErrNoRevision = errors.New("no such revision")

// Refs are the refs of a remote at one moment.
type Refs struct {
	// byName maps full ref names to commit ids; annotated tags are peeled.
	byName map[string]string
	// head is the branch that HEAD points to, empty when it is detached.
	head string
	// tags are the short names of all tags.
	tags []string
	// annotated are the tag objects about a commit.
	annotated map[string][]tagObject

	mu       sync.Mutex
	resolved map[string]answer
}

// tagObject is an annotated tag.
type tagObject struct{ id, name string }

// answer is what a revision was found to be.
type answer struct {
	commit string
	err    error
}

var (
	fullCommit        = regexp.MustCompile(`^[0-9a-f]{40}$`)
	abbreviatedCommit = regexp.MustCompile(`^[0-9a-f]{7,39}$`)
)

func isFullCommit(s string) bool        { return fullCommit.MatchString(s) }
func isAbbreviatedCommit(s string) bool { return abbreviatedCommit.MatchString(s) }

// parseRefs reads the output of `git ls-remote --symref`.
func parseRefs(out []byte) *Refs {
	r := &Refs{byName: map[string]string{}, annotated: map[string][]tagObject{}, resolved: map[string]answer{}}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		left, name, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			continue
		}
		if target, symbolic := strings.CutPrefix(left, "ref: "); symbolic {
			if name == "HEAD" {
				r.head = target
			}
			continue
		}
		if peeled, ok := strings.CutSuffix(name, "^{}"); ok {
			if tag, ok := strings.CutPrefix(peeled, "refs/tags/"); ok {
				r.annotated[left] = append(r.annotated[left], tagObject{r.byName[peeled], tag})
			}
			r.byName[peeled] = left
			continue
		}
		r.byName[name] = left
		if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok {
			r.tags = append(r.tags, tag)
		}
	}
	return r
}

// Resolve finds the commit of a revision as Argo CD does: HEAD when empty, a
// full ref name, a branch, a tag, or a semantic version constraint over the
// tags that begin with tagPrefix, of which the highest match wins. The error says
// which of these was looked for and wraps ErrNoRevision.
func (r *Refs) Resolve(revision, tagPrefix string) (string, error) {
	key := tagPrefix + "\x00" + revision
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.resolved[key]
	if !ok {
		known.commit, known.err = r.resolve(revision, tagPrefix)
		r.resolved[key] = known
	}
	return known.commit, known.err
}

func (r *Refs) resolve(revision, tagPrefix string) (string, error) {
	if len(r.byName) == 0 {
		return "", fmt.Errorf("there is no branch and no tag: the repository is empty, or the URL is not that of a Git repository: %w", ErrNoRevision)
	}
	if revision == "" || revision == "HEAD" {
		if commit, ok := r.byName["HEAD"]; ok {
			return commit, nil
		}
		if commit, ok := r.byName[r.head]; ok {
			return commit, nil
		}
		return "", fmt.Errorf("the repository has no HEAD, it may be empty: %w", ErrNoRevision)
	}
	for _, name := range []string{revision, "refs/heads/" + revision, "refs/tags/" + revision} {
		if commit, ok := r.byName[name]; ok {
			return commit, nil
		}
	}
	constraint, err := semver.NewConstraint(revision)
	if err != nil {
		return "", fmt.Errorf("no branch, tag or commit has this name: %w", ErrNoRevision)
	}
	if tag, ok := highest(constraint, r.tags, tagPrefix); ok {
		return r.byName["refs/tags/"+tag], nil
	}
	if tagPrefix != "" {
		return "", fmt.Errorf("no branch or tag has this name, and none of the tags that begin with %q matches it as a version: %w", tagPrefix, ErrNoRevision)
	}
	return "", fmt.Errorf("no branch or tag has this name, and none of %d tags matches it as a version: %w", len(r.tags), ErrNoRevision)
}

// abbreviated finds the one commit that a ref points to and that begins so.
func (r *Refs) abbreviated(prefix string) (string, bool) {
	found := ""
	for _, commit := range r.byName {
		if strings.HasPrefix(commit, prefix) && commit != found {
			if found != "" {
				return "", false
			}
			found = commit
		}
	}
	return found, found != ""
}

// highest picks the tag with the highest version that the constraint allows. Of
// two that say the same version the longer one wins, always.
func highest(constraint *semver.Constraints, tags []string, prefix string) (string, bool) {
	var best *semver.Version
	var bestTag string
	for _, tag := range tags {
		rest, ok := strings.CutPrefix(tag, prefix)
		if !ok {
			continue
		}
		v, err := semver.NewVersion(rest)
		if err != nil || !constraint.Check(v) {
			continue
		}
		if best == nil || v.GreaterThan(best) || v.Equal(best) && (len(tag) > len(bestTag) || len(tag) == len(bestTag) && tag > bestTag) {
			best, bestTag = v, tag
		}
	}
	return bestTag, best != nil
}

func quoteRevision(revision string) string {
	if revision == "" {
		return `"HEAD"`
	}
	return fmt.Sprintf("%q", revision)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"strings"
)

// maxSignedTags bounds how many tags of one commit are looked at.
const maxSignedTags = 16

// keptTags is below which refs the copy keeps tags by the commit that they are about:
// a release that a tag vouches for can be resumed when the tag is deleted.
const keptTags = "refs/signed/"

// verifyTags looks for a tag that is signed where the commit itself is not, or not
// well: who signs a tag vouches for the commit that it names. detail and hint are
// what is wrong with the commit.
func (m *mirror) verifyTags(ctx context.Context, commit string, keys Keyring, detail, hint string) (string, string, error) {
	tags, err := m.tagsAbout(ctx, commit)
	if err != nil {
		return "", "", err
	}
	for _, tag := range tags {
		wrong, advice, err := m.verify(ctx, signed{kind: "tag", id: tag.id, about: commit, name: "its tag " + tag.name}, keys)
		if err != nil || wrong == "" {
			return "", "", err
		}
		if !strings.HasSuffix(wrong, " is not signed") {
			// Somebody has signed it: what is wrong with that is of more interest.
			detail, hint = detail+", and "+wrong, advice
		}
	}
	return detail, hint, nil
}

// tagsAbout returns the annotated tags that are about a commit: those that the
// repository has now, or had when they were looked at. It fetches those that it can
// get.
func (m *mirror) tagsAbout(ctx context.Context, commit string) ([]tagObject, error) {
	var tags []tagObject
	// A repository that does not answer has no new tags.
	if refs, err := m.refs(ctx); err == nil {
		for _, tag := range refs.annotated[commit] {
			if len(tags) == maxSignedTags {
				break
			}
			if m.ensureTag(ctx, commit, tag.id) == nil {
				tags = append(tags, tag)
			}
		}
	}
	if len(tags) > 0 {
		return tags, nil
	}
	out, err := m.store.git.run(ctx, m.dir, "for-each-ref", "--format=%(objectname) %(tag)", keptTags+commit+"/")
	if err != nil {
		return nil, m.fail("read the kept tags of", nil, err)
	}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && len(tags) < maxSignedTags {
			tags = append(tags, tagObject{id, name})
		}
	}
	return tags, nil
}

// ensureTag makes the mirror hold a tag.
func (m *mirror) ensureTag(ctx context.Context, commit, id string) error {
	if kind, _, err := m.objects.read(id); err == nil && kind == "tag" {
		return nil
	}
	_, err := m.once(ctx, "tag "+id, func(ctx context.Context) (any, error) {
		unlock, err := m.lock(ctx, m.dir)
		if err != nil {
			return nil, err
		}
		defer unlock()
		if err := m.init(ctx, m.dir); err != nil {
			return nil, err
		}
		return m.remote(ctx, "fetch a tag of", func(ctx context.Context, a *access, address string) ([]byte, error) {
			return m.store.git.runAs(ctx, a, m.dir, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--",
				address, "+"+id+":"+keptTags+commit+"/"+id)
		})
	})
	return err
}

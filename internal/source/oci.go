// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/singleflight"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// Media types of content. Others of an artifact are left alone.
const (
	mediaChart = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	// maxManifest bounds a manifest.
	maxManifest = 4 << 20
	// maxTags bounds how many tags a constraint is compared with.
	maxTags = 100_000
)

var ociDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// artifacts reads OCI registries. Registries are asked for tags and for what tags
// mean at most once per IndexTTL.
type artifacts struct {
	store *Store
	asks  singleflight.Group

	mu sync.Mutex
	// forgets counts how often something was forgotten: an answer to a question from
	// before that may be outdated.
	forgets int
	answers map[string]ociAnswer
}

// ociAnswer is what a registry has said.
type ociAnswer struct {
	at      time.Time
	url     string
	digest  string
	tags    []string
	trouble trouble
}

// ociReference is the name of a target in its registry, without scheme and tag.
func ociReference(t Target) string {
	ref := strings.TrimSuffix(t.Repository.fetchURL(), "/")
	if _, rest, ok := strings.Cut(ref, "://"); ok {
		ref = rest
	}
	if t.Chart != "" {
		ref += "/" + t.Chart
	}
	return ref
}

// repository connects to the repository of a target.
func (o *artifacts) repository(ctx context.Context, t Target) (*remote.Repository, error) {
	ref := ociReference(t)
	repo, err := remote.NewRepository(ref)
	if err != nil {
		return nil, o.fail(t, "read", Other, "the address is none of an OCI repository: "+err.Error(), err)
	}
	of := t.Repository
	of.Kind = OCI
	creds, err := o.store.identity(ctx, of, of.Credentials)
	if err != nil {
		return nil, err
	}
	host, _, _ := strings.Cut(ref, "/")
	client, err := o.store.httpClient(creds, host)
	if err != nil {
		return nil, err
	}
	credential := auth.EmptyCredential
	switch {
	case creds.BearerToken != "":
		credential.AccessToken = creds.BearerToken
	case creds.Username != "" || creds.Password != "":
		credential.Username, credential.Password = creds.Username, creds.Password
	}
	repo.Client = &auth.Client{Client: client, Credential: auth.StaticCredential(repo.Reference.Host(), credential), Cache: auth.NewCache()}
	repo.PlainHTTP = t.Repository.PlainHTTP
	repo.MaxMetadataBytes = maxManifest
	return repo, nil
}

func (o *artifacts) fail(t Target, op string, reason Reason, detail string, err error) error {
	display := t.Repository.Display()
	if t.Chart != "" {
		op += " chart " + t.Chart + " of"
	}
	e := &Error{Op: op, URL: display, Reason: reason, Detail: detail, Hint: advice(t.Repository, reason), Err: err}
	return o.store.pausing(e, "oci://"+ociReference(t))
}

// trouble turns an error of the registry's client into one of ours.
func (o *artifacts) trouble(ctx context.Context, t Target, op string, err error) error {
	var known *Error
	var answer *errcode.ErrorResponse
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &answer):
		return o.fail(t, op, reasonOfStatus(answer.StatusCode), fmt.Sprintf("the registry answers %d", answer.StatusCode), err)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return o.fail(t, op, Unauthenticated, "the registry answers 401 Unauthorized", err)
	case strings.Contains(err.Error(), "not found"):
		return o.fail(t, op, NotFound, "the registry does not have it", err)
	default:
		reason, detail := httpTrouble(ctx, err)
		return o.fail(t, op, reason, detail, err)
	}
}

// remember asks once per IndexTTL, and not at all for a while after a failure.
func (o *artifacts) remember(ctx context.Context, t Target, what string, ask func(context.Context) (ociAnswer, error)) (ociAnswer, error) {
	digest, err := t.Repository.Credentials.digest()
	if err != nil {
		return ociAnswer{}, err
	}
	key := strings.Join([]string{ociReference(t), t.Repository.Scope, digest, what}, " ")
	clock := o.store.opts.Clock
	o.mu.Lock()
	known, ok := o.answers[key]
	forgets := o.forgets
	o.mu.Unlock()
	if ok && known.trouble.err == nil && clock.Since(known.at) < o.store.opts.IndexTTL {
		return known, nil
	}
	if err := known.trouble.standing(clock.Now()); err != nil {
		return ociAnswer{}, err
	}
	value, err := o.store.ask(ctx, question{repo: t.Repository, asks: &o.asks, key: fmt.Sprint(key, " ", forgets)}, func(ctx context.Context) (any, error) {
		answer, err := ask(ctx)
		answer.at, answer.url, answer.trouble = clock.Now(), t.Repository.URL, known.trouble
		answer.trouble.note(clock.Now(), err)
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.forgets == forgets {
			o.answers[key] = answer
		}
		return answer, err
	})
	answer, _ := value.(ociAnswer)
	return answer, err
}

func (o *artifacts) forget(url string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forgets++
	for key, answer := range o.answers {
		if SameRepository(answer.url, url) {
			delete(o.answers, key)
		}
	}
}

// locate finds what a target names now: of a chart the version, of an artifact the
// digest.
func (o *artifacts) locate(ctx context.Context, t Target) (string, error) {
	wanted := t.Revision
	switch {
	case ociDigest.MatchString(wanted):
		return wanted, nil
	case wanted == "" && t.Chart == "":
		wanted = "latest"
	}
	digest, err := o.digest(ctx, t, wanted)
	switch {
	case err == nil && t.Chart != "":
		return wanted, nil
	case err == nil:
		return digest, nil
	case reasonOf(err) != NotFound:
		return "", err
	}
	tags, errTags := o.tags(ctx, t)
	if errTags != nil {
		return "", errTags
	}
	versions := make([]string, len(tags))
	for i, tag := range tags {
		versions[i] = versionOfTag(tag)
	}
	best, errBest := chooseVersion(versions, wanted)
	if errBest != nil {
		return "", o.fail(t, fmt.Sprintf("find version %q of", wanted), NoRevision, errBest.Error(), errBest)
	}
	if t.Chart != "" {
		return best, nil
	}
	return o.digest(ctx, t, tags[slices.Index(versions, best)])
}

// versionOfTag and tagOfVersion: a tag cannot have the + of a version.
func versionOfTag(tag string) string     { return strings.ReplaceAll(tag, "_", "+") }
func tagOfVersion(version string) string { return strings.ReplaceAll(version, "+", "_") }

func (o *artifacts) digest(ctx context.Context, t Target, version string) (string, error) {
	tag := tagOfVersion(version)
	if !tagName.MatchString(tag) {
		return "", o.fail(t, "find", NotFound, fmt.Sprintf("%q is no tag", version), nil)
	}
	answer, err := o.remember(ctx, t, "tag "+tag, func(ctx context.Context) (ociAnswer, error) {
		repo, err := o.repository(ctx, t)
		if err != nil {
			return ociAnswer{}, err
		}
		found, err := repo.Resolve(ctx, tag)
		if err != nil {
			return ociAnswer{}, o.trouble(ctx, t, fmt.Sprintf("find version %q of", version), err)
		}
		return ociAnswer{digest: found.Digest.String()}, nil
	})
	return answer.digest, err
}

var tagName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func (o *artifacts) tags(ctx context.Context, t Target) ([]string, error) {
	answer, err := o.remember(ctx, t, "tags", func(ctx context.Context) (ociAnswer, error) {
		repo, err := o.repository(ctx, t)
		if err != nil {
			return ociAnswer{}, err
		}
		var all []string
		err = repo.Tags(ctx, "", func(page []string) error {
			if all = append(all, page...); len(all) > maxTags {
				return o.fail(t, "list tags of", Other, fmt.Sprintf("it has more than %d tags: name a version instead of a constraint", maxTags), nil)
			}
			return nil
		})
		if err != nil {
			return ociAnswer{}, o.trouble(ctx, t, "list tags of", err)
		}
		return ociAnswer{tags: all}, nil
	})
	return answer.tags, err
}

// open returns the content of an artifact or a chart. What was fetched once is
// read without the registry.
func (o *artifacts) open(ctx context.Context, t Target, revision string) (Tree, error) {
	digest, err := o.digestOf(ctx, t, revision)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.store.opts.Timeout, errNoAnswer(o.store.opts.Timeout))
	defer cancel()
	// Who has no access must not read what others have fetched.
	key := strings.Join([]string{t.Repository.Scope, ociReference(t), digest}, " ")
	a, err := o.store.archives.get(key, false, func() ([]byte, error) { return nil, errMissingObject })
	if err != nil {
		var packed []byte
		var strip bool
		if packed, strip, err = o.fetch(ctx, t, digest, key); err != nil {
			return nil, err
		}
		if a, err = o.store.archives.put(key, packed, strip); err != nil {
			return nil, o.fail(t, "unpack", Other, err.Error(), err)
		}
	}
	return a.open(t.Repository.Display(), revision), nil
}

// digestOf is the digest of a revision that locate has returned. A version that was
// delivered once stays deliverable without the registry.
func (o *artifacts) digestOf(ctx context.Context, t Target, revision string) (string, error) {
	if ociDigest.MatchString(revision) {
		return revision, nil
	}
	note := o.store.archiveFile(strings.Join([]string{t.Repository.Scope, ociReference(t), "version", revision}, " ")) + ".version"
	known, errKnown := os.ReadFile(note)
	digest, err := o.digest(ctx, t, revision)
	switch {
	case err != nil && errKnown == nil:
		return string(known), nil
	case err != nil || digest == string(known):
		return digest, err
	default:
		return digest, writeFile(note, []byte(digest))
	}
}

// fetch gets manifest and content of a digest, from the cache or the registry.
func (o *artifacts) fetch(ctx context.Context, t Target, digest, key string) (packed []byte, strip bool, err error) {
	kept := o.store.archiveFile(key)
	repo, err := o.repository(ctx, t)
	if err != nil {
		return nil, false, err
	}
	read := func(what string, known *ocispec.Descriptor, limit int64) ([]byte, error) {
		name := kept + "." + what
		if data, err := readCached(name, known); err == nil {
			o.store.touch(name)
			return data, nil
		}
		var data []byte
		var err error
		if known != nil {
			if known.Size > limit {
				return nil, o.fail(t, "fetch", Other, fmt.Sprintf("the content is larger than %d MiB", limit>>20), nil)
			}
			data, err = content.FetchAll(ctx, repo, *known)
		} else {
			data, err = fetchManifest(ctx, repo, digest)
		}
		if err != nil {
			return nil, o.trouble(ctx, t, "fetch", err)
		}
		return data, writeFile(name, data)
	}
	manifest, err := read("manifest", nil, maxManifest)
	if err != nil {
		return nil, false, err
	}
	layer, err := contentLayer(manifest)
	if err != nil {
		return nil, false, o.fail(t, "read", Other, err.Error(), err)
	}
	packed, err = read("content", &layer, maxPacked)
	return packed, layer.MediaType == mediaChart, err
}

// readCached reads a file of the cache, if it is what the descriptor says.
func readCached(name string, known *ocispec.Descriptor) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if known != nil && known.Digest.String() != "sha256:"+sha256Hex(data) {
		return nil, errors.New("the cache is damaged")
	}
	return data, nil
}

func fetchManifest(ctx context.Context, repo *remote.Repository, digest string) ([]byte, error) {
	descriptor, body, err := repo.FetchReference(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	if descriptor.Size > maxManifest {
		return nil, fmt.Errorf("the manifest is larger than %d MiB", maxManifest>>20)
	}
	data, err := content.ReadAll(io.LimitReader(body, maxManifest), descriptor)
	if err != nil {
		return nil, err
	}
	if got := "sha256:" + sha256Hex(data); got != digest {
		return nil, fmt.Errorf("the registry sends %s for %s", got, digest)
	}
	return data, nil
}

// contentLayer is the one layer that holds files.
func contentLayer(data []byte) (ocispec.Descriptor, error) {
	var manifest ocispec.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	known := []string{mediaChart, ocispec.MediaTypeImageLayerGzip, ocispec.MediaTypeImageLayer}
	var found []ocispec.Descriptor
	var seen []string
	for _, layer := range manifest.Layers {
		seen = append(seen, layer.MediaType)
		if slices.Contains(known, layer.MediaType) {
			found = append(found, layer)
		}
	}
	if len(found) != 1 {
		return ocispec.Descriptor{}, fmt.Errorf("the artifact must have exactly one layer of type %s, it has %q", strings.Join(known, ", "), seen)
	}
	return found[0], nil
}

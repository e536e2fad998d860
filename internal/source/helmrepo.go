// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// helmRepository is a Helm repository: an index, and the charts that it names.
type helmRepository struct {
	store *Store
	dir   string
	asks  singleflight.Group

	mu      sync.Mutex
	repo    Repository
	digest  string
	current *index
	checked time.Time
	trouble trouble
	// forgets is what it is for a mirror.
	forgets int
}

// indexState is what is kept beside the index file, to ask only for a newer one.
type indexState struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Digest   string `json:"digest"`
}

func (s *Store) helmRepository(repo Repository) (*helmRepository, error) {
	digest, err := repo.Credentials.digest()
	if err != nil {
		return nil, err
	}
	key := repo.key()
	s.mu.Lock()
	h, ok := s.helms[key]
	if !ok {
		h = &helmRepository{store: s, dir: filepath.Join(s.opts.Dir, "charts", key)}
		s.helms[key] = h
	}
	s.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.digest != digest {
		h.digest, h.checked, h.trouble = digest, time.Time{}, trouble{}
	}
	h.repo = repo
	return h, nil
}

func (h *helmRepository) forget(url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if SameRepository(h.repo.URL, url) {
		h.checked, h.trouble = time.Time{}, trouble{}
		h.forgets++
	}
}

func (h *helmRepository) repository() Repository {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.repo
}

func (h *helmRepository) fail(op string) func(Reason, string, error) error {
	repo := h.repository()
	return func(reason Reason, detail string, err error) error {
		e := &Error{Op: op, URL: repo.Display(), Reason: reason, Detail: detail, Hint: advice(repo, reason), Err: err}
		return h.store.pausing(e, repo.fetchURL())
	}
}

// index returns the index of now, asked for at most once per IndexTTL.
func (h *helmRepository) index(ctx context.Context) (*index, error) {
	clock := h.store.opts.Clock
	h.mu.Lock()
	if h.current != nil && clock.Since(h.checked) < h.store.opts.IndexTTL {
		defer h.mu.Unlock()
		return h.current, nil
	}
	if err := h.trouble.standing(clock.Now()); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	forgets := h.forgets
	h.mu.Unlock()
	value, err := h.once(ctx, fmt.Sprint("index ", forgets), func(ctx context.Context) (any, error) {
		ix, err := h.refresh(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.trouble.note(clock.Now(), err)
		if err != nil {
			return nil, err
		}
		if h.forgets == forgets {
			h.current, h.checked = ix, clock.Now()
		}
		return ix, nil
	})
	ix, _ := value.(*index)
	return ix, err
}

// once is mirror.once for a Helm repository. All that it has is large.
func (h *helmRepository) once(ctx context.Context, key string, f func(context.Context) (any, error)) (any, error) {
	return h.store.ask(ctx, question{repo: h.repository(), asks: &h.asks, key: key, large: true}, f)
}

// refresh asks for the index, unless it is the one that we have.
func (h *helmRepository) refresh(ctx context.Context) (*index, error) {
	fail := h.fail("read the index of")
	file, stateFile := filepath.Join(h.dir, "index.yaml"), filepath.Join(h.dir, "index.json")
	var have indexState
	if data, err := os.ReadFile(stateFile); err == nil {
		if json.Unmarshal(data, &have) != nil {
			have = indexState{}
		}
	}
	if _, err := os.Stat(file + "." + have.Digest); err != nil {
		have = indexState{}
	}
	address := strings.TrimSuffix(h.repository().fetchURL(), "/") + "/index.yaml"
	res, err := h.request(ctx, address, true, func(r *http.Request) {
		if have.ETag != "" {
			r.Header.Set("If-None-Match", have.ETag)
		} else if have.Modified != "" {
			r.Header.Set("If-Modified-Since", have.Modified)
		}
	}, fail)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusNotModified {
		return h.parse(file, have.Digest, fail)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fail(reasonOfStatus(res.StatusCode), "the server answers "+res.Status, nil)
	}
	next := indexState{ETag: res.Header.Get("ETag"), Modified: res.Header.Get("Last-Modified")}
	if next.Digest, err = h.download(ctx, file, res.Body, fail); err != nil {
		return nil, err
	}
	ix, err := h.parse(file, next.Digest, fail)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	if have.Digest != "" && have.Digest != next.Digest {
		// Another process may still read it; then it only lacks a name.
		_ = os.Remove(file + "." + have.Digest)
	}
	return ix, writeFile(stateFile, data)
}

// parse reads the index file with the digest, unless that is the one in memory.
func (h *helmRepository) parse(file, digest string, fail func(Reason, string, error) error) (*index, error) {
	h.mu.Lock()
	current := h.current
	h.mu.Unlock()
	if current != nil && current.digest == digest {
		return current, nil
	}
	ix, err := readIndex(file+"."+digest, digest)
	if err != nil {
		return nil, fail(Other, "its index.yaml cannot be read: "+err.Error(), err)
	}
	return ix, nil
}

// download streams the index to disk.
func (h *helmRepository) download(ctx context.Context, file string, body io.Reader, fail func(Reason, string, error) error) (digest string, err error) {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return "", fmt.Errorf("make cache directory: %w", err)
	}
	tmp, err := os.CreateTemp(h.dir, ".tmp-")
	if err != nil {
		return "", fmt.Errorf("write index to cache: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(tmp, sum), io.LimitReader(body, maxIndex+1))
	if err := errors.Join(err, tmp.Close()); err != nil {
		reason, detail := httpTrouble(ctx, err)
		return "", fail(reason, detail, err)
	}
	if n > maxIndex {
		return "", fail(Other, fmt.Sprintf("its index.yaml is larger than %d MiB", maxIndex>>20), nil)
	}
	digest = hex.EncodeToString(sum.Sum(nil))
	if err := os.Rename(tmp.Name(), file+"."+digest); err != nil {
		return "", fmt.Errorf("write index to cache: %w", err)
	}
	return digest, nil
}

// request asks for a file of the repository, or for one elsewhere, which gets no
// login unless passLogin.
func (h *helmRepository) request(ctx context.Context, address string, passLogin bool, prepare func(*http.Request), fail func(Reason, string, error) error) (*http.Response, error) {
	repo := h.repository()
	creds, base := repo.Credentials.withLogin(repo.fetchURL())
	_, address = Credentials{}.withLogin(address)
	client, err := h.store.httpClient(creds, base)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fail(Other, "the URL cannot be read", nil)
	}
	if passLogin || req.URL.Host == Host(base) {
		header, err := h.store.authorization(ctx, repo, creds)
		if err != nil {
			return nil, err
		}
		if header != "" {
			req.Header.Set("Authorization", header)
		}
	}
	prepare(req)
	res, err := client.Do(req)
	if err != nil {
		reason, detail := httpTrouble(ctx, err)
		return nil, fail(reason, detail, err)
	}
	return res, nil
}

// locate finds the version of a chart that a target names.
func (h *helmRepository) locate(ctx context.Context, t Target) (chartVersion, error) {
	ix, err := h.index(ctx)
	if err != nil {
		return chartVersion{}, err
	}
	fail := h.fail(fmt.Sprintf("find chart %q version %q in", t.Chart, t.Revision))
	versions, err := ix.versions(t.Chart)
	if err == nil {
		var v chartVersion
		if v, err = choose(versions, t.Revision); err == nil {
			return v, nil
		}
	}
	reason := Other
	if errors.Is(err, ErrNoRevision) {
		reason = NoRevision
	}
	return chartVersion{}, fail(reason, err.Error(), err)
}

// chart returns the content of a version of a chart.
func (h *helmRepository) chart(ctx context.Context, t Target, version string) (Tree, error) {
	t.Revision = version
	v, err := h.locate(ctx, t)
	var digest string
	if err == nil {
		digest, err = h.fetch(ctx, t, v)
	}
	if err != nil {
		// What was delivered once stays deliverable without the repository.
		known, errKnown := os.ReadFile(h.remembered(t.Chart, version))
		if errKnown != nil {
			return nil, err
		}
		digest = string(known)
	}
	a, errOpen := h.store.archive(digest, true)
	if errOpen != nil {
		return nil, firstError(err, h.fail("unpack chart "+t.Chart+" "+version+" of")(Other, errOpen.Error(), errOpen))
	}
	return a.open(h.repository().Display(), version), nil
}

// remembered is the file that says which archive a version was.
func (h *helmRepository) remembered(chart, version string) string {
	return filepath.Join(h.dir, "versions", sha256Hex([]byte(chart+"\x00"+version)))
}

// fetch makes sure that the archive of a chart is in the cache.
func (h *helmRepository) fetch(ctx context.Context, t Target, v chartVersion) (digest string, err error) {
	fail := h.fail("fetch chart " + t.Chart + " " + v.Version + " of")
	digest = strings.TrimPrefix(strings.ToLower(v.Digest), "sha256:")
	note := h.remembered(t.Chart, v.Version)
	if digest == "" {
		// Without a digest in the index a version is what it was the first time.
		if known, err := os.ReadFile(note); err == nil {
			digest = string(known)
		}
	}
	if digest != "" && h.store.hasArchive(digest) {
		return digest, nil
	}
	if len(v.URLs) == 0 {
		return "", fail(Other, "the index names no address for it", nil)
	}
	base, err := url.Parse(strings.TrimSuffix(h.repository().fetchURL(), "/") + "/")
	if err != nil {
		return "", fail(Other, "the URL cannot be read", nil)
	}
	address, err := base.Parse(v.URLs[0])
	if err != nil {
		return "", fail(Other, fmt.Sprintf("the index names the address %q", v.URLs[0]), nil)
	}
	if !isHTTP(address.String()) {
		return "", fail(Other, fmt.Sprintf("the index names the address %q, which is not https://", v.URLs[0]), nil)
	}
	value, err := h.once(ctx, "chart "+address.String(), func(ctx context.Context) (any, error) {
		res, err := h.request(ctx, address.String(), t.PassCredentials, func(*http.Request) {}, fail)
		if err != nil {
			return nil, err
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK {
			return nil, fail(reasonOfStatus(res.StatusCode), fmt.Sprintf("%s answers %s for %s", address.Host, res.Status, path.Base(address.Path)), nil)
		}
		data, err := io.ReadAll(io.LimitReader(res.Body, maxPacked+1))
		if err != nil {
			reason, detail := httpTrouble(ctx, err)
			return nil, fail(reason, detail, err)
		}
		if len(data) > maxPacked {
			return nil, fail(Other, fmt.Sprintf("the chart is larger than %d MiB", maxPacked>>20), nil)
		}
		return data, nil
	})
	if err != nil {
		return "", err
	}
	data, _ := value.([]byte)
	got := sha256Hex(data)
	if v.Digest != "" && got != digest {
		return "", fail(Other, "the index says that its digest is "+digest+", but the server sends "+got, nil)
	}
	if err := h.store.keepArchive(got, data); err != nil {
		return "", err
	}
	return got, writeFile(note, []byte(got))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// archive returns an unpacked archive of the cache.
func (s *Store) archive(digest string, strip bool) (*archive, error) {
	return s.archives.get(digest, strip, func() ([]byte, error) {
		data, err := os.ReadFile(s.archiveFile(digest))
		if err != nil {
			return nil, fmt.Errorf("read archive from cache: %w", err)
		}
		s.touch(s.archiveFile(digest))
		if sha256Hex(data) != digest {
			return nil, errors.Join(errors.New("the archive in the cache was damaged: it is fetched anew"), os.Remove(s.archiveFile(digest)))
		}
		return data, nil
	})
}

// archiveFile is where an archive lies. Digests come from others; only hex can be
// part of a name.
func (s *Store) archiveFile(digest string) string {
	return filepath.Join(s.opts.Dir, "archives", sha256Hex([]byte(digest))[:16]+".tar")
}

func (s *Store) hasArchive(digest string) bool {
	_, err := os.Stat(s.archiveFile(digest))
	return err == nil
}

func (s *Store) keepArchive(digest string, data []byte) error {
	return writeFile(s.archiveFile(digest), data)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	lfsVersion = "version https://git-lfs.github.com/spec/v1\n"
	lfsType    = "application/vnd.git-lfs+json"
	// maxPointer is the size above which no file is a pointer.
	maxPointer = 1024
	// maxLFS bounds a file: what is rendered fits easily.
	maxLFS = 64 << 20
)

var lfsFields = regexp.MustCompile(`(?m)^oid sha256:([0-9a-f]{64})\nsize ([0-9]+)$`)

// smudge returns the file that a pointer of Git LFS stands for, and anything else
// as it is.
func (m *mirror) smudge(ctx context.Context, data []byte) ([]byte, error) {
	repo := m.repository()
	if !repo.LFS || len(data) > maxPointer || !bytes.HasPrefix(data, []byte(lfsVersion)) {
		return data, nil
	}
	fields := lfsFields.FindSubmatch(data)
	if fields == nil {
		return data, nil
	}
	id := string(fields[1])
	size, err := strconv.ParseInt(string(fields[2]), 10, 64)
	if err != nil || size > maxLFS {
		return nil, fmt.Errorf("the file in Git LFS has %s bytes: at most %d MiB are read", fields[2], maxLFS>>20)
	}
	cached := filepath.Join(m.store.opts.Dir, "lfs", m.repository().key(), id)
	if known, err := os.ReadFile(cached); err == nil && sha256Hex(known) == id {
		m.store.touch(cached)
		return known, nil
	}
	content, err := m.fetchLFS(ctx, repo, id, size)
	if err != nil {
		return nil, err
	}
	return content, writeFile(cached, content)
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// lfsObject is an object in the batch API's requests and answers.
type lfsObject struct {
	ID      string `json:"oid"`
	Size    int64  `json:"size"`
	Actions struct {
		Download struct {
			Href   string            `json:"href"`
			Header map[string]string `json:"header"`
		} `json:"download"`
	} `json:"actions,omitzero"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// fetchLFS gets one object by the batch API.
func (m *mirror) fetchLFS(ctx context.Context, repo Repository, id string, size int64) ([]byte, error) {
	fail := func(reason Reason, detail string, err error) error {
		return &Error{Op: "fetch LFS object " + id[:8] + " of", URL: repo.Display(), Reason: reason, Detail: detail, Hint: advice(repo, reason), Err: err}
	}
	creds, address := repo.Credentials.withLogin(repo.fetchURL())
	if !isHTTP(address) {
		return nil, fail(Other, "Git LFS needs a repository URL that begins with https://", nil)
	}
	client, err := m.store.httpClient(creds, address)
	if err != nil {
		return nil, err
	}
	header, err := m.store.authorization(ctx, repo, creds)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{
		"operation": "download", "transfers": []string{"basic"}, "objects": []map[string]any{{"oid": id, "size": size}},
	})
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimSuffix(address, "/"), ".git") + ".git"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/info/lfs/objects/batch", bytes.NewReader(body))
	if err != nil {
		return nil, fail(Other, "the URL cannot be read", err)
	}
	req.Header.Set("Content-Type", lfsType)
	req.Header.Set("Accept", lfsType)
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	answer, err := httpGet(client, req, 1<<20, fail)
	if err != nil {
		return nil, err
	}
	var batch struct {
		Objects []lfsObject `json:"objects"`
	}
	if err := json.Unmarshal(answer, &batch); err != nil || len(batch.Objects) != 1 {
		return nil, fail(Unavailable, "the server does not answer as Git LFS", err)
	}
	object := batch.Objects[0]
	if object.Error != nil {
		return nil, fail(reasonOfStatus(object.Error.Code), object.Error.Message, nil)
	}
	req, err = http.NewRequestWithContext(ctx, http.MethodGet, object.Actions.Download.Href, http.NoBody)
	if err != nil {
		return nil, fail(Unavailable, "the server names no address to download from", err)
	}
	for name, value := range object.Actions.Download.Header {
		req.Header.Set(name, value)
	}
	if len(object.Actions.Download.Header) == 0 && header != "" && req.URL.Host == Host(address) {
		req.Header.Set("Authorization", header)
	}
	content, err := httpGet(client, req, maxLFS, fail)
	if err != nil {
		return nil, err
	}
	if sha256Hex(content) != id {
		return nil, fail(Unavailable, "the server sends other content than the pointer names", nil)
	}
	return content, nil
}

// httpGet sends a request and returns at most limit bytes of a successful answer.
func httpGet(client *http.Client, req *http.Request, limit int64, fail func(Reason, string, error) error) ([]byte, error) {
	res, err := client.Do(req)
	if err != nil {
		reason, detail := httpTrouble(req.Context(), err)
		return nil, fail(reason, detail, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fail(reasonOfStatus(res.StatusCode), "the server answers "+res.Status, nil)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		reason, detail := httpTrouble(req.Context(), err)
		return nil, fail(reason, detail, err)
	}
	if int64(len(data)) > limit {
		return nil, fail(Other, fmt.Sprintf("the answer is larger than %d MiB", limit>>20), nil)
	}
	return data, nil
}

// writeFile puts a file in its place whole or not at all.
func writeFile(name string, data []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".tmp-")
	if err != nil {
		return fmt.Errorf("write cache: %w", err)
	}
	_, errWrite := tmp.Write(data)
	errClose := tmp.Close()
	if errWrite == nil && errClose == nil {
		errWrite = os.Rename(tmp.Name(), name)
	}
	if errWrite != nil || errClose != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("write cache: %w", errors.Join(errWrite, errClose))
	}
	return nil
}

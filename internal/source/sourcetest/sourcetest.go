// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package sourcetest serves Helm repositories and OCI registries to tests.
package sourcetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	oras "oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
)

// Tarball packs files; a content "-> target" is a symbolic link.
func Tarball(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		target, link := strings.CutPrefix(files[name], "-> ")
		if link {
			header.Typeflag, header.Linkname, header.Size = tar.TypeSymlink, target, 0
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if !link {
			if _, err := io.WriteString(w, files[name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// Chart packs a chart as `helm package` does.
func Chart(t testing.TB, name, version string) []byte {
	t.Helper()
	return Tarball(t, map[string]string{
		name + "/Chart.yaml":             "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n",
		name + "/templates/service.yaml": "kind: Service\n",
		name + "/values.yaml":            "version: " + version + "\n",
	})
}

// HelmRepository is a Helm repository that is served over HTTP.
type HelmRepository struct {
	*httptest.Server

	// Mu guards what follows while the server runs.
	Mu sync.Mutex
	// Index is served as index.yaml, Charts below the paths that it names.
	Index  string
	Charts map[string][]byte
	// Authorized is the value of the header Authorization that is asked for.
	Authorized string
	// IndexReads and ChartReads count what was transferred.
	IndexReads, ChartReads atomic.Int64
}

// NewHelmRepository serves an empty repository until the test ends.
func NewHelmRepository(t testing.TB) *HelmRepository {
	t.Helper()
	s := &HelmRepository{Charts: map[string][]byte{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *HelmRepository) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Authorized != "" && r.Header.Get("Authorization") != s.Authorized {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.URL.Path != "/index.yaml" {
		s.ChartReads.Add(1)
		data, ok := s.Charts[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(data)
		return
	}
	sum := sha256.Sum256([]byte(s.Index))
	tag := `"` + hex.EncodeToString(sum[:4]) + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.IndexReads.Add(1)
	_, _ = io.WriteString(w, s.Index)
}

// Publish puts versions of a small chart into the repository.
func (s *HelmRepository) Publish(t testing.TB, name string, versions ...string) {
	t.Helper()
	for _, v := range versions {
		s.Add(name, v, Chart(t, name, v))
	}
}

// Add puts a packed chart into the repository.
func (s *HelmRepository) Add(name, version string, packed []byte) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Index == "" {
		s.Index = "apiVersion: v1\nentries:\n"
	}
	file := fmt.Sprintf("charts/%s-%s.tgz", name, version)
	s.Charts[file] = packed
	sum := sha256.Sum256(packed)
	entry := "  - apiVersion: v2\n    description: |\n      entries:\n        odd: text\n    name: " + name + "\n" +
		"    digest: " + hex.EncodeToString(sum[:]) + "\n    urls:\n    - " + file + "\n    version: " + version + "\n"
	head := "  " + name + ":\n"
	if !strings.Contains(s.Index, "\n"+head) {
		s.Index += head
	}
	s.Index = strings.Replace(s.Index, "\n"+head, "\n"+head+entry, 1)
}

// Registry serves an OCI registry and returns its host. With guard it wants this
// value of the header Authorization.
func Registry(t testing.TB, guard string) string {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if guard != "" && r.Header.Get("Authorization") != guard {
			w.Header().Set("WWW-Authenticate", "Basic realm=registry")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Push puts an artifact with layers of the media types into a registry.
func Push(t testing.TB, name, tag string, layers map[string][]byte) string {
	t.Helper()
	ctx := context.Background()
	store := memory.New()
	var descriptors []ocispec.Descriptor
	for media, data := range layers {
		d, err := oras.PushBytes(ctx, store, media, data)
		if err != nil {
			t.Fatal(err)
		}
		descriptors = append(descriptors, d)
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, "application/vnd.example.config", oras.PackManifestOptions{Layers: descriptors})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Tag(ctx, manifest, tag); err != nil {
		t.Fatal(err)
	}
	repo, err := remote.NewRepository(name)
	if err != nil {
		t.Fatal(err)
	}
	repo.PlainHTTP = true
	if _, err := oras.Copy(ctx, store, tag, repo, tag, oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	return manifest.Digest.String()
}

// Media types of layers.
const (
	ChartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	PlainLayer = "application/vnd.oci.image.layer.v1.tar+gzip"
)

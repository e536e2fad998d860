// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"time"
)

// maxRequest bounds what a client may send while it negotiates.
const maxRequest = 16 << 20

// Server serves one bare repository with git's smart HTTP protocol, read-only.
type Server struct {
	// URL of the repository.
	URL string

	gitDir string
	env    []string
	http   *http.Server
}

// Listen starts a server for the bare repository on a free loopback port.
func Listen(gitDir string, env []string) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve Git repository: %w", err)
	}
	s := &Server{
		URL:    fmt.Sprintf("http://%s/repo.git", listener.Addr()),
		gitDir: gitDir,
		env:    append(slices.Clone(env), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C"),
	}
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		// Serve returns when Close is called; there is nothing to do about it.
		_ = s.http.Serve(listener)
	}()
	return s, nil
}

// Close stops the server and ends requests in flight.
func (s *Server) Close() error { return s.http.Close() }

// Handler returns the routes of the smart protocol below /repo.git.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repo.git/info/refs", s.advertise)
	mux.HandleFunc("POST /repo.git/git-upload-pack", s.uploadPack)
	return mux
}

func (s *Server) advertise(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("service") != "git-upload-pack" {
		http.Error(w, "only fetching is served here", http.StatusForbidden)
		return
	}
	out, err := s.git(r.Context(), r, nil, "upload-pack", "--stateless-rpc", "--advertise-refs", s.gitDir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	w.Header().Set("Cache-Control", "no-cache")
	if r.Header.Get("Git-Protocol") != "version=2" {
		_, _ = io.WriteString(w, packetLine("# service=git-upload-pack\n")+"0000")
	}
	_, _ = w.Write(out)
}

func (s *Server) uploadPack(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(http.MaxBytesReader(w, r.Body, maxRequest))
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = io.LimitReader(unzipped, maxRequest)
	}
	out, err := s.git(r.Context(), r, body, "upload-pack", "--stateless-rpc", s.gitDir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(out)
}

func (s *Server) git(ctx context.Context, r *http.Request, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-c", "safe.directory=*", "-c", "uploadpack.allowAnySHA1InWant=true",
	}, args...)...)
	cmd.Env = slices.Clone(s.env)
	if r.Header.Get("Git-Protocol") == "version=2" {
		cmd.Env = append(cmd.Env, "GIT_PROTOCOL=version=2")
	}
	cmd.Stdin = stdin
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	return out, nil
}

// packetLine frames text as git's protocol does: four hex digits of length, the
// digits included.
func packetLine(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs a single-member etcd inside the process, reachable over a Unix socket only: whoever may not read
// the data directory cannot talk to the database either. It does not know what is stored.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// Options say where etcd works.
type Options struct {
	// Dir holds the database.
	Dir string
	// Socket is the Unix socket to listen on.
	Socket string
	// LogFile receives warnings and errors.
	LogFile string
	// NoFsync leaves writing to disk to the operating system. A crash of the machine then loses the database, a crash
	// of the process does not.
	NoFsync bool
}

// Server is a running etcd.
type Server struct {
	etcd     *embed.Etcd
	endpoint string
}

// walSegment is the size of one file of the write-ahead log.
const walSegment = 8 << 20

// quota is the size at which etcd refuses to grow; far above what a sandbox holds.
const quota = 2 << 30

// Start runs etcd and returns when it accepts requests.
func Start(ctx context.Context, opts Options) (*Server, error) {
	endpoint, err := listenOn(opts.Socket)
	if err != nil {
		return nil, err
	}
	peer, err := listenOn(opts.Socket + ".peer")
	if err != nil {
		return nil, err
	}

	// Two segments are allocated at once; the default of 64 MB each would be most of what a sandbox takes on disk.
	wal.SegmentSizeBytes = walSegment

	cfg := embed.NewConfig()
	cfg.Name = "sandbox"
	cfg.Dir = opts.Dir
	cfg.LogOutputs = []string{opts.LogFile}
	cfg.LogLevel = "warn"
	cfg.UnsafeNoFsync = opts.NoFsync
	cfg.QuotaBackendBytes = quota
	// One member waits for nobody: short ticks let it elect itself within a few of them.
	cfg.TickMs = 20
	cfg.ElectionMs = 200
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*endpoint}, []url.URL{*endpoint}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)

	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return &Server{etcd: e, endpoint: endpoint.String()}, nil
	case err := <-e.Err():
		e.Close()
		return nil, fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		e.Close()
		return nil, fmt.Errorf("start etcd: %w", context.Cause(ctx))
	}
}

// listenOn returns the URL of a socket and removes what a killed process left of it.
func listenOn(socket string) (*url.URL, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove stale socket: %w", err)
	}
	return &url.URL{Scheme: "unix", Path: socket}, nil
}

// Endpoint is the address for clients.
func (s *Server) Endpoint() string { return s.endpoint }

// Err reports when etcd stops by itself.
func (s *Server) Err() <-chan error { return s.etcd.Err() }

// Stop ends etcd; what was written is kept.
func (s *Server) Stop() { s.etcd.Close() }

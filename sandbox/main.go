// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Command wavetrain-sandbox runs a Kubernetes control plane with simulated nodes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/wavetrain/wavetrain/sandbox/internal/command"
)

// version is that of Wavetrain; the build sets it.
var version = "dev"

func main() {
	os.Exit(run())
}

func run() int {
	// Libraries write warnings to standard error. When whoever read it is gone that must not end the process in the
	// middle of its clean stop.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command.Main(ctx, version, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Command wavetrain is GitOps delivery for Kubernetes, wave by wave.
package main

import (
	"os"

	"github.com/wavetrain/wavetrain/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(cli.Main(version, os.Args[1:], cli.SystemStreams()))
}

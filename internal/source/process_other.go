// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package source

import "os/exec"

// killWithChildren kills the command alone where there are no process groups.
func killWithChildren(*exec.Cmd) {}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package worker

import "os/exec"

func detach(*exec.Cmd) {}

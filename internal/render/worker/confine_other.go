// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package worker

import "time"

// confine can do nothing here: the limits that the parent watches remain.
func confine() error { return nil }

func boundCPU(time.Duration) error { return nil }

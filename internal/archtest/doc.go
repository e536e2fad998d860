// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package archtest guards the architecture: which room may import which, what
// pure rooms must stay away from, and how packages may be named.
package archtest

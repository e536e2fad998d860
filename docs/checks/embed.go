// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package checks holds the pages about what verify finds.
package checks

import "embed"

// Pages are the pages, CODE.md each.
//
//go:embed *.md
var Pages embed.FS

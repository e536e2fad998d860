// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package release keeps the payload of ReleaseRecords: bytes in, bytes out. It
// packs them, spreads them over as many objects as they need, and makes every
// write conditional on nobody else having written.
//
// The room does not know what the payload says; that is the rollout engine's.
package release

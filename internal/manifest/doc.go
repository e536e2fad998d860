// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest knows a single Kubernetes object and what matters on it for
// a rollout: its key, wave, phases, hook policies, sync options, what it refers
// to, what it produces, and where it was written.
//
// The room is pure: it reads values and returns values. It does not know
// clusters, files or other objects.
package manifest

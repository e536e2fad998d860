// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package pki makes and keeps the keys and certificates of one control plane: its certificate authority, the API
// server's certificate, the aggregator's identity, the key that signs service account tokens, and client certificates.
// Everything is generated once per data directory and reused, so that a kubeconfig stays valid over restarts. Private
// keys are never readable by others.
package pki

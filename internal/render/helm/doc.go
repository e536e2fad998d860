// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm renders a chart from a repository's tree with Helm's own
// libraries: the same objects as "helm template --include-crds", hooks
// included, without a disk, a cluster or a network.
//
// It uses Helm's engine and value handling and not its actions: those bring
// clients, registries and twice the binary for nothing that rendering needs.
package helm

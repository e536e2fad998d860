// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package render turns one source of an application, fetched and read-only,
// into objects: a Helm chart, a kustomization or a directory of manifests.
//
// It reads nothing but the trees it is given: no disk, no network, no cluster.
// What an application means by its objects is decided elsewhere.
package render

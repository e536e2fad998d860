// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize builds a kustomization from a repository's tree with
// Kustomize's own library, on a file system in memory.
//
// It never fetches: bases and charts of other places come from whoever renders, or
// are refused by name, and so are files on other hosts and plugins.
package kustomize

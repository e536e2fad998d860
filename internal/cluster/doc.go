// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster is Wavetrain's connection to one destination cluster: which
// kinds it serves, what lives on it, and writing to it.
//
// Discovery is read once and afterwards only group by group, when a
// CustomResourceDefinition or APIService of that group changes or somebody asks
// for a kind that is not known yet. The live cache holds the kinds that were
// asked for and no others; each is filled by one watch, and a new kind never
// touches the others. What this process wrote itself counts from the moment the
// API server answered: Get never returns an older state than that.
//
// Desired state is applied server-side as manifest.FieldManager, everything else
// is patched as manifest.ControllerFieldManager. Errors name the object and the
// server and say whether trying again can help (IsUnreachable, IsRejected).
//
// The room knows nothing of applications, plans or the order of things.
package cluster

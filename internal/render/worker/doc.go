// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package worker renders in other processes, because a repository is untrusted
// input: a chart that never ends or wants all memory costs its own Application an
// error and nobody else anything.
//
// A worker is this program, started again. It has no environment and cannot open
// a file, a connection or a process; all it has is a pipe, over which it asks its
// parent for the files of the snapshot one after the other, so what a rendering is
// recorded to depend on is what it really read. The parent bounds the memory, the
// time and the output of a rendering, and the worker has the kernel bound its
// processor time. Workers are used again until one fails.
package worker

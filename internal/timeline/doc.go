// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeline watches a cluster and notes what happened to which object,
// and proves from these notes alone that a rollout kept its order.
//
// The proof rests on resourceVersions. On one etcd they come from one counter,
// so of two events the one with the smaller resourceVersion happened first;
// timestamps have whole seconds and are for people.
package timeline

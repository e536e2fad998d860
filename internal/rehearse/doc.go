// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package rehearse runs a rollout for real, on an embedded control plane: the real
// controller delivers revisions of a repository, steps say what a person does
// meanwhile, and everything that happens is noted.
package rehearse

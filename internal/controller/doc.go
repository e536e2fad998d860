// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps Applications in line with Git: it observes an
// Application, takes the pipeline to a plan, hands the plan to the rollout and
// writes one status.
//
// Reconciling is crash-only: everything that must survive lies in the
// Application and its ReleaseRecord; what is in memory can be rebuilt.
package controller

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds wavetrain.dev/v1alpha1: the ReleaseRecord, Wavetrain's memory of one Application.
//
// The room describes the object and how a payload is packed into it. It must not know what the payload says: its
// content belongs to the rollout engine.
//
// +kubebuilder:object:generate=true
// +groupName=wavetrain.dev
package v1alpha1

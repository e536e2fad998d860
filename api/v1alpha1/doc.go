// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the argoproj.io/v1alpha1 objects that Wavetrain reads and writes: Application and
// AppProject in Argo CD's wire format, field for field.
//
// The room describes data and its defaults, nothing else. It must not fetch, compare or decide: a rule that needs
// more than one field of one object belongs to the room that owns the rule. Whatever only Wavetrain needs to remember
// lives in a ReleaseRecord (see api/release/v1alpha1), never in an extra field here, because another controller's CRD
// for the same group would silently drop it.
//
// +kubebuilder:object:generate=true
// +groupName=argoproj.io
package v1alpha1

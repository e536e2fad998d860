// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package settings reads what an installation is told in Argo CD's ConfigMap argocd-cm: from keys and their text to typed
// settings, and to problems that name the key. A part that cannot be read is left out and does not keep the rest from
// being read.
//
// The room is pure. Who needs a setting adds a field to Settings, its reader to Parse and its key to Reads; the controller
// reads the ConfigMap once per change and has everything looked at anew that its settings concern.
package settings

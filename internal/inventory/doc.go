// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory decides which live objects belong to an application and
// which of them are no longer rendered and may be pruned.
//
// Ownership is never guessed. An object is ours if the manifest renders it, if
// its tracking annotation names our application and exactly this object, or, for
// kinds that carry no tracking id, if our record lists it with the same UID.
// Children of other objects, copies and what other controllers make at run time
// are not ours, whatever labels they carry.
//
// The room is pure: it judges objects it is given and looks nothing up.
package inventory

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Method is how a desired state is written.
type Method string

// Methods of writing.
const (
	// ServerSide has the API server merge, by field ownership.
	ServerSide Method = ""
	// ClientSide merges what is wanted, what is there and what was written last,
	// which an annotation of the object keeps: `kubectl apply`.
	ClientSide Method = "client-side"
	// Replace puts what is wanted in the place of what is there: `kubectl replace`.
	Replace Method = "replace"
	// Overlay updates what is there with everything that is wanted and leaves the
	// rest. It foretells Replace as far as Git has a say: what Replace would take
	// away from others is no difference.
	Overlay Method = "overlay"
)

// Policy is how an application has its objects written, as far as the objects do
// not say otherwise. It is comparable.
type Policy struct {
	// Replace, Force and NoValidation mirror Replace=true, the forced sync strategy
	// and Validate=false.
	Replace, Force, NoValidation bool
	// ClientSide mirrors ServerSideApply=false.
	ClientSide bool
	// KeepOwners mirrors ClientSideApplyMigration=false.
	KeepOwners bool
	// Status says of which kinds the status that Git sets is applied.
	Status diff.StatusField
}

// PolicyOf reads an application's sync options.
func PolicyOf(options manifest.OptionSet) Policy {
	return Policy{
		Replace:      options.Has("Replace=true"),
		NoValidation: options.Has("Validate=false"),
		ClientSide:   options.Has("ServerSideApply=false"),
		KeepOwners:   options.Has("ClientSideApplyMigration=false"),
	}
}

// Shared returns the policy for an object that others share: it is always applied
// server-side, and what they have set is not taken over.
func (p Policy) Shared() Policy {
	return Policy{NoValidation: p.NoValidation, KeepOwners: true, Status: p.Status}
}

// For returns the options with which an object is applied. What the manifest
// says wins over the policy; Replace=true and Force=true may also stand on the
// live object, which is nil if there is none.
func (p Policy) For(desired, live *unstructured.Unstructured) ApplyOptions {
	own, found := manifest.SyncOptions(desired), manifest.OptionSet(nil)
	if live != nil {
		found = manifest.SyncOptions(live)
	}
	o := ApplyOptions{
		Force:        p.Force || own.Has("Force=true") || found.Has("Force=true"),
		NoValidation: p.NoValidation || own.Has("Validate=false"),
		KeepOwners:   p.KeepOwners,
		Status:       p.Status.Counts(desired.GroupVersionKind().GroupKind()),
	}
	switch {
	case p.Replace || own.Has("Replace=true") || found.Has("Replace=true"):
		o.Method = Replace
	case own.Has("ServerSideApply=false") || p.ClientSide && !own.Has("ServerSideApply=true"):
		o.Method = ClientSide
	}
	return o
}

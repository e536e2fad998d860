// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// Desired is the rendered set of an Application at certain revisions.
type Desired struct {
	// Revisions are the resolved commits, in source order.
	Revisions []string
	// Tools that rendered the sources, in source order: Helm, Kustomize or
	// Directory; empty for a source that only lends its files.
	Tools []string
	// Digest of the objects, independent of their order.
	Digest   string
	Warnings []diag.Diagnostic
	// External is what the repositories of the sources say that others bring.
	External []manifest.External
	// Configs are what the repositories say of themselves, if they were asked to be
	// kept.
	Configs []Config
	// Reused is true when nothing that rendering reads had changed.
	Reused bool

	// others are what kustomizations have taken from other places, as sources.
	others         []v1alpha1.ApplicationSource
	otherRevisions []string

	// parts are the rendered sources; objects is what somebody handed over.
	parts   []placed
	objects []manifest.Object
}

// Config is what a repository says of itself at the revision that is rendered.
type Config struct {
	Repository string
	Text       []byte
}

// placed is a rendered source with its index among the application's.
type placed struct {
	*part
	source int
}

// NewDesired makes a rendered set of objects that somebody handed over. It keeps
// them as they are.
func NewDesired(revisions []string, objects []manifest.Object) *Desired {
	return &Desired{Revisions: revisions, Digest: manifest.Digest(objects), objects: objects}
}

// Objects returns the rendered set, hooks included. It is unpacked when somebody
// asks: keep the list for as long as it is worked on, and no longer. The objects
// are shared and must not be changed.
func (d *Desired) Objects() ([]manifest.Object, error) {
	if len(d.parts) == 0 {
		return d.objects, nil
	}
	if len(d.parts) == 1 && d.parts[0].source == 0 {
		return d.parts[0].set.Objects()
	}
	var all []manifest.Object
	for _, p := range d.parts {
		objects, err := p.set.Objects()
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			obj.Provenance.Source = p.source
			all = append(all, obj)
		}
	}
	return all, nil
}

// combined is the digest of several parts, independent of their order.
func combined(parts []placed) string {
	if len(parts) == 1 {
		return parts[0].digest
	}
	digests := make([]string, len(parts))
	for i, p := range parts {
		digests[i] = p.digest
	}
	slices.Sort(digests)
	sum := sha256.New()
	for _, digest := range slices.Compact(digests) {
		sum.Write([]byte(digest))
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// Followed is what the set follows when something moves: the sources that it was
// rendered from, bases and charts that kustomizations take from other places, and the
// revisions that all of them had.
func (d *Desired) Followed(sources []v1alpha1.ApplicationSource) ([]v1alpha1.ApplicationSource, []string) {
	return slices.Concat(sources, d.others), slices.Concat(d.Revisions, d.otherRevisions)
}

// Asks tells whether charts asked something of the cluster.
func (d *Desired) Asks() bool {
	return slices.ContainsFunc(d.parts, func(p placed) bool { return len(p.lookups) > 0 })
}

// Looked are the objects that charts asked the cluster for, as "Kind/name"; the name
// is * for all of a kind.
func (d *Desired) Looked() []string {
	var list []string
	for _, p := range d.parts {
		for _, answer := range p.lookups {
			// The API version, the kind, the namespace and the name.
			of := answer.Of
			list = append(list, of[1]+"/"+cmp.Or(of[3], "*"))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// StillAnswered tells whether what charts asked of the cluster would be answered
// the same now.
func (d *Desired) StillAnswered(ctx context.Context, lookup func(context.Context, helm.Lookup) (map[string]any, error)) bool {
	for _, p := range d.parts {
		if !render.Holds(ctx, trace.Trace{Answers: p.lookups}, render.Source{}, render.Target{Lookup: lookup}) {
			return false
		}
	}
	return true
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"slices"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// ignored is an entry of the objects that are nobody's and not reported.
type ignored struct {
	group, kind, name pattern
	anyKind, anyName  bool
}

// Orphans judges which objects of a namespace that nobody manages a project wants
// to be told of.
type Orphans struct {
	rules  *Rules
	ignore []ignored
}

// Orphans returns the judge; ok is false if the project does not want any.
func (r *Rules) Orphans() (o *Orphans, ok bool) {
	wanted := r.spec.OrphanedResources
	if wanted == nil {
		return nil, false
	}
	o = &Orphans{rules: r}
	for _, entry := range wanted.Ignore {
		o.ignore = append(o.ignore, ignored{
			group: compile(entry.Group), kind: compile(entry.Kind), name: compile(entry.Name),
			anyKind: entry.Kind == "", anyName: entry.Name == "",
		})
	}
	return o, true
}

// WarnOfOrphans reports whether Applications shall warn of them.
func (r *Rules) WarnOfOrphans() bool {
	wanted := r.spec.OrphanedResources
	return wanted != nil && wanted.Warn != nil && *wanted.Warn
}

// Reports tells whether an object that nobody manages is reported: its kind is
// permitted, every namespace does not have it anyway, and nobody said to ignore
// it. In an entry of the project a kind or name that is left out stands for all, a
// group that is left out for the core group.
func (o *Orphans) Reports(key manifest.Key) bool {
	if !o.rules.Kind(key.GroupKind(), key.Name, true) {
		return false
	}
	switch (manifest.Key{Group: key.Group, Kind: key.Kind, Name: key.Name}) {
	case manifest.Key{Kind: "ServiceAccount", Name: "default"}, manifest.Key{Kind: "ConfigMap", Name: "kube-root-ca.crt"}:
		return false
	case manifest.Key{Kind: "Service", Name: "kubernetes"}:
		return key.Namespace != "default"
	}
	return !slices.ContainsFunc(o.ignore, func(i ignored) bool {
		return i.group.names(key.Group) && (i.anyKind || i.kind.names(key.Kind)) && (i.anyName || i.name.names(key.Name))
	})
}

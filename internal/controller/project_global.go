// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/project"
	"github.com/wavetrain/wavetrain/internal/settings"
)

// withGlobals adds to a project what the global projects that select it say. One
// that does not exist adds nothing, as in Argo CD; no global project is one for
// itself.
func (s *session) withGlobals(ctx context.Context, p *v1alpha1.AppProject) (*v1alpha1.AppProject, error) {
	if broken := s.settings.NoGlobalProjects; broken != "" {
		return nil, fmt.Errorf("what project %s permits is not known: globalProjects of ConfigMap %s/%s cannot be read: %s", p.Name, s.opts.Namespace, settings.Name, broken)
	}
	var globals []*v1alpha1.AppProject
	for _, entry := range s.settings.GlobalProjects {
		if entry.Name == p.Name || !entry.Selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		global := &v1alpha1.AppProject{}
		name := client.ObjectKey{Namespace: s.opts.Namespace, Name: entry.Name}
		if err := s.client.Get(ctx, name, global); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get global project %s: %w", name, err)
		} else if err == nil {
			globals = append(globals, global)
		}
	}
	return project.WithGlobals(p, globals), nil
}

// isGlobal tells whether what a project says may count in others.
func (a *applications) isGlobal(name string) bool {
	told := a.installation.current.Load()
	return told != nil && slices.ContainsFunc(told.GlobalProjects, func(g settings.GlobalProject) bool { return g.Name == name })
}

// changesProject lets through what changes what a project permits, or by which
// global projects it is selected.
func changesProject() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/rehearse"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/report/findings"
)

// verifyRehearsed runs the checks of "wavetrain verify" on Applications of a
// rehearsal, whose sources lie in dir.
func verifyRehearsed(ctx context.Context, dir string, subjects []rehearse.Subject) ([]findings.Finding, error) {
	repo, err := openRepositoryAt(dir)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	services := make([]planned, len(subjects))
	for i, s := range subjects {
		p := *s.Plan
		// What comes out differently each time is judged with the plan.
		p.Findings = slices.DeleteFunc(slices.Clone(p.Findings), func(d diag.Diagnostic) bool { return d.Code == render.CodeNondeterministic })
		labels[p.App] = s.Label
		services[i] = planned{
			plan: &p, objects: s.Objects, repo: repo, live: s.Live, app: s.App, written: s.Written, file: s.Written.Provenance,
			restless: s.Restless, owners: s.Owners, warnings: s.Warnings,
		}
		for _, source := range s.App.Spec.EffectiveSources() {
			if source.Chart == "" && repo.has(source.RepoURL) {
				src := render.Source{Path: source.Path, Helm: source.Helm}
				services[i].valueFiles = append(services[i].valueFiles, valueFiles(src)...)
			}
		}
	}
	_, found, err := verifyAll(ctx, services, nil)
	for i := range found {
		if label, ok := labels[found[i].App]; ok {
			found[i].App = label
		}
	}
	return found, err
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// Subject is an Application that is checked, together with others.
type Subject struct {
	// Label is the name by which the results call it, App what it follows, Written its
	// manifest.
	Label   string
	App     *v1alpha1.Application
	Written manifest.Object
	Plan    *plan.Plan
	// Objects is the rendered set in its order.
	Objects []manifest.Object
	// Live is the cluster, nil without one.
	Live verify.Live
	// Restless are the fields that every rendering gives another value, Warnings what
	// there is to say about the rendering besides the plan's findings.
	Restless []render.Restless
	// Owners are the other Applications to which objects belong in the cluster.
	Owners   map[manifest.Key][]string
	Warnings []diag.Diagnostic
}

// subject is what is checked of a view. An Application that cannot be rendered or
// planned is a finding.
func (w *world) subject(v *view, app string, err error) *Subject {
	if err != nil {
		w.found(findings.Finding{Code: "render-failed", Severity: diag.Error, App: app, Message: err.Error()})
		return nil
	}
	return &Subject{Label: app, App: v.app, Written: v.written, Plan: v.plan, Objects: v.objects, Live: v.live, Restless: v.restless, Owners: v.owners, Warnings: v.warnings}
}

// verify runs the checks on Applications that are looked at together and keeps what
// they find.
func (w *world) verify(ctx context.Context, content string, subjects []Subject) error {
	found, err := w.opts.Verify(ctx, content, subjects)
	if err != nil {
		return err
	}
	w.found(found...)
	return nil
}

func (w *world) found(found ...findings.Finding) {
	w.latest.found = append(w.latest.found, found...)
	w.result.Findings = append(w.result.Findings, found...)
}

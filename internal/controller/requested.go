// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
)

// refuse says why an operation cannot be carried out, empty if it can.
func refuse(app *v1alpha1.Application, op v1alpha1.Operation) string {
	switch {
	case op.Sync == nil:
		return "the operation has no sync: nothing to do"
	case len(op.Sync.Manifests) > 0 && !op.Sync.DryRun && app.Spec.AutomatedEnabled():
		return "local manifests cannot be synced while automated sync is on, which would undo them: switch it off, or make it a dry run"
	}
	return ""
}

// refuseRollback says why a person's operation is not carried out where rollbacks do
// not pin: automation would undo it at once. Empty if it leads to what the target
// revision comes to.
func (s *session) refuseRollback(op v1alpha1.Operation, desired *pipeline.Desired) string {
	if op.InitiatedBy.Automated || op.Sync.DryRun || !s.app.Spec.AutomatedEnabled() || !s.ownOptions().Has(noPin) ||
		s.st.head == nil || s.release(desired) == s.release(s.st.head) {
		return ""
	}
	return fmt.Sprintf("cannot sync to %s: automated sync is on and keeps to %s (RollbackPin=false): switch it off before",
		strings.Join(desired.Revisions, ", "), strings.Join(s.st.head.Revisions, ", "))
}

// requested returns what an operation asks for: its own manifests, its own
// sources and revisions, or what the spec names now. It is nil if that is not
// known.
func (s *session) requested(ctx context.Context, op v1alpha1.Operation) (*pipeline.Desired, error) {
	sync := op.Sync
	switch {
	case len(sync.Manifests) > 0:
		return s.handed(sync.Manifests)
	case sync.Revision == "" && sync.Source == nil && len(sync.Sources) == 0 && len(sync.Revisions) == 0:
		// A person who names no revision means the target revision, whatever
		// automation keeps to.
		return s.st.head, nil
	}
	req, err := s.renderRequest(ctx)
	if err != nil {
		return nil, err
	}
	s.applySources(&req, op)
	return s.render(ctx, req)
}

// begun returns what an operation began to roll out, at the revisions that
// its record names.
func (s *session) begun(ctx context.Context, op v1alpha1.Operation, revisions []string) (*pipeline.Desired, error) {
	if op.Sync != nil && len(op.Sync.Manifests) > 0 {
		return s.handed(op.Sync.Manifests)
	}
	req, err := s.renderRequest(ctx)
	if err != nil {
		return nil, err
	}
	s.applySources(&req, op)
	return s.rendered(ctx, req, revisions)
}

// handed reads the manifests that an operation brings along. They come from
// somebody's disk, so no revision stands for them.
func (s *session) handed(texts []string) (*pipeline.Desired, error) {
	sources := s.app.Spec.EffectiveSources()
	if len(sources) == 0 {
		return nil, pipeline.ErrNoSources
	}
	if err := s.refuseUnsigned(); err != nil {
		return nil, err
	}
	var handed []manifest.Object
	for i, text := range texts {
		objects, err := manifest.Decode(fmt.Sprintf("local manifest %d", i+1), []byte(text))
		if err != nil {
			return nil, err
		}
		handed = append(handed, objects...)
	}
	return pipeline.NewDesired(make([]string, len(sources)), handed), nil
}

// partial tells whether an operation leaves something out, so that its end is no
// release.
func partial(op v1alpha1.Operation) bool {
	return requestedKeys(op) != nil || len(op.Sync.Manifests) > 0
}

// operationSources are the sources that an operation rolls out: its own, else the
// spec's.
func operationSources(app *v1alpha1.Application, op v1alpha1.Operation) []v1alpha1.ApplicationSource {
	switch {
	case op.Sync != nil && len(op.Sync.Sources) > 0:
		return op.Sync.Sources
	case op.Sync != nil && op.Sync.Source != nil:
		return []v1alpha1.ApplicationSource{*op.Sync.Source}
	}
	return app.Spec.EffectiveSources()
}

// applySources puts an operation's own sources and revisions in the place of the
// spec's.
func (s *session) applySources(req *pipeline.Request, op v1alpha1.Operation) {
	if op.Sync == nil {
		return
	}
	req.Sources = operationSources(s.app, op)
	revisions := op.Sync.Revisions
	if len(revisions) == 0 && op.Sync.Revision != "" {
		revisions = []string{op.Sync.Revision}
	}
	req.Sources = slices.Clone(req.Sources)
	for i := range min(len(revisions), len(req.Sources)) {
		if revisions[i] != "" {
			req.Sources[i].TargetRevision = revisions[i]
		}
	}
}

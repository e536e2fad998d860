// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/plan/saved"
)

// InfoPlan is the entry of an operation's info that holds the plan that it is to
// carry out, as saved.Plan encodes it. If the world has moved since that plan was
// made, the operation fails before it writes anything.
const InfoPlan = "wavetrain.dev/plan"

// PlanRefused begins the message of an operation whose plan no longer holds.
const PlanRefused = "the plan no longer holds, nothing was changed: "

// maxDifferences is how many differences a message has room for.
const maxDifferences = 12

// savedPlan is what the plan of a comparison is once it is written down. Spec is
// the Application as it stands in the cluster.
func (s *session) savedPlan(spec *v1alpha1.Application, desired *pipeline.Desired, c *pipeline.Comparison) (saved.Plan, error) {
	render, err := desired.Stable()
	if err != nil {
		return saved.Plan{}, err
	}
	data, err := json.Marshal(spec.Spec)
	if err != nil {
		return saved.Plan{}, fmt.Errorf("read the spec of %s: %w", nameOf(spec), err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return saved.Plan{}, fmt.Errorf("read the spec of %s: %w", nameOf(spec), err)
	}
	annotations := map[string]string{}
	for _, name := range []string{v1alpha1.AnnotationHelmLifecycle, manifest.AnnotationWavetrainOptions} {
		if value, ok := spec.Annotations[name]; ok {
			annotations[name] = value
		}
	}
	return saved.Plan{
		Version: saved.Version, App: nameOf(spec).String(), UID: string(spec.UID), Server: s.dest.Server,
		Namespace: spec.Spec.Destination.Namespace, Revisions: desired.Revisions, Render: render,
		Spec:  saved.SpecOf(fields, annotations),
		Steps: saved.Steps(c.Plan, func(k manifest.Key) []diff.Change { return c.Verdicts[k].Changes }),
	}, nil
}

// refuseMoved says why an operation is not begun that is to carry out a certain plan;
// nothing if it has none, or if that is the plan now.
func (s *session) refuseMoved(op v1alpha1.Operation, desired *pipeline.Desired, c *pipeline.Comparison) string {
	text := infoValue(op, InfoPlan)
	if text == "" {
		return ""
	}
	planned, err := saved.Decode(text)
	if err != nil {
		return PlanRefused + err.Error()
	}
	if name := nameOf(s.app).String(); planned.App != name {
		return fmt.Sprintf("%sit is the plan of %s, not of %s", PlanRefused, planned.App, name)
	}
	now, err := s.savedPlan(s.app, desired, c)
	if err != nil {
		return PlanRefused + err.Error()
	}
	differences := planned.Differences(now)
	if len(differences) == 0 {
		return ""
	}
	if over := len(differences) - maxDifferences; over > 0 {
		differences = append(differences[:maxDifferences:maxDifferences], fmt.Sprintf("and %d more differences", over))
	}
	return PlanRefused + strings.Join(differences, "; ")
}

// begunBefore tells whether the record holds this attempt as one that may have
// written something: then what it finds is its own work.
func (s *session) begunBefore(id string, attempt int) bool {
	rec := s.st.memory.Operation
	return attempt > 1 || rec != nil && rec.Operation == id && rec.Attempt == attempt && rec.Checked
}

// asPlanned returns what tells, right before the first write of an operation with a
// plan, whether an object has been changed since the comparison. It is nil for an
// operation without one.
func (s *session) asPlanned(op v1alpha1.Operation, c *pipeline.Comparison) func() string {
	if infoValue(op, InfoPlan) == "" {
		return nil
	}
	dest := s.dest
	look := func(key manifest.Key) uint64 {
		live, owners, ok := dest.GetOwned(key)
		if !ok {
			return 0
		}
		return diff.Fingerprint(live, owners, live.GetUID())
	}
	seen := map[manifest.Key]uint64{}
	for _, g := range c.Plan.Groups {
		for _, step := range g.Steps {
			// Missing namespaces are made before the steps are tried.
			if step.Key.Name != "" && step.Action != plan.Hook && step.Key.Kind != "Namespace" {
				seen[step.Key] = look(step.Key)
			}
		}
	}
	return func() string {
		var changed []string
		for key, mark := range seen {
			if look(key) != mark {
				changed = append(changed, key.Short())
			}
		}
		if len(changed) == 0 {
			return ""
		}
		slices.Sort(changed)
		return PlanRefused + "changed on the cluster while the plan was checked: " + strings.Join(changed[:min(len(changed), maxDifferences)], ", ")
	}
}

// withBriefPlan leaves of the plan of an operation that has ended only its id.
func withBriefPlan(op v1alpha1.Operation) v1alpha1.Operation {
	op.Info = slices.Clone(op.Info)
	for i := range op.Info {
		if op.Info[i].Name == InfoPlan {
			op.Info[i].Value = saved.Brief(op.Info[i].Value)
		}
	}
	return op
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// automatedOperation is the request that the sync policy makes.
func (s *session) automatedOperation(only []manifest.Key) v1alpha1.Operation {
	sync := &v1alpha1.SyncOperation{Prune: s.app.Spec.AutomatedPrune(), SyncOptions: s.app.Spec.SyncOptionList()}
	if s.app.Spec.MultipleSources() {
		sync.Revisions = s.st.desired.Revisions
	} else {
		sync.Revision = s.st.desired.Revisions[0]
	}
	if p := s.pinned(s.st.head); p != nil {
		sync.Sources = p.Sources
		if !s.app.Spec.MultipleSources() {
			sync.Source, sync.Sources = &p.Sources[0], nil
		}
	}
	for _, key := range only {
		sync.Resources = append(sync.Resources, v1alpha1.SyncOperationResource{
			Group: key.Group, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name,
		})
	}
	if only != nil {
		sync.AutoHealAttemptsCount = int64(s.st.healing.most() + 1)
	}
	return v1alpha1.Operation{
		Sync: sync, InitiatedBy: v1alpha1.OperationInitiator{Automated: true}, Retry: s.app.Spec.AutomatedRetry(),
	}
}

// plainOperation is a sync of everything as the spec has it: what the status is
// made in view of.
func (s *session) plainOperation() v1alpha1.Operation {
	return v1alpha1.Operation{
		Sync:        &v1alpha1.SyncOperation{Prune: s.app.Spec.AutomatedPrune(), SyncOptions: s.app.Spec.SyncOptionList()},
		InitiatedBy: v1alpha1.OperationInitiator{Automated: s.app.Spec.AutomatedEnabled()},
	}
}

// operationOptions translates an operation into the plan's options.
func (s *session) operationOptions(op v1alpha1.Operation) plan.Options {
	app := s.app
	opts := pipeline.PlanOptions(app, op.Sync.SyncOptions)
	opts.Prune = op.Sync.Prune
	opts.PruneGuard = op.InitiatedBy.Automated && !s.ownOptions().Has("PruneGuard=false")
	opts.CreateNamespace = opts.CreateNamespace && s.seesNamespaces()
	opts.SkipHooks = op.Sync.SyncStrategy != nil && op.Sync.SyncStrategy.Apply != nil
	opts.Only = requestedKeys(op)
	opts.FirstSync = s.st.memory.Released == nil && len(app.Status.History) == 0 && !s.dest.AnyTracked(s.instance) && len(s.dest.Labelled(s.instance)) == 0
	return opts
}

// noSupersede is the option by which an automated operation is carried out to its end
// whatever is committed meanwhile.
const noSupersede = "Supersede=false"

// ownOptions are the options of the Application that Argo CD does not know.
func (s *session) ownOptions() manifest.OptionSet {
	return manifest.ParseOptions(s.app.Annotations[manifest.AnnotationWavetrainOptions])
}

// requestedKeys are the objects that an operation is limited to; nil means all.
func requestedKeys(op v1alpha1.Operation) []manifest.Key {
	if op.Sync == nil || len(op.Sync.Resources) == 0 {
		return nil
	}
	keys := make([]manifest.Key, len(op.Sync.Resources))
	for i, r := range op.Sync.Resources {
		keys[i] = manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
	}
	return keys
}

// writePolicy is how the operation has objects written. A forced one may delete
// and recreate what cannot be changed in place.
func (s *session) writePolicy(op v1alpha1.Operation) cluster.Policy {
	policy := cluster.PolicyOf(manifest.ParseOptions(op.Sync.SyncOptions...))
	strategy := op.Sync.SyncStrategy
	policy.Force = strategy != nil && (strategy.Apply != nil && strategy.Apply.Force || strategy.Hook != nil && strategy.Hook.Force)
	policy.Status = s.settings.Compare.Status
	return policy
}

// respected are the rules that an operation heeds when it writes: those of the
// comparison that it was planned with, or nil if it writes everything.
func respected(op v1alpha1.Operation, c *pipeline.Comparison) *diff.Options {
	if !manifest.ParseOptions(op.Sync.SyncOptions...).Has("RespectIgnoreDifferences=true") {
		return nil
	}
	return &c.Options
}

// operationPropagation is how prunes reach the objects below; foreground unless
// told otherwise.
func operationPropagation(op v1alpha1.Operation) metav1.DeletionPropagation {
	value, _ := manifest.ParseOptions(op.Sync.SyncOptions...).Value("PrunePropagationPolicy")
	switch strings.ToLower(value) {
	case "background":
		return metav1.DeletePropagationBackground
	case "orphan":
		return metav1.DeletePropagationOrphan
	default:
		return metav1.DeletePropagationForeground
	}
}

// hasHooks tells whether a rollout of the plan runs hooks.
func hasHooks(p *plan.Plan) bool {
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			if step.Action == plan.Hook {
				return true
			}
		}
	}
	return false
}

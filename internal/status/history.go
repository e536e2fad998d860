// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// AddHistory appends a sync that ended well to the history and keeps the newest
// entries, limit of them. The caller decides which operations belong there.
func AddHistory(history []v1alpha1.RevisionHistory, state *v1alpha1.OperationState, limit int) []v1alpha1.RevisionHistory {
	entry := v1alpha1.RevisionHistory{InitiatedBy: state.Operation.InitiatedBy}
	if len(history) > 0 {
		entry.ID = history[len(history)-1].ID + 1
	}
	if state.FinishedAt != nil {
		entry.DeployedAt = *state.FinishedAt
	}
	if !state.StartedAt.IsZero() {
		started := state.StartedAt
		entry.DeployStartedAt = &started
	}
	if r := state.SyncResult; r != nil {
		entry.Revision, entry.Revisions, entry.Source, entry.Sources = r.Revision, r.Revisions, r.Source, r.Sources
	}
	history = append(slices.Clone(history), entry)
	return history[max(0, len(history)-limit):]
}

// Evaluated returns the types of conditions that every comparison decides anew.
func Evaluated() []v1alpha1.ConditionType {
	return []v1alpha1.ConditionType{
		v1alpha1.ConditionInvalidSpecError, v1alpha1.ConditionComparisonError, v1alpha1.ConditionUnknownError,
		v1alpha1.ConditionSharedResourceWarning, v1alpha1.ConditionRepeatedResourceWarning,
		v1alpha1.ConditionExcludedResourceWarning, v1alpha1.ConditionOrphanedResourceWarning, v1alpha1.ConditionSyncOptionWarning,
		ConditionResultsTruncatedWarning, ConditionExtraneousResourceWarning,
	}
}

// Conditions replaces the conditions of the types that were evaluated by those
// that were found, and leaves the others alone. A condition that says the same as
// before keeps its time.
func Conditions(before []v1alpha1.ApplicationCondition, evaluated []v1alpha1.ConditionType, found []v1alpha1.ApplicationCondition, now time.Time) []v1alpha1.ApplicationCondition {
	var after []v1alpha1.ApplicationCondition
	for _, c := range before {
		if !slices.Contains(evaluated, c.Type) {
			after = append(after, c)
		}
	}
	at := metav1.NewTime(now)
	for _, c := range found {
		if !slices.Contains(evaluated, c.Type) || slices.ContainsFunc(after, func(o v1alpha1.ApplicationCondition) bool { return same(c, o) }) {
			continue
		}
		c.LastTransitionTime = &at
		if i := slices.IndexFunc(before, func(o v1alpha1.ApplicationCondition) bool { return same(c, o) }); i >= 0 && before[i].LastTransitionTime != nil {
			c.LastTransitionTime = before[i].LastTransitionTime
		}
		after = append(after, c)
	}
	slices.SortStableFunc(after, func(a, b v1alpha1.ApplicationCondition) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Message, b.Message))
	})
	return after
}

func same(a, b v1alpha1.ApplicationCondition) bool { return a.Type == b.Type && a.Message == b.Message }

// PlanConditions returns the conditions that findings of a plan become before
// anybody syncs. The others end the operation that meets them.
func PlanConditions(p *plan.Plan) []v1alpha1.ApplicationCondition {
	var list []v1alpha1.ApplicationCondition
	for _, f := range p.Findings {
		switch f.Code {
		case plan.CodeNamespaceMissing:
			list = append(list, v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionInvalidSpecError, Message: f.Message})
		case plan.CodeExtraneousNotOurs:
			list = append(list, v1alpha1.ApplicationCondition{Type: ConditionExtraneousResourceWarning, Message: withHint(f)})
		case plan.CodeExcludedKind:
			list = append(list, v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionExcludedResourceWarning, Message: f.Message})
		case plan.CodeUnknownOption:
			list = append(list, v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionSyncOptionWarning, Message: f.Message})
		case plan.CodeDuplicateConflict:
			list = append(list, v1alpha1.ApplicationCondition{Type: v1alpha1.ConditionRepeatedResourceWarning, Message: withHint(f)})
		}
	}
	return list
}

func withHint(f diag.Diagnostic) string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + ": " + f.Hint
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// MaxResults is how many results an Application can carry beside its rows: with
// more, an application of thousands of objects is refused by the API server.
const MaxResults = 1000

// ConditionResultsTruncatedWarning says that results were left out.
const ConditionResultsTruncatedWarning v1alpha1.ConditionType = "ResultsTruncatedWarning"

// ConditionExtraneousResourceWarning names objects that carry the application's
// label and are not known to be its own.
const ConditionExtraneousResourceWarning v1alpha1.ConditionType = "ExtraneousResourceWarning"

// Results turns the results of a rollout into rows of an operation's syncResult,
// in their order. Beyond limit, ordinary objects are left out: first those that
// were as they should be, then those that were changed. Hooks, failures and
// prunes always stay. dropped counts what was left out.
func Results(p *plan.Plan, results []machine.StepResult, limit int) (rows []v1alpha1.ResourceResult, dropped int) {
	kept := results
	for _, expendable := range []func(machine.StepResult) bool{
		func(r machine.StepResult) bool { return routine(r) && !r.Changed },
		routine,
	} {
		over := len(kept) - limit
		if over <= 0 {
			break
		}
		kept = dropLast(kept, over, expendable)
	}
	images := imagesOf(p)
	rows = make([]v1alpha1.ResourceResult, 0, len(kept))
	for _, r := range kept {
		rows = append(rows, v1alpha1.ResourceResult{
			Group: r.Key.Group, Version: r.Version, Kind: r.Key.Kind, Namespace: r.Key.Namespace, Name: r.Key.Name,
			Status: v1alpha1.ResultCode(r.Status), Message: r.Message, HookType: string(r.HookType),
			HookPhase: v1alpha1.OperationPhase(r.HookPhase), SyncPhase: string(r.SyncPhase), Images: images[r.Key],
		})
	}
	return rows, len(results) - len(rows)
}

// routine reports whether a result tells nothing that a row of the application
// does not tell: an ordinary object was applied.
func routine(r machine.StepResult) bool {
	return r.HookType == "" && r.Status == machine.Synced && r.HookPhase != string(machine.PhaseFailed)
}

// dropLast removes the last n results that are expendable, or as many as there
// are.
func dropLast(results []machine.StepResult, n int, expendable func(machine.StepResult) bool) []machine.StepResult {
	kept := make([]machine.StepResult, 0, len(results))
	for _, r := range slices.Backward(results) {
		if n > 0 && expendable(r) {
			n--
			continue
		}
		kept = append(kept, r)
	}
	slices.Reverse(kept)
	return kept
}

func imagesOf(p *plan.Plan) map[manifest.Key][]string {
	images := map[manifest.Key][]string{}
	for _, g := range p.Groups {
		for _, s := range g.Steps {
			if s.Object == nil || s.Action == plan.Prune || s.Action == plan.SkipPrune {
				continue
			}
			if list := Images(s.Object.Unstructured); list != nil {
				images[s.Key] = list
			}
		}
	}
	return images
}

// Truncated is the condition for dropped results; ok is false if there are none.
func Truncated(dropped int) (condition v1alpha1.ApplicationCondition, ok bool) {
	return v1alpha1.ApplicationCondition{
		Type: ConditionResultsTruncatedWarning,
		Message: fmt.Sprintf("the last operation's result leaves out %d objects that were applied without incident; all of them are in the application's ReleaseRecord",
			dropped),
	}, dropped > 0
}

// Retrying is the message of an operation that waits for its next attempt.
func Retrying(message string, attempt int64, at time.Time) string {
	return fmt.Sprintf("%s. Retrying attempt #%d at %s.", strings.TrimSuffix(message, "."), attempt, at.Format(time.TimeOnly))
}

// Retried is the final message of an operation that needed further attempts.
func Retried(message string, retries int64) string {
	if retries == 0 {
		return message
	}
	return fmt.Sprintf("%s (retried %d times).", strings.TrimSuffix(message, "."), retries)
}

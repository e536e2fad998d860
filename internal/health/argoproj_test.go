// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestApplicationSet(t *testing.T) {
	with := func(conditions string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: all}, status: {conditions: [" + conditions + "]}}"
	}
	run(t, map[string]verdict{
		"new":        {reason: "nothing is reported", object: with(""), want: Progressing},
		"generated":  {reason: "all Applications are as they should be", object: with(`{type: ErrorOccurred, status: "False"}, {type: ResourcesUpToDate, status: "True", reason: ApplicationSetUpToDate}`), want: Healthy},
		"error":      {reason: "the error outweighs the rest", object: with(`{type: ResourcesUpToDate, status: "True"}, {type: ErrorOccurred, status: "True", message: no such repository}`), want: Degraded, says: "no such repository"},
		"not so":     {reason: "an Application could not be written", object: with(`{type: ResourcesUpToDate, status: "False", reason: UpdateApplicationError}`), want: Degraded},
		"rolls over": {reason: "step after step", object: with(`{type: RolloutProgressing, status: "True", reason: ApplicationSetModified}, {type: ResourcesUpToDate, status: "True"}`), want: Progressing},
	})
}

func TestWorkflow(t *testing.T) {
	with := func(status string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: w}, status: {" + status + "}}"
	}
	run(t, map[string]verdict{
		"new":     {reason: "not started", object: with(""), want: Progressing},
		"runs":    {reason: "the end decides", object: with("phase: Running"), want: Progressing},
		"done":    {reason: "it ended well", object: with("phase: Succeeded"), want: Healthy},
		"failed":  {reason: "a step failed", object: with("phase: Failed, message: step 2 failed"), want: Degraded, says: "step 2"},
		"error":   {reason: "it could not run", object: with("phase: Error"), want: Degraded},
		"strange": {reason: "its meaning is not known", object: with("phase: Dreaming"), want: Unknown, says: "Dreaming"},
	})
}

func TestRollout(t *testing.T) {
	with := func(meta, spec, status string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: api, generation: 4" + meta + "}, spec: {replicas: 2" + spec + "}, status: {" + status + "}}"
	}
	workload := ", workloadRef: {kind: Deployment, name: api}"
	annotated := `, annotations: {rollout.argoproj.io/workload-generation: "7"}`
	run(t, map[string]verdict{
		"new":             {reason: "not seen", object: with("", "", ""), want: Progressing, because: "GenerationNotObserved"},
		"behind":          {reason: "the generation is text here", object: with("", "", `observedGeneration: "3", phase: Healthy`), want: Progressing, because: "GenerationNotObserved"},
		"healthy":         {reason: "the phase is passed on", object: with("", "", `observedGeneration: "4", phase: Healthy`), want: Healthy},
		"paused":          {reason: "Paused is called Suspended here", object: with("", "", `observedGeneration: "4", phase: Paused, message: CanaryPauseStep`), want: Suspended, says: "CanaryPauseStep"},
		"degraded":        {reason: "the phase is passed on with its message", object: with("", "", `observedGeneration: "4", phase: Degraded, message: RolloutAborted`), want: Degraded, says: "RolloutAborted"},
		"strange":         {reason: "its meaning is not known", object: with("", "", `observedGeneration: "4", phase: Dreaming`), want: Unknown},
		"workload behind": {reason: "the Deployment it refers to has changed", object: with(annotated, workload, `observedGeneration: "4", workloadObservedGeneration: "6", phase: Healthy`), want: Progressing},
		"workload seen":   {reason: "both are observed", object: with(annotated, workload, `observedGeneration: "4", workloadObservedGeneration: "7", phase: Healthy`), want: Healthy},

		"old, hash":     {reason: "controllers without phases wrote a hash, which is trusted", object: with("", "", "observedGeneration: 5f8c9d, replicas: 2, updatedReplicas: 2, availableReplicas: 2"), want: Healthy},
		"old, starting": {reason: "by counts", object: with("", "", `observedGeneration: "4", replicas: 2, updatedReplicas: 2, availableReplicas: 1`), want: Progressing, says: "1 of 2"},
		"old, updating": {reason: "by counts", object: with("", "", `observedGeneration: "4", replicas: 2, updatedReplicas: 1`), want: Progressing, because: "ReplicasNotUpdated"},
		"old, leaving":  {reason: "by counts", object: with("", "", `observedGeneration: "4", replicas: 3, updatedReplicas: 2, availableReplicas: 2`), want: Progressing, because: "OldReplicasRemain"},
		"old, paused":   {reason: "by its pause", object: with("", "", `observedGeneration: "4", pauseConditions: [{reason: CanaryPauseStep}]`), want: Suspended},
		"old, aborted":  {reason: "by the flag", object: with("", "", `observedGeneration: "4", abort: true`), want: Degraded},
		"old, invalid":  {reason: "by the condition", object: with("", "", `observedGeneration: "4", conditions: [{type: InvalidSpec, status: "True", message: selector is missing}]`), want: Degraded, says: "selector is missing"},
	})
}

func applicationYAML(meta, policy, status string) string {
	return `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: core, namespace: argocd` + meta + `}
spec:
  project: default
  source: {repoURL: https://git.example.com/shop.git, path: core, targetRevision: main, helm: {valuesObject: {b: 1, a: 2}}}
  destination: {name: in-cluster, namespace: core}
  syncPolicy: {` + policy + `}
status:
  ` + status
}

const compared = `comparedTo: {source: {repoURL: https://git.example.com/shop.git, path: core, targetRevision: main, helm: {valuesObject: {a: 2, b: 1}}}, destination: {name: in-cluster, namespace: core}}`

func TestApplication(t *testing.T) {
	automated := "automated: {}"
	synced := "sync: {status: Synced, revision: c0ffee, " + compared + "}\n  "
	run(t, map[string]verdict{
		"new": {
			reason: "nobody has looked at it",
			object: applicationYAML("", automated, "summary: {}"),
			want:   Progressing, because: "NotCompared",
		},
		"synced and healthy": {
			reason: "nothing is left to do",
			object: applicationYAML("", automated, synced+"health: {status: Healthy}\n  operationState: {phase: Succeeded, startedAt: 2026-01-01T00:00:00Z, operation: {}}"),
			want:   Healthy,
		},
		"never synced by an operation": {
			reason: "an Application that was found as it should be is done",
			object: applicationYAML("", automated, synced+"health: {status: Healthy}"),
			want:   Healthy,
		},
		"its spec has changed": {
			reason: "the comparison is about the former path; generations say nothing here",
			object: applicationYAML("", automated, "sync: {status: Synced, comparedTo: {source: {repoURL: https://git.example.com/shop.git, path: former, targetRevision: main}, destination: {name: in-cluster, namespace: core}}}\n  health: {status: Healthy}"),
			want:   Progressing, because: "NotCompared",
		},
		"asked to sync": {
			reason: "the request is about to be taken up",
			object: applicationYAML("", automated, synced+"health: {status: Healthy}") + "\noperation: {sync: {revision: c0ffee}}",
			want:   Progressing, because: "OperationRequested",
		},
		"syncs": {
			reason: "the operation's message says how far it is",
			object: applicationYAML("", automated, synced+"health: {status: Healthy}\n  operationState: {phase: Running, message: wave 2 of 5, startedAt: 2026-01-01T00:00:00Z, operation: {}}"),
			want:   Progressing, because: "OperationRunning", says: "wave 2 of 5",
		},
		"the sync failed": {
			reason: "it will not get there by itself",
			object: applicationYAML("", automated, "sync: {status: OutOfSync, "+compared+"}\n  health: {status: Healthy}\n  operationState: {phase: Failed, message: hook migrate failed, startedAt: 2026-01-01T00:00:00Z, operation: {}}"),
			want:   Degraded, because: "OperationFailed", says: "hook migrate failed",
		},
		"an earlier sync failed": {
			reason: "the failure was about another revision than the one it is synced to",
			object: applicationYAML("", automated, synced+"health: {status: Healthy}\n  operationState: {phase: Failed, startedAt: 2026-01-01T00:00:00Z, operation: {}, syncResult: {revision: bad}}"),
			want:   Healthy,
		},
		"waits for its sync": {
			reason: "automation will take it up",
			object: applicationYAML("", automated, "sync: {status: OutOfSync, "+compared+"}\n  health: {status: Missing}"),
			want:   Progressing, because: "OutOfSync",
		},
		"synced, starting": {
			reason: "its own health is passed on",
			object: applicationYAML("", automated, synced+"health: {status: Progressing, message: 'Caused by apps/Deployment:core/api'}"),
			want:   Progressing, says: "apps/Deployment:core/api",
		},
		"synced, nothing there": {
			reason: "Missing is passed on, whoever adds up leaves it out",
			object: applicationYAML("", automated, synced+"health: {status: Missing}"),
			want:   Missing,
		},
		"cannot be compared": {
			reason: "its condition says why",
			object: applicationYAML("", automated, "sync: {status: Unknown, "+compared+"}\n  health: {status: Healthy}\n  conditions: [{type: ComparisonError, message: path core does not exist}]"),
			want:   Unknown, says: "path core does not exist",
		},
		"by hand, behind": {
			reason: "its own health counts; nobody waits for a sync that only a person starts",
			object: applicationYAML("", "", "sync: {status: OutOfSync, "+compared+"}\n  health: {status: Healthy}"),
			want:   Healthy,
		},
		"by hand, not well": {
			reason: "shown as it is, waited for by nobody",
			object: applicationYAML("", "", "sync: {status: OutOfSync, "+compared+"}\n  health: {status: Missing}"),
			want:   Missing, says: "synced by hand", byDesign: true,
		},
		"switched off": {
			reason: "automation can be there and disabled",
			object: applicationYAML("", "automated: {enabled: false}", "summary: {}"),
			want:   Progressing, says: "synced by hand", byDesign: true,
		},
		"frozen": {
			reason: "its owner stopped it",
			object: applicationYAML(`, annotations: {argocd.argoproj.io/skip-reconcile: "true"}`, automated, "summary: {}"),
			want:   Progressing, says: "frozen", byDesign: true,
		},
		"frozen for others": {
			reason: "a handed-over Application is frozen for Argo CD alone",
			object: applicationYAML(`, annotations: {argocd.argoproj.io/skip-reconcile: "true", wavetrain.dev/adopted: "2026-01-01"}`, automated, "summary: {}"),
			want:   Progressing, because: "NotCompared",
		},
		"out of the order": {
			reason: "its owner took it out",
			object: applicationYAML(`, annotations: {wavetrain.dev/sync-options: "GateTimeout=5m, ReleaseOrder=false"}`, automated, "summary: {}"),
			want:   Progressing, says: "out of the release order", byDesign: true,
		},
		"unreadable": {
			reason: "a field of the wrong type cannot be judged",
			object: "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: core}, spec: {source: [1]}}",
			want:   Unknown, because: "Unreadable",
		},
	})
}

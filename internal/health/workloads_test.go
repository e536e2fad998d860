// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func deploymentYAML(meta, status string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop, ` + meta + `}
spec: {replicas: 3}
status: {` + status + `}`
}

func TestDeployment(t *testing.T) {
	run(t, map[string]verdict{
		"paused": {
			reason: "nobody may wait for what its owner stopped",
			object: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, generation: 2}, spec: {paused: true}}",
			want:   Suspended,
		},
		"no status yet": {
			reason: "the controller has not seen the object",
			object: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, generation: 1}, spec: {replicas: 0}}",
			want:   Progressing, because: "GenerationNotObserved",
		},
		"healthy at the generation before": {
			reason: "all counts are those of the former Pods",
			object: deploymentYAML("generation: 5", "observedGeneration: 4, replicas: 3, updatedReplicas: 3, availableReplicas: 3"),
			want:   Progressing, because: "GenerationNotObserved", says: "generation 5",
		},
		"deadline exceeded": {
			reason: "the controller itself has given up",
			object: deploymentYAML("generation: 4", `observedGeneration: 4, replicas: 4, updatedReplicas: 1, availableReplicas: 3,
  conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: ReplicaSet "api-7d9" has timed out progressing.}]`),
			want: Degraded, because: "ProgressDeadlineExceeded", says: `ReplicaSet "api-7d9" has timed out`,
		},
		"some are old": {
			reason: "updated replicas are fewer than wanted",
			object: deploymentYAML("generation: 4", "observedGeneration: 4, replicas: 4, updatedReplicas: 1, availableReplicas: 3"),
			want:   Progressing, because: "ReplicasNotUpdated", says: "1 of 3 replicas",
		},
		"Pods are refused": {
			reason: "the quota's words explain why the count does not rise",
			object: deploymentYAML("generation: 4", `observedGeneration: 4, replicas: 0,
  conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: 'pods "api-1" is forbidden: exceeded quota: compute'}]`),
			want: Progressing, because: "ReplicasNotUpdated", says: "exceeded quota: compute",
		},
		"the last old one goes": {
			reason: "more replicas exist than are updated",
			object: deploymentYAML("generation: 4", "observedGeneration: 4, replicas: 4, updatedReplicas: 3, availableReplicas: 3"),
			want:   Progressing, because: "OldReplicasRemain", says: "1 old replica is",
		},
		"not all available": {
			reason: "an updated replica does not pass its readiness probe",
			object: deploymentYAML("generation: 4", "observedGeneration: 4, replicas: 3, updatedReplicas: 3, availableReplicas: 2"),
			want:   Progressing, because: "ReplicasNotAvailable", says: "2 of 3",
		},
		"rolled out": {
			reason: "all replicas are of this generation and available",
			object: deploymentYAML("generation: 4", "observedGeneration: 4, replicas: 3, updatedReplicas: 3, availableReplicas: 3"),
			want:   Healthy, says: "3 of 3",
		},
		"scaled to nothing": {
			reason: "no replica is wanted and none is there",
			object: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1}}`,
			want:   Healthy,
		},
	})
}

func statefulSetYAML(strategy, status string) string {
	return `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: redis, generation: 2}
spec: {replicas: 3, updateStrategy: {` + strategy + `}}
status: {` + status + `}`
}

func TestStatefulSet(t *testing.T) {
	rolling := "type: RollingUpdate, rollingUpdate: {partition: 0}"
	run(t, map[string]verdict{
		"never seen": {
			reason: "observed generation 0 means nothing was observed",
			object: statefulSetYAML(rolling, "replicas: 0"),
			want:   Progressing, because: "GenerationNotObserved",
		},
		"seen before the change": {
			reason: "the status is about the former spec",
			object: statefulSetYAML(rolling, "observedGeneration: 1, readyReplicas: 3, updatedReplicas: 3"),
			want:   Progressing, because: "GenerationNotObserved",
		},
		"not ready": {
			reason: "two of three answer",
			object: statefulSetYAML(rolling, "observedGeneration: 2, readyReplicas: 2, updatedReplicas: 3"),
			want:   Progressing, because: "ReplicasNotReady", says: "2 of 3",
		},
		"ready but old": {
			reason: "all answer, one of them with the former template",
			object: statefulSetYAML(rolling, "observedGeneration: 2, readyReplicas: 3, updatedReplicas: 2"),
			want:   Progressing, because: "ReplicasNotUpdated", says: "2 of 3",
		},
		"partition reached": {
			reason: "only replicas from the partition on are to be updated",
			object: statefulSetYAML("type: RollingUpdate, rollingUpdate: {partition: 2}", "observedGeneration: 2, readyReplicas: 3, updatedReplicas: 1"),
			want:   Healthy,
		},
		"on delete": {
			reason: "updating is up to a person",
			object: statefulSetYAML("type: OnDelete", "observedGeneration: 2, readyReplicas: 3, currentRevision: a, updateRevision: b"),
			want:   Healthy, because: "OnDelete",
		},
		"revisions differ": {
			reason: "without a rolling update block the revisions tell",
			object: statefulSetYAML("type: RollingUpdate", "observedGeneration: 2, readyReplicas: 3, updatedReplicas: 1, currentRevision: redis-1, updateRevision: redis-2"),
			want:   Progressing, says: "1 of 3 replicas are updated to redis-2",
		},
		"rolled out": {
			reason: "ready, updated, one revision",
			object: statefulSetYAML("type: RollingUpdate", "observedGeneration: 2, readyReplicas: 3, updatedReplicas: 3, currentRevision: redis-2, updateRevision: redis-2"),
			want:   Healthy, because: "RolledOut",
		},
	})
}

func TestDaemonSet(t *testing.T) {
	with := func(strategy, status string) string {
		return `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, generation: 3}, spec: {updateStrategy: {type: ` + strategy + `}}, status: {` + status + `}}`
	}
	run(t, map[string]verdict{
		"behind": {
			reason: "the status is about the former spec",
			object: with("RollingUpdate", "observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2"),
			want:   Progressing, because: "GenerationNotObserved",
		},
		"on delete": {
			reason: "updating is up to a person",
			object: with("OnDelete", "observedGeneration: 3, desiredNumberScheduled: 2, updatedNumberScheduled: 0, numberAvailable: 2"),
			want:   Healthy, because: "OnDelete",
		},
		"not updated": {
			reason: "one node runs the former Pod",
			object: with("RollingUpdate", "observedGeneration: 3, desiredNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2"),
			want:   Progressing, because: "PodsNotUpdated", says: "1 of 2",
		},
		"not available": {
			reason: "one node's Pod is not available",
			object: with("RollingUpdate", "observedGeneration: 3, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1"),
			want:   Progressing, because: "PodsNotAvailable",
		},
		"no node wants it": {
			reason: "nothing is to be scheduled",
			object: with("RollingUpdate", "observedGeneration: 3, desiredNumberScheduled: 0"),
			want:   Healthy,
		},
	})
}

func TestReplicaSet(t *testing.T) {
	with := func(status string) string {
		return `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: api-1, generation: 1}, spec: {replicas: 2}, status: {` + status + `}}`
	}
	run(t, map[string]verdict{
		"behind": {reason: "not seen", object: with("observedGeneration: 0"), want: Progressing, because: "GenerationNotObserved"},
		"refused": {
			reason: "its Pods cannot be created",
			object: with(`observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: serviceaccount "api" not found}]`),
			want:   Degraded, because: "FailedCreate", says: `serviceaccount "api" not found`,
		},
		"starting":  {reason: "one is available", object: with("observedGeneration: 1, availableReplicas: 1"), want: Progressing, says: "1 of 2"},
		"available": {reason: "both are", object: with("observedGeneration: 1, availableReplicas: 2"), want: Healthy},
	})
}

func TestJob(t *testing.T) {
	with := func(spec, status string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {name: migrate}, spec: {` + spec + `}, status: {` + status + `}}`
	}
	run(t, map[string]verdict{
		"no status": {reason: "not started", object: with("", ""), want: Progressing, says: "0 of 1 completed"},
		"a Pod failed": {
			reason: "it may succeed at the next attempt; people see how many are left",
			object: with("backoffLimit: 2", "active: 1, failed: 1"),
			want:   Progressing, says: "1 active, 1 failed (backoff limit 2)",
		},
		"at its limit": {
			reason: "there will be no further attempt",
			object: with("backoffLimit: 2", `failed: 3, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]`),
			want:   Degraded, because: "BackoffLimitExceeded", says: "backoff limit",
		},
		"about to fail": {
			reason: "it is decided, but the Pods still run and the Job is not terminal",
			object: with("", `active: 1, conditions: [{type: FailureTarget, status: "True", reason: DeadlineExceeded, message: Job was active longer than specified deadline}]`),
			want:   Progressing, says: "longer than specified deadline",
		},
		"complete": {
			reason: "it ended well",
			object: with("completions: 2", `succeeded: 2, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]`),
			want:   Healthy, says: "2 of 2",
		},
		"suspended": {
			reason: "its owner stopped it",
			object: with("suspend: true", `conditions: [{type: Suspended, status: "True", reason: JobSuspended, message: Job suspended}]`),
			want:   Suspended, because: "JobSuspended",
		},
		"resumed": {
			reason: "the condition stays, with status False, while the Job runs",
			object: with("suspend: false", `active: 1, conditions: [{type: Suspended, status: "False", reason: JobResumed, message: Job resumed}]`),
			want:   Progressing, says: "1 active",
		},
		"failed condition taken back": {
			reason: "a condition counts by its status, not by its presence",
			object: with("", `active: 1, conditions: [{type: Failed, status: "False"}]`),
			want:   Progressing,
		},
	})
}

func TestCronJob(t *testing.T) {
	with := func(spec, status string) string {
		return `{apiVersion: batch/v1, kind: CronJob, metadata: {name: report}, spec: {` + spec + `}` + status + `}`
	}
	run(t, map[string]verdict{
		"suspended":       {reason: "a schedule switched off is no problem", object: with("suspend: true", ""), want: Healthy, because: "Suspended"},
		"no status":       {reason: "the controller has not seen it", object: with("", ""), want: Progressing},
		"never ran":       {reason: "its time has not come", object: with("", ", status: {}"), want: Healthy, because: "NeverSucceeded"},
		"runs":            {reason: "the outcome is open", object: with("", ", status: {active: [{name: report-1}], lastScheduleTime: 2026-03-01T02:00:00Z, lastSuccessfulTime: 2026-02-01T02:00:09Z}"), want: Healthy, because: "Active"},
		"the last failed": {reason: "the last success is older than the last start", object: with("", ", status: {lastScheduleTime: 2026-03-01T02:00:00Z, lastSuccessfulTime: 2026-02-01T02:00:09Z}"), want: Degraded, says: "2026-03-01T02:00:00Z"},
		"the last worked": {reason: "the last success belongs to the last start", object: with("", ", status: {lastScheduleTime: 2026-03-01T02:00:00Z, lastSuccessfulTime: 2026-03-01T02:00:09Z}"), want: Healthy, because: "Succeeded"},
	})
}

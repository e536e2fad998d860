// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
)

func appsRule(kind string) rule {
	switch kind {
	case "Deployment":
		return ofAppsV1(deployment)
	case "StatefulSet":
		return ofAppsV1(statefulSet)
	case "DaemonSet":
		return ofAppsV1(daemonSet)
	case "ReplicaSet":
		return ofAppsV1(replicaSet)
	}
	return nil
}

func ofAppsV1(judge rule) rule {
	return func(s subject) Result {
		if !s.versionIn("apps/v1") {
			return unsupported(s)
		}
		return judge(s)
	}
}

func deployment(s subject) Result {
	if s.spec.isTrue("paused") {
		return suspended("Paused", "the Deployment is paused")
	}
	if s.status.count("observedGeneration") < s.obj.GetGeneration() {
		return s.unobserved()
	}
	if c, ok := s.condition("Progressing"); ok && c.Reason == "ProgressDeadlineExceeded" {
		return degraded(c.Reason, s.withReplicaFailure(c.words()))
	}
	desired := s.spec.countOr(1, "replicas")
	total, updated, available := s.status.count("replicas"), s.status.count("updatedReplicas"), s.status.count("availableReplicas")
	switch {
	case updated < desired:
		return progressing("ReplicasNotUpdated", s.withReplicaFailure(fmt.Sprintf("%d of %d replicas are updated", updated, desired)))
	case total > updated:
		return progressing("OldReplicasRemain", old(total-updated)+" to be terminated")
	case available < updated:
		return progressing("ReplicasNotAvailable", s.withReplicaFailure(fmt.Sprintf("%d of %d replicas are available", available, updated)))
	}
	return healthy("Available", fmt.Sprintf("%d of %d replicas are available", available, desired))
}

func old(n int64) string {
	if n == 1 {
		return "1 old replica is"
	}
	return fmt.Sprintf("%d old replicas are", n)
}

// withReplicaFailure adds why Pods cannot be created. The verdict stays what the counts say: quota and admission may
// let the next attempt through.
func (s subject) withReplicaFailure(message string) string {
	if c, ok := s.condition("ReplicaFailure"); ok && c.isTrue() {
		return message + ": " + c.words()
	}
	return message
}

func statefulSet(s subject) Result {
	if seen := s.status.count("observedGeneration"); seen == 0 || seen < s.obj.GetGeneration() {
		return s.unobserved()
	}
	desired := s.spec.countOr(1, "replicas")
	ready, updated := s.status.count("readyReplicas"), s.status.count("updatedReplicas")
	if ready < desired {
		return progressing("ReplicasNotReady", fmt.Sprintf("%d of %d replicas are ready", ready, desired))
	}
	strategy := s.spec.sub("updateStrategy")
	if rolling := strategy.sub("rollingUpdate"); rolling != nil && strategy.text("type") == "RollingUpdate" {
		if want := desired - rolling.count("partition"); updated < want {
			return progressing("ReplicasNotUpdated", fmt.Sprintf("%d of %d replicas are updated", updated, want))
		}
		return healthy("RolledOut", fmt.Sprintf("%d of %d replicas are ready, %d updated", ready, desired, updated))
	}
	if strategy.text("type") == "OnDelete" {
		return healthy("OnDelete", fmt.Sprintf("%d of %d replicas are ready; Pods are updated when somebody deletes them", ready, desired))
	}
	if current, next := s.status.text("currentRevision"), s.status.text("updateRevision"); current != next {
		return progressing("ReplicasNotUpdated", fmt.Sprintf("%d of %d replicas are updated to %s", updated, desired, next))
	}
	return healthy("RolledOut", fmt.Sprintf("%d of %d replicas are ready", ready, desired))
}

func daemonSet(s subject) Result {
	if s.status.count("observedGeneration") < s.obj.GetGeneration() {
		return s.unobserved()
	}
	desired := s.status.count("desiredNumberScheduled")
	updated, available := s.status.count("updatedNumberScheduled"), s.status.count("numberAvailable")
	switch {
	case s.spec.text("updateStrategy", "type") == "OnDelete":
		return healthy("OnDelete", fmt.Sprintf("%d of %d Pods are available; they are updated when somebody deletes them", available, desired))
	case updated < desired:
		return progressing("PodsNotUpdated", fmt.Sprintf("%d of %d Pods are updated", updated, desired))
	case available < desired:
		return progressing("PodsNotAvailable", fmt.Sprintf("%d of %d Pods are available", available, desired))
	}
	return healthy("Available", fmt.Sprintf("%d of %d Pods are available", available, desired))
}

func replicaSet(s subject) Result {
	if s.status.count("observedGeneration") < s.obj.GetGeneration() {
		return s.unobserved()
	}
	if c, ok := s.condition("ReplicaFailure"); ok && c.isTrue() {
		return degraded(c.Reason, c.words())
	}
	desired, available := s.spec.countOr(1, "replicas"), s.status.count("availableReplicas")
	if available < desired {
		return progressing("ReplicasNotAvailable", fmt.Sprintf("%d of %d replicas are available", available, desired))
	}
	return healthy("Available", fmt.Sprintf("%d of %d replicas are available", available, desired))
}

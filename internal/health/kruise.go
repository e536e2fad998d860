// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import "fmt"

// kruiseRule covers OpenKruise: its workloads, its rollouts and its game servers.
func kruiseRule(group, kind string) rule {
	switch group + "/" + kind {
	case "apps.kruise.io/CloneSet":
		return cloneSet
	case "apps.kruise.io/StatefulSet":
		return kruiseUnlessPaused(statefulSet)
	case "apps.kruise.io/DaemonSet":
		return kruiseUnlessPaused(daemonSet)
	case "apps.kruise.io/BroadcastJob":
		return byPhase(phases{good: []string{"completed"}, bad: []string{"failed"}, paused: []string{"paused"}})
	case "apps.kruise.io/AdvancedCronJob":
		return advancedCronJob
	case "rollouts.kruise.io/Rollout":
		return kruiseRollout
	case "game.kruise.io/GameServer":
		return byPhase(phases{at: []string{"currentState"}, good: []string{"Ready"}, bad: []string{"Crash"}})
	case "game.kruise.io/GameServerSet":
		return gameServerSet
	}
	return nil
}

// kruiseUnlessPaused: these have the form of the kinds they are named after, and can be paused in the middle.
func kruiseUnlessPaused(judge rule) rule {
	return func(s subject) Result {
		if s.spec.isTrue("updateStrategy", "rollingUpdate", "paused") {
			return suspended("Paused", "its update strategy is paused")
		}
		return judge(s)
	}
}

// cloneSet updates as many Pods as its partition leaves; its controller works out how many that are.
func cloneSet(s subject) Result {
	if s.spec.isTrue("updateStrategy", "paused") {
		return suspended("Paused", "its update strategy is paused")
	}
	if s.status.count("observedGeneration") < s.obj.GetGeneration() {
		return s.unobserved()
	}
	desired := s.spec.countOr(1, "replicas")
	want := s.status.countOr(desired-s.spec.count("updateStrategy", "partition"), "expectedUpdatedReplicas")
	updated, available := s.status.count("updatedReplicas"), s.status.count("availableReplicas")
	switch {
	case updated < want:
		return progressing("ReplicasNotUpdated", fmt.Sprintf("%d of %d replicas are updated", updated, want))
	case s.status.count("replicas") > desired:
		return progressing("OldReplicasRemain", old(s.status.count("replicas")-desired)+" to be terminated")
	case available < desired:
		return progressing("ReplicasNotAvailable", fmt.Sprintf("%d of %d replicas are available", available, desired))
	}
	return healthy("Available", fmt.Sprintf("%d of %d replicas are available, %d updated", available, desired, updated))
}

// advancedCronJob has nothing to report before its first run, which may be far away.
func advancedCronJob(s subject) Result {
	if s.spec.isTrue("paused") {
		return healthy("Paused", "it is paused and starts nothing")
	}
	return healthy("Scheduled", "it starts jobs by its schedule")
}

// kruiseRollout is between two releases in phase Healthy, and in Progressing also while it waits at a step.
func kruiseRollout(s subject) Result {
	if s.spec.isTrue("disabled") {
		return healthy("Disabled", "it is disabled; its workload speaks for itself")
	}
	if s.behind() {
		return s.unobserved()
	}
	phase, message := s.status.text("phase"), s.status.text("message")
	for _, strategy := range []string{"canaryStatus", "blueGreenStatus"} {
		if phase == "Progressing" && s.status.text(strategy, "currentStepState") == "StepPaused" {
			return suspended("StepPaused", sentence(fmt.Sprintf("it waits at step %d", s.status.count(strategy, "currentStepIndex")), message))
		}
	}
	switch phase {
	case "":
		return progressing("NoStatus", "its controller has not seen it yet")
	case "Healthy":
		return healthy(phase, message)
	}
	return progressing(phase, sentence(phase, message))
}

func gameServerSet(s subject) Result {
	if s.status.count("observedGeneration") < s.obj.GetGeneration() {
		return s.unobserved()
	}
	desired := s.spec.countOr(1, "replicas")
	want := desired - s.spec.count("updateStrategy", "rollingUpdate", "partition")
	ready, updated := s.status.count("readyReplicas"), s.status.count("updatedReplicas")
	switch {
	case updated < want:
		return progressing("ReplicasNotUpdated", fmt.Sprintf("%d of %d game servers are updated", updated, want))
	case ready < desired:
		return progressing("ReplicasNotReady", fmt.Sprintf("%d of %d game servers are ready", ready, desired))
	}
	return healthy("Ready", fmt.Sprintf("%d of %d game servers are ready", ready, desired))
}

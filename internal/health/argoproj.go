// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strconv"
)

func argoprojRule(kind string) rule {
	switch kind {
	case "Application":
		return application
	case "ApplicationSet":
		return applicationSet
	case "Rollout":
		return rollout
	case "Workflow":
		return workflow
	case "CronWorkflow":
		return cronWorkflow
	case "AnalysisRun":
		return byPhase(phases{good: []string{"Successful"}, bad: []string{"Failed", "Error"}, unclear: []string{"Inconclusive"}})
	case "Experiment":
		return byPhase(phases{good: []string{"Successful"}, bad: []string{"Failed", "Error"}, unclear: []string{"Inconclusive"}})
	case "EventBus":
		return byOutlook(outlook{good: []string{"Configured", "Deployed"}, anyGood: true})
	case "EventSource", "Sensor":
		return byOutlook(outlook{good: []string{"Deployed"}})
	}
	return nil
}

// cronWorkflow is well unless its spec or its last submission was refused; how its Workflows fare is theirs to say. Its
// controller writes a status only when there is something to write.
func cronWorkflow(s subject) Result {
	for _, c := range s.conditions() {
		if c.isTrue() && (c.Type == "SpecError" || c.Type == "SubmissionError") {
			return degraded(c.Type, c.words())
		}
	}
	if s.spec.isTrue("suspend") {
		return healthy("Suspended", "it is suspended and starts nothing")
	}
	return healthy("Scheduled", "it starts Workflows by its schedule")
}

func applicationSet(s subject) Result {
	all := s.conditions()
	byType := func(kind, status string) (condition, bool) {
		for _, c := range all {
			if c.Type == kind && c.Status == status {
				return c, true
			}
		}
		return condition{}, false
	}
	if c, ok := byType("ErrorOccurred", "True"); ok {
		return degraded(c.Reason, c.words())
	}
	if c, ok := byType("ResourcesUpToDate", "False"); ok {
		return degraded(c.Reason, c.words())
	}
	if c, ok := byType("RolloutProgressing", "True"); ok {
		return progressing(c.Reason, c.words())
	}
	if c, ok := byType("ResourcesUpToDate", "True"); ok {
		return healthy(c.Reason, c.words())
	}
	return progressing("NoStatus", "its controller has not seen it yet")
}

func workflow(s subject) Result {
	phase, message := s.status.text("phase"), s.status.text("message")
	switch phase {
	case "", "Pending", "Running":
		return progressing("Running", message)
	case "Succeeded":
		return healthy(phase, message)
	case "Failed", "Error":
		return degraded(phase, message)
	}
	return unknown("UnknownPhase", fmt.Sprintf("the Workflow is in phase %q", phase))
}

// workloadGeneration is the generation of the workload that a Rollout refers to, as its controller last wrote it.
const workloadGeneration = "rollout.argoproj.io/workload-generation"

func rollout(s subject) Result {
	if !rolloutObserved(s) {
		return s.unobserved()
	}
	message := s.status.text("message")
	switch phase := s.status.text("phase"); phase {
	case "":
		return rolloutWithoutPhase(s)
	case "Paused":
		return suspended(phase, message)
	case "Healthy", "Progressing", "Degraded", "Suspended":
		return Result{Status: Status(phase), Reason: phase, Message: message}
	default:
		return unknown("UnknownPhase", fmt.Sprintf("the Rollout is in phase %q", phase))
	}
}

// rolloutObserved tells whether the controller has seen the present spec and workload. It writes generations as text.
// A number that is no generation comes from a controller so old that it wrote a hash; that one is trusted.
func rolloutObserved(s subject) bool {
	if text := s.status.text("observedGeneration"); text == "" {
		return false
	} else if seen, err := strconv.ParseInt(text, 10, 64); err == nil && seen < s.obj.GetGeneration() {
		return false
	}
	if s.spec.sub("workloadRef") == nil {
		return true
	}
	return s.status.text("workloadObservedGeneration") == s.obj.GetAnnotations()[workloadGeneration]
}

func rolloutWithoutPhase(s subject) Result {
	for _, c := range s.conditions() {
		if c.Type == "InvalidSpec" || c.Type == "Progressing" && (c.Reason == "RolloutAborted" || c.Reason == "ProgressDeadlineExceeded") {
			return degraded(c.Reason, c.words())
		}
	}
	if s.status.isTrue("abort") {
		return degraded("RolloutAborted", "the Rollout was aborted")
	}
	if s.spec.isTrue("paused") || len(s.status.list("pauseConditions")) > 0 {
		return suspended("Paused", "the Rollout is paused")
	}
	desired := s.spec.countOr(1, "replicas")
	total, updated, available := s.status.count("replicas"), s.status.count("updatedReplicas"), s.status.count("availableReplicas")
	switch {
	case updated < desired:
		return progressing("ReplicasNotUpdated", fmt.Sprintf("%d of %d replicas are updated", updated, desired))
	case total > updated:
		return progressing("OldReplicasRemain", old(total-updated)+" to be terminated")
	case available < updated:
		return progressing("ReplicasNotAvailable", fmt.Sprintf("%d of %d replicas are available", available, updated))
	}
	return healthy("Available", fmt.Sprintf("%d of %d replicas are available", available, desired))
}

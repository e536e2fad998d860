// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"slices"
)

func clusterAPIRule(kind string) rule {
	switch kind {
	case "Cluster":
		return capiUnlessPaused(func(s subject) Result { return capiByPhase(s, "Provisioned") })
	case "Machine":
		return func(s subject) Result { return capiByPhase(s, "Running") }
	case "MachinePool":
		// Scaling is the phase of a pool whose size something outside decides.
		return capiUnlessPaused(func(s subject) Result { return capiByPhase(s, "Running", "Scaling") })
	case "MachineDeployment", "MachineSet":
		return capiUnlessPaused(capiReplicas)
	case "MachineHealthCheck":
		return machineHealthCheck
	case "ClusterClass":
		return byOutlook(outlook{good: []string{"VariablesReconciled"}, pausedBy: []string{"paused"}, passing: []string{"NotYetReconciled"}})
	}
	return nil
}

// clusterAPIProviderRule covers control planes, infrastructures and bootstraps, which share a contract, and add-ons.
func clusterAPIProviderRule(kind string) rule {
	if kind == "ClusterResourceSet" {
		return func(s subject) Result { return capiConditions(s, "ResourcesApplied") }
	}
	return func(s subject) Result {
		if len(s.conditions()) == 0 && s.status.value("ready") == nil {
			// Templates and identities have no state.
			return Result{}
		}
		return capiProvided(s)
	}
}

// capiProvided judges by whichever of the contract's forms the provider follows.
func capiProvided(s subject) Result {
	for _, kind := range []string{"Ready", "Available"} {
		if r := capiConditions(s, kind); r.Reason != "ConditionAbsent" {
			return r
		}
	}
	if s.status.isTrue("ready") {
		return healthy("Ready", "its provider says that it is ready")
	}
	return progressing("NotReady", "its provider does not say that it is ready")
}

func capiUnlessPaused(judge rule) rule {
	return func(s subject) Result {
		if s.spec.isTrue("paused") {
			return suspended("Paused", "its spec says paused: true")
		}
		return judge(s)
	}
}

// capiByPhase judges by the phase, and by the conditions where the phase says that all is well.
func capiByPhase(s subject, good ...string) Result {
	if s.behind() {
		return s.unobserved()
	}
	phase := s.status.text("phase")
	switch {
	case phase == "":
		return progressing("NoStatus", "its controller has not seen it yet")
	case phase == "Failed":
		return degraded(phase, sentence("it has failed", s.status.text("failureMessage")))
	case !slices.Contains(good, phase):
		return progressing(phase, "it is in phase "+phase)
	}
	if r := capiConditions(s, "Available"); r.Reason != "ConditionAbsent" {
		return r
	}
	if r := capiConditions(s, "Ready"); r.Reason != "ConditionAbsent" {
		return r
	}
	return healthy(phase, "it is in phase "+phase)
}

// capiConditions judges by one condition. False is a failure only with the severity Error; the later form of the API
// has no severities, and there False may pass by itself.
func capiConditions(s subject, kind string) Result {
	if s.behind() {
		return s.unobserved()
	}
	c, ok := s.condition(kind)
	switch {
	case !ok:
		return progressing("ConditionAbsent", "its controller has not reported "+kind+" yet")
	case s.stale(c):
		return s.unobserved()
	case c.isTrue():
		return healthy(c.Reason, c.words())
	case c.isFalse() && s.severity(kind) == "Error":
		return degraded(c.Reason, c.words())
	}
	return progressing(c.Reason, c.words())
}

func (s subject) severity(kind string) string {
	for _, entry := range s.status.list("conditions") {
		if m, ok := entry.(map[string]any); ok && fields(m).text("type") == kind {
			return fields(m).text("severity")
		}
	}
	return ""
}

func capiReplicas(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	if s.status.text("phase") == "Failed" || s.status.text("failureReason") != "" {
		return degraded("Failed", sentence("it has failed", s.status.text("failureMessage")))
	}
	if s.status == nil {
		return progressing("NoStatus", "its controller has not seen it yet")
	}
	desired := s.spec.countOr(1, "replicas")
	total, ready := s.status.count("replicas"), s.status.count("readyReplicas")
	// A MachineSet replaces nothing and so does not count what is up to date.
	updated := s.status.countOr(total, "updatedReplicas")
	updated = s.status.countOr(updated, "upToDateReplicas")
	switch {
	case updated < desired:
		return progressing("ReplicasNotUpdated", fmt.Sprintf("%d of %d machines are updated", updated, desired))
	case total > desired:
		return progressing("OldReplicasRemain", fmt.Sprintf("%d machines are to be removed", total-desired))
	case ready < desired:
		return progressing("ReplicasNotReady", fmt.Sprintf("%d of %d machines are ready", ready, desired))
	}
	return healthy("Ready", fmt.Sprintf("%d of %d machines are ready", ready, desired))
}

// machineHealthCheck fails when it may not repair what it has found.
func machineHealthCheck(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	if c, ok := s.condition("RemediationAllowed"); ok && c.isFalse() && !s.stale(c) {
		return degraded(c.Reason, c.words())
	}
	current, ok := s.status.number("currentHealthy")
	expected := s.status.count("expectedMachines")
	switch {
	case !ok:
		return progressing("NoStatus", "its controller has not seen it yet")
	case current < expected:
		return degraded("MachinesUnhealthy", fmt.Sprintf("%d of %d machines are healthy", current, expected))
	}
	return healthy("MachinesHealthy", fmt.Sprintf("%d of %d machines are healthy", current, expected))
}

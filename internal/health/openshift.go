// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import "fmt"

// openShiftRule covers what OpenShift adds to Kubernetes and people keep in Git.
func openShiftRule(group, kind string) rule {
	switch {
	case group == "apps.openshift.io" && kind == "DeploymentConfig":
		return deploymentConfig
	case group == "route.openshift.io" && kind == "Route":
		return openShiftRoute
	case group == "build.openshift.io" && kind == "Build":
		return byPhase(phases{good: []string{"Complete"}, bad: []string{"Failed", "Error", "Cancelled"}})
	case group == "operator.openshift.io" && kind == "IngressController":
		// Available is False until the first router runs, and Degraded is True for the same while.
		return byOutlook(outlook{good: []string{"Available"}, patient: true})
	case group == "machineconfiguration.openshift.io" && kind == "MachineConfigPool":
		return byOutlook(outlook{good: []string{"Updated"}, bad: []string{"Degraded", "RenderDegraded"}, pausedBy: []string{"paused"}, patient: true})
	case group == "ocs.openshift.io" && kind == "StorageCluster":
		return byPhase(phases{good: []string{"Ready"}, bad: []string{"Error"}})
	}
	return nil
}

// deploymentConfig reports like a Deployment. Its rollouts are ended, by their deadline or by a person, with
// Progressing False, and nothing takes them up again.
func deploymentConfig(s subject) Result {
	if s.spec.isTrue("paused") {
		return suspended("Paused", "the DeploymentConfig is paused")
	}
	if s.status.count("observedGeneration") < s.obj.GetGeneration() {
		return s.unobserved()
	}
	if c, ok := s.condition("Progressing"); ok && c.isFalse() {
		return degraded(c.Reason, c.words())
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

// openShiftRoute is well when every router that looked at it admits it.
func openShiftRoute(s subject) Result {
	verdict := progressing("NoStatus", "no router has taken it up yet")
	for i, entry := range s.status.list("ingress") {
		m, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		router := fields(m)
		r := progressing("NotAdmitted", "router "+router.text("routerName")+" has not admitted it yet")
		for _, c := range conditionsOf(router.list("conditions")) {
			switch {
			case c.Type != "Admitted":
			case c.isTrue():
				r = healthy("Admitted", "router "+router.text("routerName")+" serves it as "+router.text("host"))
			case c.isFalse():
				r = degraded(c.Reason, "router "+router.text("routerName")+": "+c.words())
			}
		}
		if i == 0 || r.Status.WorseThan(verdict.Status) {
			verdict = r
		}
	}
	return verdict
}

// lifecycleManagerRule covers the Operator Lifecycle Manager in its two forms.
func lifecycleManagerRule(group, kind string) rule {
	switch {
	case group == "operators.coreos.com" && kind == "Subscription":
		return operatorSubscription
	case group == "operators.coreos.com" && kind == "ClusterServiceVersion":
		return byPhase(phases{good: []string{"Succeeded"}, bad: []string{"Failed"}})
	case group == "operators.coreos.com" && kind == "InstallPlan":
		return byPhase(phases{good: []string{"Complete"}, bad: []string{"Failed"}, paused: []string{"RequiresApproval"}})
	case group == "operators.coreos.com" && kind == "CatalogSource":
		return byPhase(phases{at: []string{"connectionState", "lastObservedState"}, good: []string{"READY"}})
	case group == "olm.operatorframework.io" && kind == "ClusterExtension":
		return clusterExtension
	case group == "olm.operatorframework.io" && kind == "ClusterCatalog":
		return byOutlook(outlook{good: []string{"Serving"}, patient: true})
	}
	return nil
}

// operatorSubscription is well at the newest version it may have. A plan that waits for a person is not a failure.
func operatorSubscription(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	for _, kind := range []string{"ResolutionFailed", "InstallPlanFailed", "BundleUnpackFailed"} {
		if c, ok := s.condition(kind); ok && c.isTrue() {
			return degraded(kind, c.words())
		}
	}
	if c, ok := s.condition("InstallPlanPending"); ok && c.isTrue() && c.Reason == "RequiresApproval" {
		return suspended(c.Reason, sentence("its install plan waits for approval", s.status.text("installPlanRef", "name")))
	}
	message := sentence(s.status.text("state"), s.status.text("installedCSV"))
	switch state := s.status.text("state"); state {
	case "":
		return progressing("NoStatus", "its catalog has not been read yet")
	case "AtLatestKnown", "UpgradeAvailable":
		return healthy(state, message)
	case "UpgradeFailed":
		return degraded(state, message)
	default:
		return progressing(state, message)
	}
}

// clusterExtension says with Progressing False and Blocked that it needs a person.
func clusterExtension(s subject) Result {
	if c, ok := s.condition("Progressing"); ok && !s.stale(c) && c.isFalse() && c.Reason == "Blocked" {
		return degraded(c.Reason, c.words())
	}
	return s.byOutlook(outlook{good: []string{"Installed"}, patient: true})
}

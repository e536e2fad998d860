// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// prometheusRule covers the workloads of the Prometheus operator; rules and monitors have no state.
func prometheusRule(kind string) rule {
	switch kind {
	case "Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler":
		return prometheus
	}
	return nil
}

// prometheus reports Available as True, False or Degraded. That Pods are not ready is how each rollout looks.
func prometheus(s subject) Result {
	r := s.byOutlook(outlook{good: []string{"Reconciled", "Available"}, anyGood: true, pausedBy: []string{"paused"}, passing: []string{"SomePodsNotReady", "NoPodReady"}})
	if _, ok := s.condition("Available"); r.Status == Healthy && !ok {
		return progressing("ConditionAbsent", "its operator has not reported Available yet")
	}
	return r
}

// victoriaMetricsRule covers every workload of the operator, which sums up in one word.
func victoriaMetricsRule(string) rule {
	return func(s subject) Result {
		if s.status.value("updateStatus") == nil {
			// Scrape configurations and rules have no state.
			return Result{}
		}
		return s.byPhase(phases{
			at: []string{"updateStatus"}, words: []string{"reason"},
			good: []string{"operational"}, bad: []string{"failed"}, paused: []string{"paused"},
		})
	}
}

func karpenterRule(kind string) rule {
	switch kind {
	case "NodePool":
		// A pool may be made in the same moment as the class it refers to.
		return byOutlook(outlook{good: []string{"Ready"}, passing: []string{"NodeClassNotReady", "UnhealthyDependents"}})
	case "EC2NodeClass", "AKSNodeClass":
		return ready()
	case "NodeClaim":
		// Ready is False from the launch until the node has joined.
		return byOutlook(outlook{good: []string{"Ready"}, paused: []string{"Disrupting"}, passing: []string{"UnhealthyDependents", "NotInitialized", "NotRegistered", "NotLaunched", "AwaitingReconciliation"}})
	}
	return nil
}

// kyvernoRule: a policy is not ready until its webhooks are there, and the operator says no more than that.
func kyvernoRule(group, kind string) rule {
	switch {
	case group == "kyverno.io" && (kind == "Policy" || kind == "ClusterPolicy"):
		return byOutlook(outlook{good: []string{"Ready"}, patient: true})
	case group == "kyverno.io" && (kind == "CleanupPolicy" || kind == "ClusterCleanupPolicy"):
		return byOutlook(outlook{good: []string{"Ready"}, patient: true})
	case group == "policies.kyverno.io":
		return kyvernoCELPolicy
	}
	return nil
}

// kyvernoCELPolicy judges the later kinds, which sum up below a field of their own; exceptions have no state.
func kyvernoCELPolicy(s subject) Result {
	well, ok := s.status.value("conditionStatus", "ready").(bool)
	message := s.status.text("conditionStatus", "message")
	switch {
	case !ok && s.obj.GetKind() == "PolicyException":
		return Result{}
	case s.behind():
		return s.unobserved()
	case ok && well:
		return healthy("Ready", sentence("the policy is ready", message))
	}
	return progressing("NotReady", sentence("the policy is not ready", message))
}

// keycloakRule: Ready is False while an instance starts; HasErrors is the failure.
func keycloakRule(kind string) rule {
	switch kind {
	case "Keycloak":
		return byOutlook(outlook{good: []string{"Ready"}, bad: []string{"HasErrors"}, patient: true})
	case "KeycloakRealmImport":
		return byOutlook(outlook{good: []string{"Done"}, bad: []string{"HasErrors"}, patient: true})
	}
	return nil
}

// flaggerRule: between two releases a canary waits in one of the good phases.
func flaggerRule(kind string) rule {
	if kind != "Canary" {
		return nil
	}
	return func(s subject) Result {
		r := s.byPhase(phases{good: []string{"Initialized", "Succeeded"}, bad: []string{"Failed"}, paused: []string{"Waiting", "WaitingPromotion"}})
		if c, ok := s.condition("Promoted"); ok && r.Reason != "GenerationNotObserved" {
			r.Message = sentence(r.Message, c.words())
		}
		return r
	}
}

func contourRule(kind string) rule {
	if kind == "HTTPProxy" || kind == "ExtensionService" {
		return byOutlook(outlook{good: []string{"Valid"}})
	}
	return nil
}

// acmeRule covers what cert-manager makes on its way to a certificate.
func acmeRule(kind string) rule {
	if kind != "Order" && kind != "Challenge" {
		return nil
	}
	return byPhase(phases{at: []string{"state"}, words: []string{"reason"}, good: []string{"ready", "valid"}, bad: []string{"invalid", "expired", "errored"}})
}

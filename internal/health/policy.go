// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func policyRule(kind string) rule {
	if kind == "PodDisruptionBudget" {
		return podDisruptionBudget
	}
	return nil
}

// podDisruptionBudget is Healthy when no disruption is allowed for want of Pods: the budget does its work, it is the
// workload that is not well.
func podDisruptionBudget(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	all := s.conditions()
	if len(all) == 0 {
		return progressing("NoStatus", "its controller has not seen it yet")
	}
	for _, c := range all {
		if c.isFalse() && c.Reason != "InsufficientPods" {
			return degraded(c.Reason, c.words())
		}
	}
	return healthy(all[0].Reason, all[0].words())
}

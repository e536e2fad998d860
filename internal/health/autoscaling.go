// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"slices"
)

func autoscalingRule(kind string) rule {
	if kind == "HorizontalPodAutoscaler" {
		return horizontalPodAutoscaler
	}
	return nil
}

// v1Conditions is where the first version of the API keeps its conditions, as JSON.
const v1Conditions = "autoscaling.alpha.kubernetes.io/conditions"

func horizontalPodAutoscaler(s subject) Result {
	var all []condition
	switch s.obj.GetAPIVersion() {
	case "autoscaling/v2":
		all = s.conditions()
	case "autoscaling/v1":
		var entries []any
		if text := s.obj.GetAnnotations()[v1Conditions]; text != "" {
			if err := json.Unmarshal([]byte(text), &entries); err != nil {
				return unknown("UnreadableConditions", "annotation "+v1Conditions+" is not JSON: "+err.Error())
			}
		}
		all = conditionsOf(entries)
	default:
		return unsupported(s)
	}
	if s.behind() {
		return s.unobserved()
	}
	for _, c := range all {
		if cannotScale(c) {
			return degraded(c.Reason, c.words())
		}
	}
	for _, c := range all {
		if c.isTrue() && (c.Type == "AbleToScale" || c.Type == "ScalingLimited") {
			return healthy(c.Reason, c.words())
		}
	}
	return progressing("NotScaling", "waits for its first measurement")
}

// cannotScale tells whether a condition reports that the target or its metrics cannot be read.
func cannotScale(c condition) bool {
	switch c.Type {
	case "AbleToScale":
		return slices.Contains([]string{"FailedGetScale", "FailedUpdateScale"}, c.Reason)
	case "ScalingActive":
		return slices.Contains([]string{
			"FailedGetResourceMetric", "FailedGetObjectMetric", "FailedGetPodsMetric", "FailedGetExternalMetric",
			"FailedComputeMetricsReplicas", "InvalidSelector",
		}, c.Reason)
	}
	return false
}

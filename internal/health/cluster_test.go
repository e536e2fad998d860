// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestHorizontalPodAutoscaler(t *testing.T) {
	with := func(version, meta, conditions string) string {
		return "{apiVersion: autoscaling/" + version + ", kind: HorizontalPodAutoscaler, metadata: {name: api" + meta + "}, status: {conditions: [" + conditions + "]}}"
	}
	able := `{type: AbleToScale, status: "True", reason: ReadyForNewScale, message: recommended size matches current size}`
	run(t, map[string]verdict{
		"new":     {reason: "nothing was measured", object: with("v2", "", ""), want: Progressing},
		"able":    {reason: "it does its work", object: with("v2", "", able), want: Healthy, says: "recommended size"},
		"limited": {reason: "a bound that is reached is a bound that works", object: with("v2", "", `{type: ScalingLimited, status: "True", reason: TooManyReplicas}`), want: Healthy},
		"no metrics": {
			reason: "it can scale, but does not know how far",
			object: with("v2", "", able+`, {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: unable to get metrics for resource cpu}`),
			want:   Degraded, because: "FailedGetResourceMetric", says: "resource cpu",
		},
		"scaled to nothing": {
			reason: "ScalingDisabled is a wish, not a failure",
			object: with("v2", "", able+`, {type: ScalingActive, status: "False", reason: ScalingDisabled}`),
			want:   Healthy,
		},
		"target missing":      {reason: "what it is to scale is not there", object: with("v2", "", `{type: AbleToScale, status: "False", reason: FailedGetScale, message: deployments.apps "api" not found}`), want: Degraded, says: `"api" not found`},
		"first version":       {reason: "its conditions are JSON in an annotation", object: with("v1", `, annotations: {autoscaling.alpha.kubernetes.io/conditions: '[{"type":"AbleToScale","status":"True","reason":"ReadyForNewScale"}]'}`, ""), want: Healthy},
		"first version, bad":  {reason: "an annotation that is not JSON says nothing", object: with("v1", `, annotations: {autoscaling.alpha.kubernetes.io/conditions: '{'}`, ""), want: Unknown, because: "UnreadableConditions"},
		"a version withdrawn": {reason: "the second beta is not read", object: with("v2beta2", "", able), want: Unknown, because: "UnsupportedVersion"},
	})
}

func TestPodDisruptionBudget(t *testing.T) {
	with := func(status string) string {
		return "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: api, generation: 2}, status: {" + status + "}}"
	}
	run(t, map[string]verdict{
		"new":         {reason: "nothing is reported", object: with(""), want: Progressing},
		"behind":      {reason: "the status is about the former bounds", object: with(`observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: "True", reason: SufficientPods}]`), want: Progressing, because: "GenerationNotObserved"},
		"allows":      {reason: "a Pod may go", object: with(`observedGeneration: 2, conditions: [{type: DisruptionAllowed, status: "True", reason: SufficientPods}]`), want: Healthy},
		"forbids":     {reason: "that is what it is for", object: with(`observedGeneration: 2, conditions: [{type: DisruptionAllowed, status: "False", reason: InsufficientPods}]`), want: Healthy},
		"does not do": {reason: "its controller cannot count", object: with(`observedGeneration: 2, conditions: [{type: DisruptionAllowed, status: "False", reason: SyncFailed, message: found no controllers for pod "api-1"}]`), want: Degraded, says: "found no controllers"},
	})
}

func TestCustomResourceDefinition(t *testing.T) {
	with := func(conditions string) string {
		return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, status: {conditions: [" + conditions + "]}}"
	}
	accepted := `{type: NamesAccepted, status: "True", reason: NoConflicts}`
	run(t, map[string]verdict{
		"new":             {reason: "nothing is reported", object: with(""), want: Progressing, because: "NoStatus"},
		"names accepted":  {reason: "the API is not served yet", object: with(accepted + `, {type: Established, status: "False", reason: Installing}`), want: Progressing, because: "Installing"},
		"names just came": {reason: "the second condition lags behind the first", object: with(accepted + `, {type: Established, status: "False", reason: InitialNamesAccepted}`), want: Progressing},
		"established":     {reason: "objects can be created", object: with(accepted + `, {type: Established, status: "True", message: the initial names have been accepted}`), want: Healthy},
		"names taken":     {reason: "somebody else has the name", object: with(`{type: NamesAccepted, status: "False", reason: ShortNamesConflict, message: '"wd" is already in use'}`), want: Degraded, says: "already in use"},
		"bad schema":      {reason: "served, but not with a schema to rely on", object: with(accepted + `, {type: NonStructuralSchema, status: "True", reason: Violations}, {type: Established, status: "True"}`), want: Degraded},
		"bad conversion":  {reason: "its webhook cannot be called", object: with(accepted + `, {type: Established, status: "False", reason: InvalidCABundle, message: unable to load root certificates}`), want: Degraded, says: "root certificates"},
		"goes":            {reason: "its objects are being deleted", object: with(accepted + `, {type: Established, status: "True"}, {type: Terminating, status: "True", reason: InstanceDeletionInProgress}`), want: Progressing},
	})
}

func TestAPIService(t *testing.T) {
	with := func(version, conditions string) string {
		return "{apiVersion: apiregistration.k8s.io/" + version + ", kind: APIService, metadata: {name: v1beta1.metrics.k8s.io}, status: {conditions: [" + conditions + "]}}"
	}
	run(t, map[string]verdict{
		"new":         {reason: "not checked", object: with("v1", ""), want: Progressing},
		"answers":     {reason: "the API is reachable", object: with("v1", `{type: Available, status: "True", reason: Passed}`), want: Healthy},
		"silent":      {reason: "its backend may still start", object: with("v1", `{type: Available, status: "False", reason: MissingEndpoints, message: no endpoints for service}`), want: Progressing, says: "no endpoints"},
		"first beta":  {reason: "it is read as well", object: with("v1beta1", `{type: Available, status: "True"}`), want: Healthy},
		"a newer one": {reason: "it is not read", object: with("v9", `{type: Available, status: "True"}`), want: Unknown},
	})
}

func TestGeneric(t *testing.T) {
	with := func(status string) string {
		return "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 3}, status: {" + status + "}}"
	}
	run(t, map[string]verdict{
		"no status":             {reason: "nothing shows that it ever has one", object: with(""), want: ""},
		"no generation":         {reason: "Ready could be about any generation", object: with(`conditions: [{type: Ready, status: "True"}]`), want: ""},
		"no condition we know":  {reason: "what Painted means only its controller knows", object: with(`observedGeneration: 3, conditions: [{type: Painted, status: "True"}]`), want: ""},
		"behind":                {reason: "the status is about the former spec", object: with(`observedGeneration: 2, conditions: [{type: Ready, status: "True"}]`), want: Progressing, because: "GenerationNotObserved", generic: true},
		"condition behind":      {reason: "the condition says itself what it is about", object: with(`conditions: [{type: Ready, status: "True", observedGeneration: 2}]`), want: Progressing, because: "GenerationNotObserved", generic: true},
		"ready":                 {reason: "by convention all is well", object: with(`observedGeneration: 3, conditions: [{type: Ready, status: "True", message: painted}]`), want: Healthy, says: "painted", generic: true},
		"ready outranks others": {reason: "Ready sums the others up", object: with(`observedGeneration: 3, conditions: [{type: Synced, status: "False"}, {type: Ready, status: "True"}]`), want: Healthy, generic: true},
		"not ready":             {reason: "whether it will be is not known, so nothing fails for it", object: with(`observedGeneration: 3, conditions: [{type: Ready, status: "False", reason: Painting}]`), want: Progressing, because: "Painting", generic: true},
		"stalled":               {reason: "the condition exists to say that waiting is in vain", object: with(`observedGeneration: 3, conditions: [{type: Ready, status: "False"}, {type: Stalled, status: "True", reason: NoPaint}]`), want: Degraded, because: "NoPaint", generic: true},
		"works on it":           {reason: "Ready may be a leftover while Reconciling is True", object: with(`observedGeneration: 3, conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True", reason: Mixing}]`), want: Progressing, because: "Mixing", generic: true},
	})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestFlux(t *testing.T) {
	of := func(kind, spec, status string) string {
		return object("kustomize.toolkit.fluxcd.io/v1", kind, ", spec: {"+spec+"}, status: {"+status+"}")
	}
	ready := `{type: Ready, status: "True", reason: ReconciliationSucceeded, observedGeneration: 2}`
	run(t, map[string]verdict{
		"new":         {reason: "the toolkit begins with generation -1", object: of("Kustomization", "", "observedGeneration: -1"), want: Progressing, because: "GenerationNotObserved"},
		"ready":       {reason: "applied", object: of("Kustomization", "", "observedGeneration: 2, conditions: ["+ready+"]"), want: Healthy},
		"again":       {reason: "it works on the next one", object: of("Kustomization", "", "observedGeneration: 2, conditions: ["+ready+`, {type: Reconciling, status: "True", reason: Progressing}]`), want: Progressing},
		"stalled":     {reason: "it will not be tried again", object: of("HelmRelease", "", `observedGeneration: 2, conditions: [{type: Stalled, status: "True", reason: RetriesExceeded, message: install failed}, {type: Ready, status: "False"}]`), want: Degraded, because: "RetriesExceeded"},
		"failed":      {reason: "the last attempt failed", object: of("GitRepository", "", `observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: GitOperationFailed, message: authentication required}]`), want: Degraded, says: "authentication"},
		"waits":       {reason: "another Kustomization is first", object: of("Kustomization", "", `observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: DependencyNotReady}]`), want: Progressing},
		"suspended":   {reason: "its owner did that", object: of("Kustomization", "suspend: true", "conditions: ["+ready+"]"), want: Suspended},
		"a registry":  {reason: "a Helm registry has no state", object: of("HelmRepository", "type: oci", ""), want: Healthy},
		"a Helm repo": {reason: "an index has to be fetched", object: of("HelmRepository", "", ""), want: Progressing},
		"a provider":  {reason: "an address for messages has no state", object: of("Provider", "", ""), want: ""},
	})
}

func TestArgoKinds(t *testing.T) {
	of := func(kind, status string) string { return reporting("argoproj.io/v1alpha1", kind, status) }
	run(t, map[string]verdict{
		"schedule, new":      {reason: "its controller writes only when it has something to write", object: of("CronWorkflow", ""), want: Healthy},
		"schedule, refused":  {reason: "its spec cannot work", object: of("CronWorkflow", `conditions: [{type: SpecError, status: "True", message: "cron schedule malformed"}]`), want: Degraded, says: "malformed"},
		"analysis, running":  {reason: "it measures", object: of("AnalysisRun", "phase: Running"), want: Progressing},
		"analysis, passed":   {reason: "the numbers are good", object: of("AnalysisRun", "phase: Successful"), want: Healthy},
		"analysis, failed":   {reason: "the numbers are bad", object: of("AnalysisRun", `phase: Failed, message: 'Metric "errors" assessed Failed'`), want: Degraded, says: "errors"},
		"analysis, unclear":  {reason: "a person has to decide", object: of("AnalysisRun", "phase: Inconclusive"), want: Unknown},
		"experiment, passed": {reason: "done", object: of("Experiment", "phase: Successful"), want: Healthy},
		"bus":                {reason: "both must be true", object: of("EventBus", `conditions: [{type: Configured, status: "True"}, {type: Deployed, status: "True"}]`), want: Healthy},
		"bus, refused":       {reason: "its words say why", object: of("EventBus", `conditions: [{type: Configured, status: "True"}, {type: Deployed, status: "False", message: no storage class}]`), want: Degraded, says: "storage class"},
	})
}

func TestKnativeAndKEDA(t *testing.T) {
	knative := func(status string) string { return reporting("serving.knative.dev/v1", "Service", status) }
	keda := func(kind, status string) string { return reporting("keda.sh/v1alpha1", kind, status) }
	run(t, map[string]verdict{
		"knative, new":      {reason: "nothing is reported", object: knative(""), want: Progressing},
		"knative, deploys":  {reason: "Unknown is work in progress", object: knative(`observedGeneration: 2, conditions: [{type: Ready, status: Unknown, reason: Deploying}]`), want: Progressing},
		"knative, ready":    {reason: "it serves", object: knative(`observedGeneration: 2, conditions: [{type: Ready, status: "True"}]`), want: Healthy},
		"knative, failed":   {reason: "no revision came up", object: knative(`observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: RevisionFailed, message: image not found}]`), want: Degraded, says: "image not found"},
		"knative, install":  {reason: "its Deployments start", object: reporting("operator.knative.dev/v1beta1", "KnativeServing", `conditions: [{type: InstallSucceeded, status: "True"}, {type: DeploymentsAvailable, status: "False", reason: NotReady}, {type: Ready, status: "False", reason: NotReady}]`), want: Progressing},
		"knative, internal": {reason: "what has no state is left alone", object: reporting("networking.internal.knative.dev/v1alpha1", "ClusterDomainClaim", ""), want: ""},

		"keda, new":      {reason: "conditions begin as Unknown", object: keda("ScaledObject", `conditions: [{type: Ready, status: Unknown}, {type: Fallback, status: Unknown}]`), want: Progressing},
		"keda, ready":    {reason: "it scales", object: keda("ScaledObject", `conditions: [{type: Ready, status: "True", reason: ScaledObjectReady}, {type: Active, status: "False"}, {type: Fallback, status: "False"}]`), want: Healthy},
		"keda, refused":  {reason: "its trigger is wrong", object: keda("ScaledObject", `conditions: [{type: Ready, status: "False", reason: ScaledObjectCheckFailed, message: no scaler found}]`), want: Degraded, says: "no scaler"},
		"keda, blind":    {reason: "its numbers do not come", object: keda("ScaledObject", `conditions: [{type: Ready, status: "True"}, {type: Fallback, status: "True", reason: FallbackExists}]`), want: Degraded, because: "FallbackExists"},
		"keda, paused":   {reason: "its owner did that", object: keda("ScaledJob", `conditions: [{type: Ready, status: "True"}, {type: Paused, status: "True"}]`), want: Suspended},
		"authentication": {reason: "it has no state", object: keda("TriggerAuthentication", ""), want: ""},
	})
}

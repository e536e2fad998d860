// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// computeRule covers operators that run programs: streams, batches, models and functions.
func computeRule(group, kind string) rule {
	switch group {
	case "camel.apache.org":
		return camelRule(kind)
	case "core.spinkube.dev":
		return onlyKind(kind, "SpinApp", byOutlook(outlook{good: []string{"Available"}, patient: true}))
	case "flink.apache.org":
		return flinkRule(kind)
	case "numaflow.numaproj.io", "numaplane.numaproj.io":
		return numaRule(kind)
	case "openfaas.com":
		return onlyKind(kind, "Function", byOutlook(outlook{good: []string{"Ready"}, bad: []string{"Stalled"}, patient: true}))
	case "serving.kserve.io":
		return kserveRule(kind)
	case "sparkoperator.k8s.io":
		return sparkRule(kind)
	case "tower.ansible.com":
		return onlyKind(kind, "AnsibleJob", byPhase(phases{
			at: []string{"ansibleJobResult", "status"}, words: []string{"message"},
			good: []string{"successful"}, bad: []string{"failed", "error", "canceled"},
		}))
	case "lifecycle.keptn.sh":
		return keptnRule(kind)
	}
	return nil
}

// onlyKind returns the rule if the kind is the one it is for.
func onlyKind(kind, only string, judge rule) rule {
	if kind != only {
		return nil
	}
	return judge
}

func camelRule(kind string) rule {
	switch kind {
	case "Integration":
		return byPhase(phases{good: []string{"Running"}, bad: []string{"Error"}, unclear: []string{"Unknown"}})
	case "IntegrationKit", "IntegrationPlatform", "Kamelet", "KameletBinding", "Pipe":
		return byPhase(phases{good: []string{"Ready"}, bad: []string{"Error"}})
	}
	return nil
}

// flinkRule: the operator sums up in a state of the lifecycle. A job that failed for good can leave the state as it was.
func flinkRule(kind string) rule {
	if kind != "FlinkDeployment" && kind != "FlinkSessionJob" {
		return nil
	}
	return func(s subject) Result {
		if s.status.text("jobStatus", "state") == "FAILED" && !s.behind() {
			return degraded("JobFailed", sentence("the job has failed", s.status.text("error")))
		}
		return s.byPhase(phases{
			at: []string{"lifecycleState"}, words: []string{"error"},
			good: []string{"STABLE"}, bad: []string{"FAILED", "ROLLED_BACK"}, paused: []string{"SUSPENDED"},
		})
	}
}

func numaRule(kind string) rule {
	switch kind {
	case "InterStepBufferService", "MonoVertex", "Pipeline", "Vertex":
		return byPhase(phases{good: []string{"Running", "Succeeded"}, bad: []string{"Failed"}, paused: []string{"Paused"}, unclear: []string{"Unknown"}})
	case "ISBServiceRollout", "MonoVertexRollout", "NumaflowControllerRollout", "PipelineRollout":
		return func(s subject) Result {
			r := s.byPhase(phases{good: []string{"Deployed"}, bad: []string{"Failed"}})
			if r.Status != Healthy {
				return r
			}
			return s.byOutlook(outlook{good: []string{"ChildResourceDeployed", "ChildResourcesHealthy"}, patient: true})
		}
	}
	return nil
}

// kserveRule: Ready is False until the first replica serves.
func kserveRule(kind string) rule {
	switch kind {
	case "InferenceService", "InferenceGraph", "LLMInferenceService":
		return byOutlook(outlook{good: []string{"Ready"}, paused: []string{"Stopped"}, patient: true})
	case "TrainedModel":
		return ready()
	}
	return nil
}

// sparkRule: an application that streams runs for ever, so that to run is to be well.
func sparkRule(kind string) rule {
	switch kind {
	case "SparkApplication":
		return byPhase(phases{
			at: []string{"applicationState", "state"}, words: []string{"applicationState", "errorMessage"},
			good: []string{"RUNNING", "COMPLETED"}, bad: []string{"FAILED", "SUBMISSION_FAILED"}, paused: []string{"SUSPENDED"}, unclear: []string{"UNKNOWN"},
		})
	case "ScheduledSparkApplication":
		return byPhase(phases{at: []string{"scheduleState"}, words: []string{"reason"}, good: []string{"Scheduled"}, bad: []string{"FailedValidation"}})
	}
	return nil
}

func keptnRule(kind string) rule {
	words := phases{at: []string{"status"}, good: []string{"Succeeded", "Warning"}, bad: []string{"Failed"}, unclear: []string{"Unknown", "Deprecated"}}
	switch kind {
	case "KeptnAppVersion", "KeptnTask", "KeptnWorkloadVersion", "KeptnWorkloadInstance":
		return byPhase(words)
	case "KeptnEvaluation":
		words.at = []string{"overallStatus"}
		return byPhase(words)
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestClusterAPI(t *testing.T) {
	of := func(kind, spec, status string) string {
		return object("cluster.x-k8s.io/v1beta1", kind, ", spec: {"+spec+"}, status: {"+status+"}")
	}
	plane := func(status string) string {
		return reporting("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane", status)
	}
	run(t, map[string]verdict{
		"new":         {reason: "no phase", object: of("Cluster", "", ""), want: Progressing, because: "NoStatus"},
		"provision":   {reason: "machines are being made", object: of("Cluster", "", `observedGeneration: 2, phase: Provisioning, conditions: [{type: Ready, status: "False", severity: Info, reason: WaitingForControlPlane}]`), want: Progressing},
		"provisioned": {reason: "it answers", object: of("Cluster", "", `observedGeneration: 2, phase: Provisioned, conditions: [{type: Ready, status: "True"}]`), want: Healthy},
		"scaling":     {reason: "not ready without being an error", object: of("Cluster", "", `phase: Provisioned, conditions: [{type: Ready, status: "False", severity: Warning, reason: ScalingUp}]`), want: Progressing},
		"error":       {reason: "the severity says that it is one", object: of("Cluster", "", `phase: Provisioned, conditions: [{type: Ready, status: "False", severity: Error, reason: InstanceCreateFailed, message: quota}]`), want: Degraded, says: "quota"},
		"later form":  {reason: "Available says it, and for which generation", object: of("Cluster", "", `phase: Provisioned, conditions: [{type: Available, status: "True", observedGeneration: 1}]`), want: Progressing, because: "GenerationNotObserved"},
		"failed":      {reason: "the message is what people need", object: of("Cluster", "", "phase: Failed, failureMessage: no credentials"), want: Degraded, says: "no credentials"},
		"paused":      {reason: "its owner did that", object: of("Cluster", "paused: true", "phase: Provisioned"), want: Suspended},
		"machine":     {reason: "its node is there", object: of("Machine", "", "phase: Running"), want: Healthy},
		"no node yet": {reason: "it has not joined", object: of("Machine", "", "phase: Provisioned"), want: Progressing},
		"pool":        {reason: "its size is decided outside", object: of("MachinePool", "", "phase: Scaling"), want: Healthy},
		"rolls":       {reason: "one machine is not updated", object: of("MachineDeployment", "replicas: 3", "observedGeneration: 2, phase: Running, replicas: 4, updatedReplicas: 2, readyReplicas: 3"), want: Progressing, because: "ReplicasNotUpdated"},
		"old remain":  {reason: "one machine too many", object: of("MachineDeployment", "replicas: 3", "phase: ScalingDown, replicas: 4, updatedReplicas: 3, readyReplicas: 4"), want: Progressing, because: "OldReplicasRemain"},
		"rolled":      {reason: "all are new and ready", object: of("MachineDeployment", "replicas: 3", "phase: Running, replicas: 3, updatedReplicas: 3, readyReplicas: 3"), want: Healthy},
		"check":       {reason: "nothing to repair", object: of("MachineHealthCheck", "", "expectedMachines: 3, currentHealthy: 3"), want: Healthy},
		"may not":     {reason: "too many are ill to repair any", object: of("MachineHealthCheck", "", `expectedMachines: 3, currentHealthy: 1, conditions: [{type: RemediationAllowed, status: "False", reason: TooManyUnhealthy, message: short circuit}]`), want: Degraded, because: "TooManyUnhealthy"},

		"plane":          {reason: "ready", object: plane(`observedGeneration: 2, conditions: [{type: Ready, status: "True"}]`), want: Healthy},
		"plane, scaling": {reason: "a warning passes", object: plane(`conditions: [{type: Ready, status: "False", severity: Warning, reason: ScalingUp}]`), want: Progressing},
		"plane, by flag": {reason: "the first form of the contract", object: plane("ready: true"), want: Healthy},
		"a template":     {reason: "it has no state", object: object("infrastructure.cluster.x-k8s.io/v1beta1", "AWSMachineTemplate", ""), want: ""},
		"add-on":         {reason: "applied", object: reporting("addons.cluster.x-k8s.io/v1beta1", "ClusterResourceSet", `conditions: [{type: ResourcesApplied, status: "True"}]`), want: Healthy},
	})
}

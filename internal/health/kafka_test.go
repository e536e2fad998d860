// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

// object writes an object of a kind at generation 2.
func object(version, kind, rest string) string {
	return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: x, generation: 2}" + rest + "}"
}

// reporting writes an object of a kind at generation 2 with a status.
func reporting(version, kind, status string) string {
	return object(version, kind, ", status: {"+status+"}")
}

func TestKafka(t *testing.T) {
	strimzi := func(kind, status string) string { return reporting("kafka.strimzi.io/v1", kind, status) }
	confluent := func(kind, status string) string { return reporting("platform.confluent.io/v1beta1", kind, status) }
	banzai := func(status string) string { return reporting("kafka.banzaicloud.io/v1beta1", "KafkaCluster", status) }
	run(t, map[string]verdict{
		"new":           {reason: "the operator has not seen it", object: strimzi("Kafka", ""), want: Progressing, because: "ConditionAbsent"},
		"being set up":  {reason: "NotReady with this reason is work in progress", object: strimzi("Kafka", `observedGeneration: 2, conditions: [{type: NotReady, status: "True", reason: Creating, message: Kafka cluster is being deployed}]`), want: Progressing, because: "Creating"},
		"ready":         {reason: "brokers run", object: strimzi("Kafka", `observedGeneration: 2, conditions: [{type: Ready, status: "True"}]`), want: Healthy},
		"of before":     {reason: "Ready is about the former spec", object: strimzi("KafkaTopic", `observedGeneration: 1, conditions: [{type: Ready, status: "True"}]`), want: Progressing, because: "GenerationNotObserved"},
		"refused":       {reason: "the operator's words say why", object: strimzi("KafkaConnect", `observedGeneration: 2, conditions: [{type: NotReady, status: "True", reason: TimeoutException, message: Exceeded timeout of 300000ms}]`), want: Degraded, because: "TimeoutException", says: "300000ms"},
		"left alone":    {reason: "its owner paused it", object: strimzi("KafkaUser", `observedGeneration: 2, conditions: [{type: ReconciliationPaused, status: "True"}]`), want: Suspended},
		"with warnings": {reason: "a warning does not make it unready", object: strimzi("Kafka", `observedGeneration: 2, conditions: [{type: Warning, status: "True", reason: KafkaStorage}, {type: Ready, status: "True"}]`), want: Healthy},
		"a node pool":   {reason: "the operator of its Kafka has taken it in", object: strimzi("KafkaNodePool", "observedGeneration: 2, replicas: 3, nodeIds: [0, 1, 2], roles: [broker]"), want: Healthy, says: "3 brokers"},
		"pool, alone":   {reason: "its Kafka may come a wave later", object: strimzi("KafkaNodePool", ""), want: ""},
		"pool, changed": {reason: "the operator has not seen the change", object: strimzi("KafkaNodePool", "observedGeneration: 1, replicas: 3"), want: Progressing, because: "GenerationNotObserved"},
		"pool, refused": {reason: "the operator's words say why", object: strimzi("KafkaNodePool", `observedGeneration: 2, conditions: [{type: NotReady, status: "True", reason: InvalidResourceException, message: storage cannot shrink}]`), want: Degraded, says: "shrink"},
		"proposal":      {reason: "it waits for a person by design", object: strimzi("KafkaRebalance", `observedGeneration: 2, conditions: [{type: ProposalReady, status: "True"}]`), want: Healthy},
		"rebalancing":   {reason: "partitions move", object: strimzi("KafkaRebalance", `observedGeneration: 2, conditions: [{type: Rebalancing, status: "True"}]`), want: Progressing},

		"confluent, new":       {reason: "no phase", object: confluent("Kafka", ""), want: Progressing, because: "NoStatus"},
		"confluent, setup":     {reason: "the phase says so", object: confluent("Kafka", "phase: PROVISIONING"), want: Progressing},
		"confluent, runs":      {reason: "the phase says so", object: confluent("SchemaRegistry", "phase: RUNNING"), want: Healthy},
		"connector runs":       {reason: "created, and its tasks run", object: confluent("Connector", "state: CREATED, connectorState: RUNNING"), want: Healthy},
		"connector starts":     {reason: "created is not enough", object: confluent("Connector", "state: CREATED, connectorState: UNASSIGNED"), want: Progressing},
		"connector lost tasks": {reason: "a task does not restart itself", object: confluent("Connector", "state: CREATED, connectorState: RUNNING, failedTasksCount: 2"), want: Degraded, says: "2 tasks"},
		"connector refused":    {reason: "the condition nests the cause", object: confluent("Connector", `state: ERROR, conditions: [{type: "platform.confluent.io/app-ready", status: "False", message: "400: class not found"}]`), want: Degraded, says: "class not found"},

		"koperator, new":     {reason: "no state", object: banzai(""), want: Progressing, because: "NoStatus"},
		"koperator, runs":    {reason: "each broker has its configuration", object: banzai(`state: ClusterRunning, brokersState: {"0": {configurationState: ConfigInSync, gracefulActionState: {cruiseControlState: GracefulUpscaleSucceeded}}}`), want: Healthy},
		"koperator, upgrade": {reason: "it works on it", object: banzai(`state: ClusterRollingUpgrading, brokersState: {"0": {configurationState: ConfigInSync}}`), want: Progressing, because: "ClusterRollingUpgrading"},
		"koperator, behind":  {reason: "a broker has the former configuration", object: banzai(`state: ClusterRunning, brokersState: {"0": {configurationState: ConfigInSync}, "1": {configurationState: ConfigOutOfSync}}`), want: Progressing, says: "broker 1"},
		"koperator, stuck":   {reason: "moving partitions failed", object: banzai(`state: ClusterReconciling, brokersState: {"2": {configurationState: ConfigInSync, gracefulActionState: {cruiseControlState: GracefulDownscaleCompletedWithError}}}`), want: Degraded, says: "broker 2"},
	})
}

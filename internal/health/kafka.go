// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// strimziRule: the operator writes Ready when it is done, NotReady when it is not, and never both.
func strimziRule(kind string) rule {
	switch kind {
	case "Kafka", "KafkaBridge", "KafkaConnect", "KafkaConnector", "KafkaMirrorMaker", "KafkaMirrorMaker2", "KafkaTopic", "KafkaUser":
		return byOutlook(outlook{
			good: []string{"Ready"}, bad: []string{"NotReady"}, paused: []string{"ReconciliationPaused"},
			// What NotReady says of an object that is being set up.
			passing: []string{"Creating"},
		})
	case "KafkaNodePool":
		return kafkaNodePool
	case "KafkaRebalance":
		return kafkaRebalance
	}
	return nil
}

// kafkaNodePool is reported on by the operator of the Kafka it belongs to. Before that Kafka is there, perhaps a wave
// later, nothing is written and nothing known.
func kafkaNodePool(s subject) Result {
	if c, ok := s.condition("NotReady"); ok && c.isTrue() && !s.behind() {
		return degraded(c.Reason, c.words())
	}
	switch _, observes := s.status.number("observedGeneration"); {
	case !observes:
		return Result{}
	case s.behind():
		return s.unobserved()
	}
	return healthy("Observed", fmt.Sprintf("%d brokers or controllers belong to it", s.status.count("replicas")))
}

// kafkaRebalance is well when it waits for somebody to approve the proposal: that is what it is for.
func kafkaRebalance(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	for _, c := range s.conditions() {
		if !c.isTrue() {
			continue
		}
		switch c.Type {
		case "Ready", "ProposalReady":
			return healthy(c.Type, c.words())
		case "NotReady":
			return degraded(c.Reason, c.words())
		case "Stopped", "ReconciliationPaused":
			return suspended(c.Type, c.words())
		}
	}
	return progressing("Rebalancing", "the rebalancing is not done")
}

// confluentRule: every component has the same phases, a Connector two states.
func confluentRule(kind string) rule {
	switch kind {
	case "Connect", "ControlCenter", "Kafka", "KafkaRestProxy", "KRaftController", "KsqlDB", "SchemaRegistry", "Zookeeper":
		return byPhase(phases{good: []string{"RUNNING"}, bad: []string{"ERROR", "FAILED"}})
	case "Connector":
		return confluentConnector
	}
	return nil
}

func confluentConnector(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	state, failed := s.status.text("state"), s.status.count("failedTasksCount")
	switch {
	case state == "ERROR":
		words := "the connector is in state ERROR"
		if all := s.conditions(); len(all) > 0 {
			words = all[0].words()
		}
		return degraded(state, words)
	case failed > 0:
		return degraded("FailedTasks", fmt.Sprintf("%d tasks of the connector have failed", failed))
	case state == "CREATED" && s.status.text("connectorState") == "RUNNING":
		return healthy("Running", "the connector runs")
	}
	return progressing("NotRunning", "the connector does not run yet")
}

// banzaiRule judges a cluster by its state and the state of each broker.
func banzaiRule(kind string) rule {
	if kind == "KafkaCluster" {
		return banzaiCluster
	}
	return nil
}

func banzaiCluster(s subject) Result {
	state := s.status.text("state")
	brokers := s.status.sub("brokersState")
	for _, id := range slices.Sorted(maps.Keys(brokers)) {
		broker := brokers.sub(id)
		configured, acted := broker.text("configurationState"), broker.text("gracefulActionState", "cruiseControlState")
		switch {
		case strings.HasSuffix(acted, "CompletedWithError"), strings.HasSuffix(acted, "Failed"):
			return degraded(acted, "broker "+id+": "+acted)
		case configured != "ConfigInSync":
			return progressing("ConfigOutOfSync", sentence("broker "+id+" does not have its configuration yet", configured))
		case acted != "" && !strings.HasSuffix(acted, "Succeeded"):
			return progressing(acted, "broker "+id+": "+acted)
		}
	}
	switch {
	case state == "ClusterRunning" && len(brokers) > 0:
		return healthy(state, "the cluster runs")
	case state == "":
		return progressing("NoStatus", "its operator has not seen it yet")
	}
	return progressing(state, "the cluster is in state "+state)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
)

// elasticRule covers the kinds of Elastic's operator. Each of its groups ends in k8s.elastic.co.
func elasticRule(kind string) rule {
	switch kind {
	case "Elasticsearch":
		return elasticsearch
	case "Kibana", "ApmServer", "EnterpriseSearch", "ElasticMapsServer", "Logstash", "Beat", "Agent":
		return elasticClient
	}
	return nil
}

// elasticsearch is judged by its colour once nothing is in progress: while nodes come and go any colour is normal.
func elasticsearch(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	var desired int64
	for _, entry := range s.spec.list("nodeSets") {
		if set, ok := entry.(map[string]any); ok {
			desired += fields(set).count("count")
		}
	}
	phase, colour := s.status.text("phase"), s.status.text("health")
	available, reported := s.status.number("availableNodes")
	switch {
	case phase == "Invalid":
		return degraded(phase, "the spec is not valid")
	case !reported && phase == "":
		return progressing("NoStatus", "its operator has not seen it yet")
	case phase == "Stalled":
		return degraded(phase, "a change cannot go on without a person")
	case available < desired:
		return progressing("NodesNotAvailable", fmt.Sprintf("%d of %d nodes are available", available, desired))
	case phase != "Ready":
		return progressing(wordOf(phase), sentence("it is being changed", phase))
	}
	message := fmt.Sprintf("%d of %d nodes are available, the cluster is %s", available, desired, colour)
	switch colour {
	case "green":
		return healthy("Green", message)
	case "yellow", "red":
		return degraded("Shards", message)
	}
	return progressing("ColourUnknown", "the cluster does not tell its colour")
}

// elasticClient reports red when none of its instances is there, which is how each of them begins.
func elasticClient(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	colour := s.status.text("health")
	available := s.status.countOr(s.status.count("availableNodes"), "availableReplicas")
	switch message := fmt.Sprintf("%d instances are available, it is %s", available, colour); colour {
	case "":
		return progressing("NoStatus", "its operator has not seen it yet")
	case "green":
		return healthy("Green", message)
	default:
		return progressing("InstancesNotAvailable", message)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func cnpgRule(kind string) rule {
	if kind == "Cluster" {
		return cnpgCluster
	}
	return nil
}

// cnpgHibernation switches a database off, keeping its volumes.
const cnpgHibernation = "cnpg.io/hibernation"

// cnpgHealthyPhase is the operator's phase of a database that works.
const cnpgHealthyPhase = "Cluster in healthy state"

// cnpgCluster judges by the operator's phase, a sentence, and by the Ready condition. The operator has many phases for
// work in progress and few for needing a person; a phase that is not among the latter is work in progress.
func cnpgCluster(s subject) Result {
	if s.obj.GetAnnotations()[cnpgHibernation] == "on" {
		return suspended("Hibernated", "the database is hibernated")
	}
	if s.behind() {
		return s.unobserved()
	}
	phase, why := s.status.text("phase"), s.status.text("phaseReason")
	words := phase
	if why != "" {
		words += ": " + why
	}
	ready, reported := s.condition("Ready")
	switch {
	case cnpgNeedsPerson(phase):
		return degraded("ActionRequired", words)
	case phase != "" && phase != cnpgHealthyPhase:
		return progressing("InProgress", words)
	case reported && s.stale(ready):
		return s.unobserved()
	case reported && ready.isTrue():
		return healthy(ready.Reason, ready.words())
	case reported:
		return progressing(ready.Reason, ready.words())
	case phase == cnpgHealthyPhase:
		return healthy("ClusterIsReady", words)
	}
	return progressing("NoStatus", "its operator has not seen it yet")
}

func cnpgNeedsPerson(phase string) bool {
	switch phase {
	case "Waiting for user action",
		"Cluster is unrecoverable and needs manual intervention",
		"Cluster cannot execute instance online upgrade due to missing architecture binary",
		"Cluster cannot proceed to reconciliation due to an unknown plugin being required",
		"Cluster has incomplete or invalid image catalog",
		"Unable to create required cluster objects",
		"Not enough disk space":
		return true
	}
	return false
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func cnpgRule(kind string) rule {
	switch kind {
	case "Cluster":
		return cnpgCluster
	case "Database":
		return cnpgDatabase
	case "Backup":
		return byPhase(phases{good: []string{"completed"}, words: []string{"error"}, bad: []string{"failed", "walArchivingFailing"}})
	}
	return nil
}

const (
	// cnpgHibernation is the annotation, and the condition, of a database that is switched off.
	cnpgHibernation = "cnpg.io/hibernation"
	// cnpgReconciliation is the annotation that tells the operator to keep its hands off.
	cnpgReconciliation = "cnpg.io/reconciliationLoop"
)

// cnpgHealthyPhase is the operator's phase of a database that works.
const cnpgHealthyPhase = "Cluster in healthy state"

// cnpgCluster judges by the operator's phase, a sentence, and by the Ready condition. The operator has many phases for
// work in progress and few for needing a person; a phase that is not among the latter is work in progress.
func cnpgCluster(s subject) Result {
	if r, ok := cnpgSwitchedOff(s); ok {
		return r
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

// cnpgSwitchedOff judges a database that its owner switched off, and tells whether it is one.
func cnpgSwitchedOff(s subject) (Result, bool) {
	a := s.obj.GetAnnotations()
	if a[cnpgReconciliation] == "disabled" {
		return suspended("ReconciliationDisabled", "its operator was told not to look after it"), true
	}
	if a[cnpgHibernation] != "on" {
		return Result{}, false
	}
	c, ok := s.condition(cnpgHibernation)
	switch {
	case !ok:
		return progressing("Hibernating", "the database is being switched off"), true
	case c.isTrue():
		return suspended(c.Reason, c.words()), true
	}
	return progressing(c.Reason, c.words()), true
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

// cnpgDatabase judges a database inside of a Cluster. The operator reports the generation of successes only, so a
// failure before the first success for this generation may still heal, as when the owning role is created later.
func cnpgDatabase(s subject) Result {
	message := s.status.text("message")
	applied, reported := s.status.value("applied").(bool)
	switch observed := s.status.count("observedGeneration") == s.obj.GetGeneration(); {
	case observed && reported && applied:
		return healthy("Applied", message)
	case observed && reported:
		return degraded("NotApplied", message)
	case message == "":
		message = "its operator has not applied it yet"
	}
	return progressing("NotApplied", message)
}

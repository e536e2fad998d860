// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import "fmt"

// managementRule covers what manages clusters, networks and services from within a cluster.
func managementRule(group, kind string) rule {
	switch group {
	case "apps.3scale.net":
		return onlyKind(kind, "APIManager", byOutlook(outlook{good: []string{"Available"}, patient: true}))
	case "capabilities.3scale.net":
		return byOutlook(outlook{good: []string{"Synced", "Ready"}, anyGood: true, bad: []string{"Failed", "Invalid"}, patient: true})
	case "core.gardener.cloud":
		return onlyKind(kind, "Shoot", shoot)
	case "db.atlasgo.io":
		return atlasRule(kind)
	case "gateway.solo.io", "gloo.solo.io":
		return gloo
	case "kubernetes-client.io":
		return onlyKind(kind, "ExternalSecret", formerExternalSecret)
	case "networking.gke.io":
		// A name that does not point here yet is an answer that changes.
		return onlyKind(kind, "ManagedCertificate", byPhase(phases{
			at: []string{"certificateStatus"}, good: []string{"Active"}, bad: []string{"ProvisioningFailedPermanently", "RenewalFailed"},
		}))
	case "nmstate.io":
		return onlyKind(kind, "NodeNetworkConfigurationPolicy", byOutlook(outlook{good: []string{"Available"}, bad: []string{"Degraded"}, patient: true}))
	case "onepassword.com":
		return onlyKind(kind, "OnePasswordItem", ready())
	case "policy.open-cluster-management.io":
		return compliantRule(kind)
	case "promoter.argoproj.io":
		return ready()
	case "pulumi.com":
		return onlyKind(kind, "Stack", pulumiStack)
	case "services.cloud.sap.com":
		if kind == "ServiceInstance" || kind == "ServiceBinding" {
			return byOutlook(outlook{good: []string{"Ready"}, bad: []string{"Failed"}, patient: true})
		}
	case "work.karmada.io":
		if kind == "ResourceBinding" || kind == "ClusterResourceBinding" {
			return byOutlook(outlook{good: []string{"Scheduled", "FullyApplied"}, patient: true})
		}
	}
	return nil
}

// shoot retries what ends in Error by itself; Failed and Aborted it has given up.
func shoot(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	last := s.status.sub("lastOperation")
	state := last.text("state")
	message := sentence(fmt.Sprintf("%s: %s, %d %%", last.text("type"), state, last.count("progress")), last.text("description"))
	switch state {
	case "":
		return progressing("NoStatus", "its gardener has not seen it yet")
	case "Failed", "Aborted":
		return degraded(state, message)
	case "Succeeded":
		for _, c := range s.conditions() {
			if c.isFalse() {
				return degraded(c.Reason, c.Type+": "+c.words())
			}
		}
		return healthy(state, message)
	}
	return progressing(state, message)
}

func atlasRule(kind string) rule {
	if kind != "AtlasSchema" && kind != "AtlasMigration" {
		return nil
	}
	return byOutlook(outlook{good: []string{"Ready"}, passing: []string{"Reconciling", "Migrating", "GettingDevDB", "Applying", "ApprovalPending"}})
}

// gloo is judged by each of its controllers, which write a word or, in early versions, its number.
func gloo(s subject) Result {
	verdicts := []fields{s.status}
	if each := s.status.sub("statuses"); each != nil {
		verdicts = nil
		for _, namespace := range each.names() {
			verdicts = append(verdicts, each.sub(namespace))
		}
	}
	worst := healthy("Accepted", "it is accepted")
	for _, f := range verdicts {
		word := f.text("state")
		if n, ok := f.number("state"); ok && n >= 0 && n < 4 {
			word = []string{"Pending", "Accepted", "Rejected", "Warning"}[n]
		}
		r := healthy("Accepted", "it is accepted")
		switch word {
		case "Accepted":
		case "":
			if s.status == nil {
				// Some of the kinds are never reported on.
				return Result{}
			}
			r = progressing("NoStatus", "no controller has taken it up yet")
		case "Rejected":
			r = degraded(word, sentence(word, f.text("reason")))
		default:
			r = progressing(word, sentence(word, f.text("reason")))
		}
		if r.Status.WorseThan(worst.Status) {
			worst = r
		}
	}
	return worst
}

// formerExternalSecret is the kind of the project that external-secrets took the place of: one text tells it all.
func formerExternalSecret(s subject) Result {
	switch text := s.status.text("status"); text {
	case "":
		return progressing("NoStatus", "its controller has not seen it yet")
	case "SUCCESS":
		return healthy("Success", "the Secret is written")
	default:
		return degraded("Error", text)
	}
}

// compliantRule: a policy that only informs waits for a person, one that enforces works on it.
func compliantRule(kind string) rule {
	switch kind {
	case "CertificatePolicy", "ConfigurationPolicy", "OperatorPolicy", "Policy":
	default:
		return nil
	}
	return func(s subject) Result {
		if s.spec.isTrue("disabled") {
			return suspended("Disabled", "its spec says disabled: true")
		}
		words := phases{at: []string{"compliant"}, good: []string{"Compliant"}}
		if mode := s.spec.text("remediationAction"); mode != "enforce" && mode != "Enforce" {
			words.bad = []string{"NonCompliant"}
		}
		return s.byPhase(words)
	}
}

// pulumiStack says Stalled when it needs a person; versions without conditions have the state of the last update.
func pulumiStack(s subject) Result {
	if _, ok := s.condition("Ready"); ok {
		return s.byOutlook(outlook{good: []string{"Ready"}, bad: []string{"Stalled"}, patient: true})
	}
	return s.byPhase(phases{at: []string{"lastUpdate", "state"}, words: []string{"lastUpdate", "message"}, good: []string{"succeeded"}, bad: []string{"failed"}})
}

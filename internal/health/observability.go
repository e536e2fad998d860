// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import "strings"

// grafanaRule covers the Grafana operator: instances go through stages, what belongs to them is synchronised.
func grafanaRule(kind string) rule {
	switch kind {
	case "Grafana":
		return grafana
	case "GrafanaAlertRuleGroup", "GrafanaContactPoint", "GrafanaDashboard", "GrafanaDatasource", "GrafanaFolder", "GrafanaLibraryPanel",
		"GrafanaMuteTiming", "GrafanaNotificationPolicy", "GrafanaNotificationTemplate", "GrafanaServiceAccount":
		return grafanaContent
	}
	return nil
}

func grafana(s subject) Result {
	stage, outcome := s.status.text("stage"), s.status.text("stageStatus")
	message := sentence("stage "+stage, s.status.text("lastMessage"))
	switch {
	case s.spec.isTrue("suspend"):
		return suspended("Suspended", "its spec says suspend: true")
	case s.behind():
		return s.unobserved()
	case stage == "":
		return progressing("NoStatus", "its operator has not seen it yet")
	case outcome == "failed":
		return degraded("StageFailed", message)
	case stage == "complete" && outcome == "success":
		return healthy("Complete", "every stage is complete")
	}
	return progressing("StageInProgress", message)
}

// grafanaContent is written to instances, which may come a moment later.
func grafanaContent(s subject) Result {
	if s.spec.isTrue("suspend") {
		return suspended("Suspended", "its spec says suspend: true")
	}
	for _, c := range s.conditions() {
		switch {
		case s.stale(c):
			return s.unobserved()
		case c.Type == "InvalidSpec" && c.isTrue():
			return degraded(c.Type, c.words())
		case c.Type == "NoMatchingInstance" && c.isTrue():
			return progressing(c.Type, c.words())
		case strings.HasSuffix(c.Type, "Synchronized") && c.isTrue():
			return healthy(c.Reason, c.words())
		case strings.HasSuffix(c.Type, "Synchronized") && c.isFalse():
			return degraded(c.Reason, c.words())
		}
	}
	if s.status.text("hash") != "" {
		// What versions wrote before they had conditions.
		return healthy("Synchronized", "it is in its instances")
	}
	return progressing("ConditionAbsent", "its operator has not reported its state yet")
}

// tracingRule covers collectors of traces and what shows them.
func tracingRule(group, kind string) rule {
	switch group + "/" + kind {
	case "opentelemetry.io/OpenTelemetryCollector":
		return collector
	case "jaegertracing.io/Jaeger":
		return byPhase(phases{good: []string{"Running"}, bad: []string{"Failed"}})
	case "kiali.io/Kiali":
		return ansible
	case "datadoghq.com/DatadogMetric":
		return datadogMetric
	}
	return nil
}

// collector counts its Pods as "ready/wanted", and has none in the mode that puts it into those of others.
func collector(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	if s.spec.text("managementState") == "unmanaged" {
		return suspended("Unmanaged", "its operator was told to leave it alone")
	}
	if s.spec.text("mode") == "sidecar" {
		return healthy("Sidecar", "it runs in the Pods of others")
	}
	counts := s.status.text("scale", "statusReplicas")
	ready, wanted, ok := strings.Cut(counts, "/")
	switch {
	case !ok:
		return progressing("NoStatus", "its operator has not counted its Pods yet")
	case ready == wanted && wanted != "0":
		return healthy("Ready", counts+" Pods are ready")
	case ready == wanted && s.spec.countOr(1, "replicas") == 0:
		return healthy("ScaledToZero", "it is scaled to zero")
	}
	return progressing("PodsNotReady", counts+" Pods are ready")
}

// ansible judges the conditions of operators made with Ansible: Running goes on being True, its reason tells.
func ansible(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	if c, ok := s.condition("Failure"); ok && c.isTrue() {
		return degraded(c.Reason, c.words())
	}
	running, _ := s.condition("Running")
	done, _ := s.condition("Successful")
	switch {
	case running.isTrue() && running.Reason == "Running":
		return progressing(running.Reason, running.words())
	case running.isTrue() && running.Reason == "Successful", done.isTrue():
		return healthy("Successful", "the last run of its operator succeeded")
	}
	return progressing("ConditionAbsent", "its operator has not run yet")
}

// datadogMetric is inactive until an autoscaler asks for it, which may be a wave later.
func datadogMetric(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	if c, ok := s.condition("Error"); ok && c.isTrue() {
		return degraded(c.Reason, c.words())
	}
	if c, ok := s.condition("Active"); ok && c.isFalse() {
		return healthy("Inactive", "no autoscaler asks for it")
	}
	return s.byOutlook(outlook{good: []string{"Valid"}, patient: true})
}

// humioRule: clusters run, everything else exists.
func humioRule(kind string) rule {
	switch kind {
	case "HumioCluster":
		return byPhase(phases{at: []string{"state"}, good: []string{"Running"}, bad: []string{"ConfigError"}})
	case "HumioAction", "HumioAlert", "HumioIngestToken", "HumioParser", "HumioRepository", "HumioView":
		return byPhase(phases{at: []string{"state"}, good: []string{"Exists"}, bad: []string{"ConfigError"}, unclear: []string{"Unknown"}})
	}
	return nil
}

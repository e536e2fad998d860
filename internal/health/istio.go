// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import "strconv"

// istioRule covers what installs Istio.
func istioRule(group, kind string) rule {
	switch {
	case group == "install.istio.io" && kind == "IstioOperator":
		return istioOperator
	case group == "sailoperator.io" && (kind == "Istio" || kind == "IstioRevision" || kind == "IstioCNI" || kind == "ZTunnel"):
		// Ready is False while the control plane starts.
		return byOutlook(outlook{good: []string{"Reconciled", "Ready"}, passing: []string{"IstiodNotReady", "CNINotReady", "DaemonSetNotReady", "NotReady"}})
	}
	return nil
}

// istioOperator reports one word, or in early versions its number.
func istioOperator(s subject) Result {
	word := s.status.text("status")
	if n, ok := s.status.number("status"); ok && n >= 0 && n < 6 {
		word = []string{"NONE", "UPDATING", "RECONCILING", "HEALTHY", "ERROR", "ACTION_REQUIRED"}[n]
	}
	message := sentence(word, s.status.text("message"))
	switch word {
	case "":
		return progressing("NoStatus", "its operator has not seen it yet")
	case "NONE":
		return unknown(word, "the component is not there")
	case "HEALTHY":
		return healthy(word, message)
	case "ERROR", "ACTION_REQUIRED":
		return degraded(word, message)
	}
	return progressing(word, message)
}

// istioConfigRule covers what configures Istio: routing, security, telemetry. Istio reports about these only when it was
// told to analyse them, so that without a report nothing is known.
func istioConfigRule(string) rule { return istioConfig }

func istioConfig(s subject) Result {
	// The generation is written as text.
	if seen, err := strconv.ParseInt(s.status.text("observedGeneration"), 10, 64); s.behind() || err == nil && seen < s.obj.GetGeneration() {
		return s.unobserved()
	}
	for _, entry := range s.status.list("validationMessages") {
		m, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		message := fields(m)
		if message.text("level") == "ERROR" {
			return degraded(wordOf(message.text("type", "name")), sentence(message.text("type", "code"), message.text("documentationUrl")))
		}
	}
	c, ok := s.condition("Reconciled")
	switch {
	case !ok:
		return Result{}
	case s.stale(c):
		return s.unobserved()
	case c.isTrue():
		return healthy("Reconciled", c.words())
	}
	// Proxies that do not have it yet.
	return progressing("NotReconciled", c.words())
}

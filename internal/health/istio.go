// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// istioRule covers what installs Istio. Of what configures it, networking and security, Istio reports nothing unless
// told to.
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

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func certManagerRule(kind string) rule {
	switch kind {
	case "Certificate":
		return certificate
	case "Issuer", "ClusterIssuer":
		return func(s subject) Result { return s.byCondition("Ready") }
	case "CertificateRequest":
		return byOutlook(outlook{good: []string{"Ready"}, bad: []string{"Denied", "InvalidRequest"}, passing: []string{"Pending"}})
	}
	return nil
}

// certificate is Progressing while one is being issued: until then Ready is False merely because there is no
// certificate yet. When issuing failed, the grounds are on the Issuing condition.
func certificate(s subject) Result {
	issuing, ok := s.condition("Issuing")
	if ok && issuing.isTrue() {
		return progressing(issuing.Reason, issuing.words())
	}
	r := s.byCondition("Ready")
	if r.Status == Degraded && ok && issuing.isFalse() && issuing.Message != "" {
		r.Reason, r.Message = issuing.Reason, r.Message+": "+issuing.words()
	}
	return r
}

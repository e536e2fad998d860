// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func apiregistrationRule(kind string) rule {
	if kind == "APIService" {
		return apiService
	}
	return nil
}

func apiService(s subject) Result {
	if !s.versionIn("apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1beta1") {
		return unsupported(s)
	}
	c, ok := s.condition("Available")
	switch {
	case !ok:
		return progressing("NoStatus", "its availability has not been checked yet")
	case c.isTrue():
		return healthy(c.Reason, c.words())
	}
	return progressing(c.Reason, c.words())
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func apiextensionsRule(kind string) rule {
	if kind == "CustomResourceDefinition" {
		return customResourceDefinition
	}
	return nil
}

func customResourceDefinition(s subject) Result {
	all := s.conditions()
	if len(all) == 0 {
		return progressing("NoStatus", "the API server has not seen it yet")
	}
	for _, c := range all {
		if c.Type == "Terminating" && c.isTrue() {
			return progressing(c.Reason, c.words())
		}
	}
	for _, c := range all {
		if c.Type == "NamesAccepted" && c.isFalse() || c.Type == "NonStructuralSchema" && c.isTrue() {
			return degraded(c.Reason, c.words())
		}
	}
	established, ok := s.condition("Established")
	switch {
	case ok && established.isTrue():
		return healthy("Established", established.words())
	case ok && established.Reason == "InvalidCABundle":
		return degraded(established.Reason, established.words())
	}
	// Between accepting the names and serving them nothing can be wrong that a condition above would not say.
	return progressing("Installing", "the API is being installed")
}

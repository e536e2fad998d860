// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// fluxRule covers the kinds below toolkit.fluxcd.io, which share their conditions.
func fluxRule(kind string) rule {
	switch kind {
	case "HelmRepository":
		return func(s subject) Result {
			if s.spec.text("type") == "oci" && len(s.conditions()) == 0 {
				return healthy("Static", "a registry is not fetched as a whole and has no state")
			}
			return flux(s)
		}
	case "Kustomization", "HelmRelease", "GitRepository", "OCIRepository", "HelmChart", "Bucket", "ExternalArtifact",
		"ImageRepository", "ImagePolicy", "ImageUpdateAutomation", "Receiver":
		return flux
	}
	return nil
}

// flux judges by the conditions of the toolkit: Stalled means that it needs a person, Reconciling that it works on it,
// and Ready is False between two attempts as well as after the last.
func flux(s subject) Result {
	if s.spec.isTrue("suspend") {
		return suspended("Suspended", "its spec says suspend: true")
	}
	if s.behind() {
		return s.unobserved()
	}
	if c, ok := s.condition("Stalled"); ok && c.isTrue() && !s.stale(c) {
		return degraded(c.Reason, c.words())
	}
	r := s.byCondition("Ready")
	if c, ok := s.condition("Reconciling"); ok && c.isTrue() && !s.stale(c) && r.Status == Healthy {
		return progressing(c.Reason, c.words())
	}
	// Both say no more than that another object is not there yet.
	if r.Status == Degraded && (r.Reason == "DependencyNotReady" || r.Reason == "ArtifactFailed") {
		r.Status = Progressing
	}
	return r
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// crossplaneRule covers every kind of the groups below crossplane.io and upbound.io: managed resources of providers,
// packages, and what they are configured by.
func crossplaneRule(kind string) rule { return func(s subject) Result { return crossplane(s, kind) } }

func crossplane(s subject, kind string) Result {
	if len(s.conditions()) == 0 && crossplaneStatic(kind) {
		if s.behind() {
			return s.unobserved()
		}
		return healthy("NoStatus", "a "+kind+" has no state of its own")
	}
	return s.byOutlook(outlook{
		// A kind reports two or three of these.
		good: []string{
			"LastAsyncOperation", "Synced", "Installed", "Established", "Offered", "ValidPipeline", "RevisionHealthy", "Healthy", "Ready",
		},
		anyGood: true,
		// A package that is being fetched and started, an object that is being made.
		passing: []string{"UnpackingPackage", "InactivePackageRevision", "UnhealthyPackageRevision", "AwaitingVerification", "Creating", "Unavailable", "WaitingToBeEstablished"},
	}).unlessOnly(s, "Synced")
}

// unlessOnly makes a good verdict wait when the condition named is all there is: the object was sent to the provider,
// which has said nothing of it yet.
func (r Result) unlessOnly(s subject, kind string) Result {
	if all := s.conditions(); r.Status == Healthy && len(all) == 1 && all[0].Type == kind {
		return progressing("ConditionAbsent", "its controller has not reported Ready yet")
	}
	return r
}

// crossplaneStatic are kinds that may never report anything.
func crossplaneStatic(kind string) bool {
	switch kind {
	case "Composition", "CompositionRevision", "ControllerConfig", "DeploymentRuntimeConfig", "EnvironmentConfig", "ImageConfig",
		"ProviderConfig", "ClusterProviderConfig", "ProviderConfigUsage", "StoreConfig":
		return true
	}
	return false
}

// configConnectorRule covers every kind of the groups below cnrm.cloud.google.com, whose one condition says most in its
// reason.
func configConnectorRule(string) rule { return configConnector }

func configConnector(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	// Only the kinds that configure the operator itself report this.
	if well, ok := s.status.value("healthy").(bool); ok {
		if well {
			return healthy("Healthy", "the operator is healthy")
		}
		return degraded("Unhealthy", sentence("the operator is not healthy", firstText(s.status.list("errors"))))
	}
	c, ok := s.condition("Ready")
	switch {
	case !ok:
		return progressing("ConditionAbsent", "its controller has not reported Ready yet")
	case c.isTrue():
		return healthy(c.Reason, c.words())
	case c.Reason == "UpdateFailed", c.Reason == "DeleteFailed", c.Reason == "DependencyNotFound", c.Reason == "DependencyInvalid", c.Reason == "ManagementConflict":
		return degraded(c.Reason, c.words())
	}
	return progressing(c.Reason, c.words())
}

func firstText(list []any) string {
	for _, v := range list {
		if text, ok := v.(string); ok {
			return text
		}
	}
	return ""
}

// ackRule covers every kind of the groups below services.k8s.aws. Controllers that do not write Ready yet say with
// ACK.ResourceSynced that the resource is as wanted.
func ackRule(string) rule { return ack }

func ack(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	if c, ok := s.condition("ACK.Terminal"); ok && c.isTrue() && !s.stale(c) {
		return degraded("Terminal", c.words())
	}
	for _, kind := range []string{"Ready", "ACK.ResourceSynced"} {
		c, ok := s.condition(kind)
		switch {
		case !ok:
			continue
		case s.stale(c):
			return s.unobserved()
		case c.isTrue():
			return healthy(c.Reason, c.words())
		}
		if why, ok := s.condition("ACK.Recoverable"); ok && why.isTrue() {
			c = why
		}
		return progressing(c.Reason, c.words())
	}
	return progressing("ConditionAbsent", "its controller has not reported Ready yet")
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// knativeRule covers the kinds of knative.dev that report whether they are ready. Unknown means work in progress there,
// False that it has failed.
func knativeRule(group, kind string) rule {
	switch kind {
	case "KnativeServing", "KnativeEventing":
		if group == "operator.knative.dev" {
			return byOutlook(outlook{good: []string{"InstallSucceeded", "DependenciesInstalled", "DeploymentsAvailable", "Ready"}, anyGood: true, passing: []string{"NotReady"}})
		}
	case "Service", "Configuration", "Route", "Revision", "DomainMapping",
		"Broker", "Trigger", "EventPolicy", "Channel", "InMemoryChannel", "KafkaChannel", "Subscription", "Sequence", "Parallel",
		"ApiServerSource", "ContainerSource", "KafkaSource", "PingSource", "SinkBinding":
		return ready()
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func kedaRule(kind string) rule {
	switch kind {
	case "ScaledObject":
		// On Fallback it scales blindly: its source of numbers does not answer.
		return byOutlook(outlook{good: []string{"Ready"}, bad: []string{"Fallback"}, paused: []string{"Paused"}})
	case "ScaledJob":
		return byOutlook(outlook{good: []string{"Ready"}, paused: []string{"Paused"}})
	case "CloudEventSource", "ClusterCloudEventSource":
		return byOutlook(outlook{good: []string{"Active"}})
	}
	return nil
}

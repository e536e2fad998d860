// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Switch is an option of Wavetrain's own annotation.
type Switch struct {
	Name string
	// Values are those it may have; none stand for any duration above zero.
	Values []string
	// Application and Object say on what it may stand.
	Application, Object bool
}

// Switches are all options that Wavetrain adds to those of Argo CD, by name. Most
// take a difference in behaviour back.
func Switches() []Switch {
	return []Switch{
		{Name: "DeferPrune", Values: []string{"false"}, Application: true, Object: true},
		{Name: "DeleteWaves", Values: []string{"false"}, Application: true},
		{Name: "DryRun", Values: []string{"client"}, Application: true},
		{Name: "Duplicates", Values: []string{"last-wins"}, Application: true},
		{Name: "EffectGate", Values: []string{"false"}, Application: true, Object: true},
		{Name: "GateGrace", Application: true, Object: true},
		{Name: "GateTimeout", Application: true, Object: true},
		{Name: "HealBackoff", Values: []string{"application"}, Application: true},
		{Name: "HookChanges", Values: []string{"false"}, Application: true},
		{Name: "HookPolicy", Values: []string{"operation"}, Application: true, Object: true},
		{Name: "NamespaceHandover", Values: []string{"false"}, Application: true},
		{Name: "ObservedGeneration", Values: []string{"false"}, Application: true, Object: true},
		{Name: "PendingByDesign", Values: []string{"gate"}, Application: true, Object: true},
		{Name: "ProducersFirst", Values: []string{"false"}, Application: true, Object: true},
		{Name: "PruneDefinitions", Values: []string{"false"}, Application: true},
		{Name: "PruneGuard", Values: []string{"false"}, Application: true, Object: true},
		{Name: "Resume", Values: []string{"false"}, Application: true},
		{Name: "RollbackPin", Values: []string{"false"}, Application: true},
		{Name: "Supersede", Values: []string{"false"}, Application: true},
		{Name: "WaveDelay", Application: true},
	}
}

// argoOptions are the names of Argo CD's options. On an object both annotations
// have them, on an Application they belong into the spec.
func argoOptions() []string {
	return []string{
		"ApplyOutOfSyncOnly", "ClientSideApplyMigration", "CreateNamespace", "Delete", "FailOnSharedResource", "Force", "Prune", "PruneLast",
		"PrunePropagationPolicy", "Replace", "RespectIgnoreDifferences", "ServerSideApply", "SkipDryRunOnMissingResource", "Validate",
	}
}

// CheckSwitches says what is wrong with the options of Wavetrain's own annotation on
// an Application or, otherwise, on an object: such an option has no effect.
func CheckSwitches(set OptionSet, application bool) []string {
	var wrong []string
	for _, option := range set {
		if why := checkSwitch(option, application); why != "" {
			wrong = append(wrong, fmt.Sprintf("sync option %q %s", option, why))
		}
	}
	return wrong
}

func checkSwitch(option string, application bool) string {
	name, value, _ := strings.Cut(option, "=")
	if slices.Contains(argoOptions(), name) {
		if application {
			return "belongs into spec.syncPolicy.syncOptions"
		}
		return ""
	}
	switches := Switches()
	i := slices.IndexFunc(switches, func(s Switch) bool { return s.Name == name })
	if i < 0 {
		return "is not known" + likely(name, switches)
	}
	s := switches[i]
	switch {
	case application && !s.Application:
		return "is for objects, not for Applications"
	case !application && !s.Object:
		return "is for Applications, not for objects"
	case len(s.Values) > 0 && !slices.Contains(s.Values, value):
		return "has no such value: it may be " + strings.Join(s.Values, " or ")
	case len(s.Values) == 0:
		if d, err := time.ParseDuration(value); err != nil || d <= 0 {
			return "is no duration, such as 90s or 10m"
		}
	}
	return ""
}

// likely suggests the option that differs only in upper and lower case.
func likely(name string, switches []Switch) string {
	for _, s := range switches {
		if strings.EqualFold(s.Name, name) {
			return "; there is " + s.Name
		}
	}
	return ""
}

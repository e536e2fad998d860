// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckSwitches(t *testing.T) {
	tests := map[string]struct {
		options     string
		application bool
		want        []string
	}{
		"known on an Application":         {options: "WaveDelay=2s, PruneGuard=false,Resume=false", application: true},
		"known on an object":              {options: "GateTimeout=90s,HookPolicy=operation"},
		"not known":                       {options: "Wavedelays=2s", application: true, want: []string{`sync option "Wavedelays=2s" is not known`}},
		"another case":                    {options: "waveDelay=2s", application: true, want: []string{`sync option "waveDelay=2s" is not known; there is WaveDelay`}},
		"a value it has not":              {options: "DryRun=server", application: true, want: []string{`sync option "DryRun=server" has no such value: it may be client`}},
		"no value":                        {options: "Supersede", application: true, want: []string{`sync option "Supersede" has no such value: it may be false`}},
		"no duration":                     {options: "GateTimeout=ten", want: []string{`sync option "GateTimeout=ten" is no duration, such as 90s or 10m`}},
		"for Applications only":           {options: "WaveDelay=2s", want: []string{`sync option "WaveDelay=2s" is for Applications, not for objects`}},
		"Argo CD's on an object":          {options: "Prune=false"},
		"Argo CD's on an Application":     {options: "Prune=false", application: true, want: []string{`sync option "Prune=false" belongs into spec.syncPolicy.syncOptions`}},
		"all that is wrong, in its order": {options: "B=1,A=1", want: []string{`sync option "B=1" is not known`, `sync option "A=1" is not known`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := CheckSwitches(ParseOptions(test.options), test.application); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSwitchesAreInOrder(t *testing.T) {
	if !slices.IsSortedFunc(Switches(), func(a, b Switch) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the switches are not ordered by name")
	}
}

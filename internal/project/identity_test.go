// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/project"
)

func TestServiceAccount(t *testing.T) {
	entry := func(server, namespace, account string) v1alpha1.DestinationServiceAccount {
		return v1alpha1.DestinationServiceAccount{Server: server, Namespace: namespace, DefaultServiceAccount: account}
	}
	list := func(entries ...v1alpha1.DestinationServiceAccount) []v1alpha1.DestinationServiceAccount {
		return entries
	}
	here := project.Destination{Server: "https://one.example.test", Namespace: "team-a"}
	nowhere := project.Destination{Server: "https://one.example.test"}
	for name, c := range map[string]struct {
		reason      string
		list        []v1alpha1.DestinationServiceAccount
		d           project.Destination
		want, fault string
	}{
		"by name":       {"an account of the destination namespace", list(entry("*", "*", "deployer")), here, "system:serviceaccount:team-a:deployer", ""},
		"qualified":     {"an account of another namespace", list(entry("*", "*", "ops:deployer")), here, "system:serviceaccount:ops:deployer", ""},
		"first":         {"the first that matches counts", list(entry("*", "team-b", "b"), entry("https://one.*", "team-*", "a"), entry("*", "*", "c")), here, "system:serviceaccount:team-a:a", ""},
		"no namespace":  {"without a destination namespace that of the Application", list(entry("*", "*", "deployer")), nowhere, "system:serviceaccount:apps:deployer", ""},
		"empty pattern": {"no pattern matches no namespace alone", list(entry("*", "", "deployer")), here, "", "no matching service account found"},
		"none":          {"nothing fits", list(entry("https://two.example.test", "*", "x")), here, "", "no matching service account found for destination server https://one.example.test and namespace team-a: add an entry to spec.destinationServiceAccounts of AppProject team"},
		"empty":         {"an entry without an account is a mistake", list(entry("*", "*", " ")), here, "", "invalid chars"},
		"pattern":       {"so is a pattern for one", list(entry("*", "*", "team-*")), here, "", "invalid chars 'team-*'"},
		"three parts":   {"and a whole user name", list(entry("*", "*", "system:serviceaccount:a:b")), here, "", "invalid chars"},
		"half":          {"and half a name", list(entry("*", "*", "ops:")), here, "", "invalid chars"},
		"malformed":     {"a malformed pattern must not fall through to the next", list(entry("[", "*", "a"), entry("*", "*", "b")), here, "", "invalid glob pattern for destination server"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rules(v1alpha1.AppProjectSpec{DestinationServiceAccounts: c.list}).ServiceAccount(c.d, "apps")
			if got != c.want || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: got %q, %v", c.reason, got, err)
			}
		})
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
)

func TestNamesOfApplications(t *testing.T) {
	for name, c := range map[string]struct {
		reason       string
		appNamespace string
		arg          string
		want, fault  string
	}{
		"plain":       {"without a namespace it lies in the control namespace", "", "shop", "argocd/shop", ""},
		"flag":        {"the flag names another", "team-a", "shop", "team-a/shop", ""},
		"qualified":   {"so does the name", "", "team-a/shop", "team-a/shop", ""},
		"both":        {"both may say the same", "team-a", "team-a/shop", "team-a/shop", ""},
		"differing":   {"but not two things", "team-b", "team-a/shop", "", "name two namespaces"},
		"no name":     {"a namespace is no name", "", "team-a/", "", "is no name of an Application"},
		"no space":    {"nothing before the slash", "", "/shop", "", "is no name of an Application"},
		"three parts": {"Argo CD knows no more parts either", "", "a/b/c", "", "is no name of an Application"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kube{namespace: "argocd", appNamespace: c.appNamespace}
			got, err := k.app(c.arg)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("%s: %v, %v", c.reason, got, err)
				}
			} else if err != nil || got.String() != c.want {
				t.Errorf("%s: %v, %v", c.reason, got, err)
			}
		})
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"os"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/sandbox/internal/version"
)

func TestKubernetesIsThatOfGoMod(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "k8s.io/kubernetes " + version.Kubernetes() + "\n"; !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not require %q", want)
	}
}

func TestRegistryReportsIt(t *testing.T) {
	registry, err := version.Registry()
	if err != nil {
		t.Fatal(err)
	}
	info := registry.EffectiveVersionFor("kube").Info()
	if info.GitVersion != version.Kubernetes() || info.Major != "1" {
		t.Errorf("reports %q (major %q), want %q", info.GitVersion, info.Major, version.Kubernetes())
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package version knows which Kubernetes is linked into this binary. A plain `go build` does not set the version
// Kubernetes reports of itself, and clients cannot parse the placeholder it reports then.
package version

import (
	"fmt"
	"runtime/debug"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	apiservercompatibility "k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/compatibility"
)

// fallback is the Kubernetes version of go.mod, for binaries that carry no build information.
const fallback = "v1.37.2"

// Kubernetes is the version of the linked Kubernetes, such as v1.37.2: taken from the build information, where it
// cannot differ from what was compiled.
func Kubernetes() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return fallback
	}
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/kubernetes" {
			return dep.Version
		}
	}
	return fallback
}

// Registry returns a registry of component versions in which Kubernetes has that version, for the API server to
// report. It is not the process-global one, which Kubernetes fills in when it is linked.
func Registry() (compatibility.ComponentGlobalsRegistry, error) {
	v := reported{
		MutableEffectiveVersion: apiservercompatibility.DefaultBuildEffectiveVersion(),
		gitVersion:              Kubernetes(),
	}
	registry := compatibility.NewComponentGlobalsRegistry()
	if err := registry.Register(compatibility.DefaultKubeComponent, v, utilfeature.DefaultMutableFeatureGate); err != nil {
		return nil, fmt.Errorf("register Kubernetes version %s: %w", v.gitVersion, err)
	}
	return registry, nil
}

// reported is an effective version that names itself correctly.
type reported struct {
	compatibility.MutableEffectiveVersion
	gitVersion string
}

// Info implements compatibility.EffectiveVersion.
func (r reported) Info() *apimachineryversion.Info {
	info := r.MutableEffectiveVersion.Info()
	if info == nil {
		return nil
	}
	named := *info
	named.GitVersion = r.gitVersion
	return &named
}

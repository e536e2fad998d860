// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/wavetrain/wavetrain/internal/render/trace"
)

// Identity is what every chart may read of its release and cluster.
type Identity struct{ Release, Namespace, KubeVersion string }

// IdentityOf returns what a chart would read of its release and cluster.
func IdentityOf(in Input) (Identity, error) {
	version, err := kubeVersion(in)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Release: in.release(), Namespace: in.namespace(), KubeVersion: version.Version}, nil
}

func (in Input) release() string {
	if in.Options.ReleaseName != "" {
		return in.Options.ReleaseName
	}
	return in.AppName
}

func (in Input) namespace() string {
	if in.Options.Namespace != "" {
		return in.Options.Namespace
	}
	return in.Namespace
}

func capabilitiesFor(in Input) (*common.Capabilities, error) {
	version, err := kubeVersion(in)
	if err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	capabilities.APIVersions = ServedVersions(in.Options.APIVersions, in.APIVersions)
	return capabilities, nil
}

func kubeVersion(in Input) (*common.KubeVersion, error) {
	version := DefaultKubeVersion
	switch {
	case in.Options.KubeVersion != "":
		version = in.Options.KubeVersion
	case in.KubeVersion != "":
		version = in.KubeVersion
	}
	parsed, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("Kubernetes version %q: %w", version, err)
	}
	return parsed, nil
}

// ServedVersions is every API version that a chart is told of.
func ServedVersions(options, destination []string) []string {
	extra := options
	if len(extra) == 0 {
		extra = destination
	}
	return append(slices.Clip([]string(common.DefaultCapabilities.APIVersions)), extra...)
}

// observedCapabilities is what templates see as .Capabilities: they may ask about
// one API version, and only what they asked is recorded. So a new definition in
// the cluster concerns only the charts that asked about it.
type observedCapabilities struct {
	KubeVersion common.KubeVersion
	APIVersions observedVersions
	HelmVersion any
}

type observedVersions struct {
	versions common.VersionSet
	trace    *trace.Recorder
}

// Has tells templates whether the cluster serves an API version.
func (v observedVersions) Has(version string) bool {
	has := v.versions.Has(version)
	v.trace.Answered(has, trace.Serves, version)
	return has
}

// wholeList finds templates that want the list of API versions itself, to range
// over it or to hand it on.
var wholeList = regexp.MustCompile(`APIVersions(?:[^.\w]|\.[^H]|$)`)

// observed returns .Capabilities for a chart.
func (c *loaded) observed(capabilities *common.Capabilities, values map[string]any, recorder *trace.Recorder) any {
	if c.wantsList(c.chart) || valuesWantList(values) {
		recorder.Answered(capabilities.APIVersions, trace.APIVersions)
		return capabilities
	}
	return &observedCapabilities{
		KubeVersion: capabilities.KubeVersion, HelmVersion: capabilities.HelmVersion,
		APIVersions: observedVersions{versions: capabilities.APIVersions, trace: recorder},
	}
}

func (c *loaded) wantsList(ch *chart.Chart) bool {
	for _, t := range ch.Templates {
		if bytes.Contains(t.Data, []byte("APIVersions")) && wholeList.Match(t.Data) {
			return true
		}
	}
	return valuesWantList(ch.Values) || slices.ContainsFunc(ch.Dependencies(), c.wantsList)
}

// valuesWantList looks at values, which templates may execute.
func valuesWantList(values map[string]any) bool {
	var seen struct{ template, list bool }
	var look func(v any)
	text := func(s string) {
		seen.template = seen.template || strings.Contains(s, "{{")
		seen.list = seen.list || wholeList.MatchString(s)
	}
	look = func(v any) {
		switch v := v.(type) {
		case string:
			text(v)
		case []any:
			for _, item := range v {
				look(item)
			}
		case map[string]any:
			for key, item := range v {
				text(key)
				look(item)
			}
		}
	}
	look(values)
	return seen.template && seen.list
}

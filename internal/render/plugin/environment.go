// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render"
)

// environment is what a plugin's commands see: the path to programs, the build
// variables, what the Application sets, and its parameters.
func environment(path, home string, options v1alpha1.ApplicationSourcePlugin, target render.Target) ([]string, error) {
	env := map[string]string{
		"PATH": path, "HOME": home, "TMPDIR": home,
		"KUBE_VERSION": strings.TrimPrefix(target.KubeVersion, "v"), "KUBE_API_VERSIONS": strings.Join(target.APIVersions, ","),
	}
	maps.Copy(env, target.Env)
	for _, e := range options.Env {
		env["ARGOCD_ENV_"+e.Name] = target.Expand(e.Value)
	}
	list := options.Parameters
	if list == nil {
		list = []v1alpha1.PluginParameter{}
	}
	parameters, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("plugin.parameters: %w", err)
	}
	env["ARGOCD_APP_PARAMETERS"] = string(parameters)
	for _, p := range options.Parameters {
		name := "PARAM_" + variable(p.Name)
		if p.String != nil {
			env[name] = *p.String
		}
		for i, value := range p.Array {
			env[name+"_"+strconv.Itoa(i)] = value
		}
		for key, value := range p.Map {
			env[name+"_"+variable(key)] = value
		}
	}
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out, nil
}

// variable turns a name into that of an environment variable.
func variable(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

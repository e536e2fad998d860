// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Keys about how sources are rendered.
const (
	keyBuildOptions = "kustomize.buildOptions"
	keyFileSchemes  = "helm.valuesFileSchemes"
)

// Rendering says what sources may do when they are rendered.
type Rendering struct {
	// KustomizeHelm lets kustomizations inflate charts.
	KustomizeHelm bool
	// FileSchemes are the schemes of URLs from which charts take value files.
	FileSchemes []string
}

// rendering reads what sources may do. Of the options of "kustomize build" those
// count that have a meaning without the tool.
func (r *reader) rendering() Rendering {
	set := Rendering{FileSchemes: []string{"http", "https"}}
	words := strings.Fields(strings.ReplaceAll(r.data[keyBuildOptions], "=", " "))
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "--enable-helm":
			set.KustomizeHelm = i+1 >= len(words) || words[i+1] != "false"
		case "--load-restrictor", "--helm-command", "--env", "-e", "--mount", "--network-name", "--reorder":
			i++ // its value; a build reaches nothing but the repository anyway
		case "true", "false", "--as-current-user", "--helm-debug", "--network", "--helm-kube-version":
		default:
			r.problem(keyBuildOptions, fmt.Sprintf("%q has no meaning here and is left out", words[i]))
		}
	}
	text, given := r.data[keyFileSchemes]
	if !given {
		return set
	}
	set.FileSchemes = nil
	for scheme := range strings.SplitSeq(text, ",") {
		switch scheme = strings.ToLower(strings.TrimSpace(scheme)); {
		case scheme == "":
		case scheme != "http" && scheme != "https":
			r.problem(keyFileSchemes, fmt.Sprintf("value files cannot be read by %q: use http or https", scheme))
		case !slices.Contains(set.FileSchemes, scheme):
			set.FileSchemes = append(set.FileSchemes, scheme)
		}
	}
	return set
}

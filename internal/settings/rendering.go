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
	keyRemoteBases  = "wavetrain.dev.kustomize.remoteBases"
)

// Rendering says what sources may do when they are rendered.
type Rendering struct {
	// KustomizeHelm lets kustomizations inflate charts.
	KustomizeHelm bool
	// FileSchemes are the schemes of URLs from which charts take value files.
	FileSchemes []string
	// RemoteBases are what the URLs of repositories begin with that kustomizations may
	// have bases in, besides their own.
	RemoteBases []string
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
	set.RemoteBases = r.remoteBases()
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

// RemoteBases are the beginnings of URLs that bases may have, without the other
// settings. What cannot be read is left out.
func RemoteBases(data map[string]string) []string {
	r := reader{data: data}
	return r.remoteBases()
}

// remoteBases reads the beginnings of URLs that bases may have. Each names a host in
// full: half of a name would be that of other hosts, too.
func (r *reader) remoteBases() []string {
	var list []string
	for _, begin := range strings.FieldsFunc(r.data[keyRemoteBases], func(c rune) bool { return c == ',' || c == ' ' || c == '\n' }) {
		scheme, rest, isURL := strings.Cut(begin, "://")
		switch {
		case isURL && slices.Contains([]string{"http", "https", "ssh"}, scheme) && strings.Trim(rest, "/") != "" && rest[0] != '/':
		case !isURL && strings.Contains(begin, "@") && strings.Contains(begin, ":"):
		default:
			r.problem(keyRemoteBases, fmt.Sprintf("%q is not the beginning of a repository's URL, such as https://git.example.com/platform", begin))
			continue
		}
		list = append(list, begin)
	}
	return list
}

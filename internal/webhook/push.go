// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/url"
	"strings"
)

// Push is what somebody has pushed, and where.
type Push struct {
	// Provider that sent it, for people.
	Provider string
	// URLs under which the repository can be reached.
	URLs []string
	// Refs that have changed, in full: refs/heads/main. Empty means that nobody says.
	Refs []string
	// Artifact tells that the repository is one of a registry.
	Artifact bool
}

// ConcernsSource tells whether the push is about what a source names: a Git
// repository, an artifact, or a chart in a registry, whose URL may lack the scheme.
func (p Push) ConcernsSource(repository, chart string) bool {
	if !p.Artifact {
		return chart == "" && p.Concerns(repository)
	}
	if !strings.Contains(repository, "://") {
		repository = "oci://" + repository
	}
	if chart != "" {
		repository = strings.TrimSuffix(repository, "/") + "/" + chart
	}
	return strings.HasPrefix(repository, "oci://") && p.Concerns(repository)
}

// Concerns tells whether the push is about a repository, however its URL is
// written: by HTTPS or SSH, with user, port or .git.
func (p Push) Concerns(repository string) bool {
	at := place(repository)
	if at == "" {
		return false
	}
	for _, u := range p.URLs {
		if place(u) == at {
			return true
		}
	}
	return false
}

// place is host and path of a repository, which are the same in all of its URLs.
func place(raw string) string {
	raw = strings.TrimSpace(raw)
	var host, path string
	if !strings.Contains(raw, "://") {
		// git@host:path
		var ok bool
		if host, path, ok = strings.Cut(raw, ":"); !ok || strings.Contains(host, "/") {
			return ""
		}
		if _, after, ok := strings.Cut(host, "@"); ok {
			host = after
		}
	} else {
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" {
			return ""
		}
		host, path = u.Hostname(), u.Path
	}
	host = strings.ToLower(host)
	// Servers with a host of its own for SSH over port 443.
	for _, prefix := range []string{"ssh.", "altssh."} {
		if rest, ok := strings.CutPrefix(host, prefix); ok && strings.Contains(rest, ".") {
			host = rest
		}
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if organisation, ok := strings.CutSuffix(host, ".visualstudio.com"); ok {
		// The older names of Azure DevOps, https://ORG.visualstudio.com/PROJECT/_git/REPO
		// and ORG@vs-ssh.visualstudio.com:v3/ORG/PROJECT/REPO.
		if host = "dev.azure.com"; organisation != "vs-ssh" {
			path = organisation + "/" + strings.TrimPrefix(path, "DefaultCollection/")
		}
	}
	if host == "dev.azure.com" {
		// https://dev.azure.com/ORG/PROJECT/_git/REPO, git@ssh.dev.azure.com:v3/ORG/PROJECT/REPO
		path = strings.Replace(strings.TrimPrefix(path, "v3/"), "/_git/", "/", 1)
	}
	// Bitbucket Server puts its repositories below /scm for HTTPS alone.
	path = strings.TrimPrefix(path, "scm/")
	if path == "" {
		return ""
	}
	return host + "/" + strings.ToLower(path)
}

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

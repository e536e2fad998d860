// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/url"
	"slices"
	"strings"
)

// gitEnv is the part of the environment that git processes get: what finds
// programs, keys and proxies. Variables such as GIT_DIR, which a hook that calls
// us has set, would point them to another repository.
func (s Streams) gitEnv() []string {
	keep := []string{
		"PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST",
	}
	var env []string
	for _, pair := range s.Environ {
		if name, _, ok := strings.Cut(pair, "="); ok && slices.Contains(keep, name) {
			env = append(env, pair)
		}
	}
	return env
}

// canonicalURL is what different spellings of a repository's URL have in common:
// "host/path" for a repository on a host, however it is reached; else the URL
// without a trailing slash and ".git".
func canonicalURL(raw string) string {
	trimmed := strings.TrimSuffix(strings.TrimSuffix(raw, "/"), ".git")
	if host, path, ok := hostAndPath(trimmed); ok {
		return strings.ToLower(host) + "/" + path
	}
	return trimmed
}

// hostAndPath reads "https://user@host/path", "ssh://git@host/path" and
// "git@host:path". A URL with a port belongs to one way of reaching the host
// only, and so do local paths.
func hostAndPath(raw string) (host, path string, ok bool) {
	if !strings.Contains(raw, "://") {
		host, path, ok = strings.Cut(raw, ":")
		_, after, hasUser := strings.Cut(host, "@")
		if hasUser {
			host = after
		}
		if !ok || host == "" || strings.Contains(host, "/") {
			return "", "", false
		}
		return host, strings.TrimPrefix(path, "/"), true
	}
	u, err := url.Parse(raw)
	if err != nil || u.Port() != "" || u.Host == "" || !slices.Contains([]string{"https", "ssh"}, u.Scheme) {
		return "", "", false
	}
	return u.Hostname(), strings.TrimPrefix(u.Path, "/"), true
}

// spellings are the ways to write the URL of a repository: who cloned it by SSH
// may well name it by HTTPS in an Application.
func spellings(raw string) []string {
	trimmed := strings.TrimSuffix(strings.TrimSuffix(withoutUser(raw), "/"), ".git")
	host, path, ok := hostAndPath(trimmed)
	if !ok {
		return []string{trimmed}
	}
	list := []string{trimmed, "https://" + host + "/" + path, "ssh://git@" + host + "/" + path, "git@" + host + ":" + path}
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}

// withoutUser takes credentials out of an HTTP URL.
func withoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil || !strings.HasPrefix(u.Scheme, "http") {
		return raw
	}
	u.User = nil
	return u.String()
}

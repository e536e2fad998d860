// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wavetrain/wavetrain/internal/source"
)

func secret(name string, pairs ...string) entry {
	e := entry{name: name, data: map[string][]byte{}}
	for i := 0; i < len(pairs); i += 2 {
		e.data[pairs[i]] = []byte(pairs[i+1])
	}
	return e
}

func TestFindRepository(t *testing.T) {
	hosts := "git.example.test ssh-ed25519 AAAA"
	known := registry{
		certificates: map[string]string{"git.example.test": "PEM"},
		knownHosts:   &hosts,
		repositories: []entry{
			secret("app", "url", "app.example.test/acme/deploy", "type", "helm", "enableOCI", "true", "username", "robot", "password", "p"),
			secret("everybody", "url", "https://git.example.test/acme/deploy.git", "type", "git", "username", "all", "password", "p"),
			secret("full", "url", "https://git.example.test:8443/full", "bearerToken", "b", "tlsClientCertData", "cert", "tlsClientCertKey", "key",
				"insecure", "true", "proxy", "http://proxy", "noProxy", "a,b", "enableLfs", "true"),
			secret("gcp", "url", "https://source.example.test/p/shop/r/deploy", "gcpServiceAccountKey", "{}"),
			secret("azure", "url", "https://dev.azure.example.test/acme/shop", "azureServicePrincipalTenantId", "t", "azureServicePrincipalClientId", "c",
				"azureServicePrincipalClientSecret", "s", "azureActiveDirectoryEndpoint", "https://login"),
			secret("workload", "url", "acme.azurecr.example.test/charts", "type", "helm", "enableOCI", "true", "useAzureWorkloadIdentity", "true"),
			secret("hub", "url", "https://github.com/acme/x", "githubAppID", "1", "githubAppInstallationID", "2", "githubAppPrivateKey", "k", "githubAppEnterpriseBaseUrl", "https://ghe/api/v3"),
			secret("plain", "url", "https://git.example.test/acme/plain", "proxy", "http://proxy"),
			secret("scoped", "url", "https://git.example.test/acme/deploy", "project", "shop", "username", "shop", "password", "p"),
			secret("ssh", "url", "git@git.example.test:acme/deploy.git", "sshPrivateKey", "-----KEY\n"),
		},
		templates: []entry{
			secret("acme", "url", "https://git.example.test/acme", "username", "template", "password", "t"),
			secret("host", "url", "https://git.example.test", "username", "host", "password", "h"),
			secret("scp", "url", "git@git.example.test", "sshPrivateKey", "host key"),
		},
	}
	login := func(user, password string) source.Credentials {
		return source.Credentials{Username: user, Password: password, Authorities: "PEM", KnownHosts: &hosts}
	}
	for name, c := range map[string]struct {
		reason, url, project string
		want                 source.Repository
	}{
		"exact":            {"with and without .git is one repository", "https://git.example.test/acme/deploy", "other", source.Repository{Known: true, Kind: source.Git, Credentials: login("all", "p")}},
		"scoped":           {"the project's own Secret wins", "https://git.example.test/acme/deploy.git", "shop", source.Repository{Known: true, Scope: "shop", Credentials: login("shop", "p")}},
		"template":         {"the longest beginning wins", "https://git.example.test/acme/other", "shop", source.Repository{Known: true, Credentials: login("template", "t")}},
		"shorter":          {"a template for the host", "https://git.example.test/group/x", "shop", source.Repository{Known: true, Credentials: login("host", "h")}},
		"other host":       {"a host that begins like ours is not ours", "https://git.example.test.evil.test/acme/x", "shop", source.Repository{Credentials: source.Credentials{KnownHosts: &hosts}}},
		"completed":        {"a Secret without credentials takes the template's", "https://git.example.test/acme/plain", "", source.Repository{Known: true, Credentials: func() source.Credentials { c := login("template", "t"); c.Proxy = "http://proxy"; return c }()}},
		"scp and ssh":      {"both spellings are one repository", "ssh://git@git.example.test/acme/deploy", "", source.Repository{Known: true, Credentials: source.Credentials{SSHKey: "-----KEY", Authorities: "PEM", KnownHosts: &hosts}}},
		"scp template":     {"a template of a host for ssh", "git@git.example.test:acme/more.git", "", source.Repository{Known: true, Credentials: source.Credentials{SSHKey: "host key", Authorities: "PEM", KnownHosts: &hosts}}},
		"registry":         {"an OCI registry, with its scheme", "oci://app.example.test/acme/deploy", "", source.Repository{Known: true, Kind: source.OCI, Credentials: source.Credentials{Username: "robot", Password: "p", KnownHosts: &hosts}}},
		"everything":       {"all keys; certificates go by host name", "https://git.example.test:8443/full", "", source.Repository{Known: true, LFS: true, Credentials: source.Credentials{BearerToken: "b", ClientCertificate: "cert", ClientKey: "key", Insecure: true, Proxy: "http://proxy", NoProxy: "a,b", Authorities: "PEM", KnownHosts: &hosts}}},
		"github":           {"a GitHub App", "https://github.com/acme/x.git", "", source.Repository{Known: true, Credentials: source.Credentials{GitHubApp: &source.GitHubApp{ID: "1", InstallationID: "2", PrivateKey: "k", BaseURL: "https://ghe/api/v3"}, KnownHosts: &hosts}}},
		"google":           {"a service account", "https://source.example.test/p/shop/r/deploy", "", source.Repository{Known: true, Credentials: source.Credentials{GoogleKey: "{}", KnownHosts: &hosts}}},
		"azure":            {"a service principal", "https://dev.azure.example.test/acme/shop", "", source.Repository{Known: true, Credentials: source.Credentials{Azure: &source.AzureIdentity{TenantID: "t", ClientID: "c", ClientSecret: "s", Authority: "https://login"}, KnownHosts: &hosts}}},
		"workload":         {"the identity of the Pod", "acme.azurecr.example.test/charts", "", source.Repository{Known: true, Kind: source.OCI, Credentials: source.Credentials{Azure: &source.AzureIdentity{Workload: true}, KnownHosts: &hosts}}},
		"nothing is known": {"a public repository", "https://public.example.test/x", "", source.Repository{Credentials: source.Credentials{KnownHosts: &hosts}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.URL = c.url
			if diff := cmp.Diff(c.want, known.find(c.url, c.project), cmpopts.IgnoreFields(source.Repository{}, "Related", "Named")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestRewriteWins(t *testing.T) {
	const url = "https://git.example.test/acme/deploy"
	known := registry{repositories: []entry{
		secret("a-rewrite", "url", url, "fetchURL", "http://127.0.0.1:1/repo.git"),
		secret("login", "url", url, "username", "me"),
	}}
	if got := known.find(url, ""); got.FetchURL != "http://127.0.0.1:1/repo.git" || got.Credentials.Username != "" {
		t.Errorf("fetched from %q as %q", got.FetchURL, got.Credentials.Username)
	}
}

func TestRepositoriesByName(t *testing.T) {
	known := registry{repositories: []entry{
		secret("a", "url", "https://charts.example.test/own", "type", "helm", "name", "stable", "project", "shop"),
		secret("b", "url", "https://charts.example.test/all", "type", "helm", "name", "stable"),
		secret("c", "url", "https://charts.example.test/other", "type", "helm", "name", "theirs", "project", "other"),
		secret("d", "url", "https://git.example.test/x", "type", "git", "name", "git"),
		secret("e", "url", "https://charts.example.test/nameless", "type", "helm"),
	}}
	for _, c := range []struct{ reason, name, project, want string }{
		{"the project's own wins", "stable", "shop", "https://charts.example.test/own"},
		{"one for all", "stable", "default", "https://charts.example.test/all"},
		{"that of another project", "theirs", "shop", ""},
		{"a Git repository has no charts", "git", "shop", ""},
		{"no name is no name", "", "shop", ""},
	} {
		if url, ok := known.urlOf(c.name, c.project); url != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", c.reason, url, ok, c.want)
		}
	}
}

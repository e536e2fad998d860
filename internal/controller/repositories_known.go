// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KnownRepository is what a repository Secret says, without what is secret.
type KnownRepository struct {
	// Secret that says it.
	Secret string `json:"secret"`
	// Template tells a Secret for all repositories whose URL begins so.
	Template bool   `json:"template,omitempty"`
	URL      string `json:"url"`
	Type     string `json:"type"`
	Name     string `json:"name,omitempty"`
	Project  string `json:"project,omitempty"`
	// Credentials names the kinds of credentials that are there.
	Credentials []string `json:"credentials,omitempty"`
	Insecure    bool     `json:"insecure,omitempty"`
	LFS         bool     `json:"enableLfs,omitempty"`
	Proxy       string   `json:"proxy,omitempty"`
	FetchURL    string   `json:"fetchURL,omitempty"`
}

// KnownRepositories lists the repository Secrets of the control namespace, the
// repositories first, by name.
func KnownRepositories(ctx context.Context, c client.Reader, namespace string) ([]KnownRepository, error) {
	known, err := newRepositories(c, namespace, clock.RealClock{}).registry(ctx)
	if err != nil {
		return nil, err
	}
	list := []KnownRepository{}
	for _, e := range known.repositories {
		list = append(list, e.known(false))
	}
	for _, e := range known.templates {
		list = append(list, e.known(true))
	}
	return list, nil
}

// IsFor tells whether it is a template that a repository of the URL takes its
// credentials from if it has no Secret of its own.
func (k KnownRepository) IsFor(url string) bool { return k.Template && beginsWith(url, k.URL) }

func (e entry) known(template bool) KnownRepository {
	k := KnownRepository{
		Secret: e.name, Template: template, URL: withoutLogin(e.get(SecretKeyURL)), Type: e.get("type"), Name: e.get("name"), Project: e.get("project"),
		Insecure: e.is("insecure") || e.is("insecureIgnoreHostKey"), LFS: e.is("enableLfs"),
		Proxy: withoutLogin(e.get("proxy")), FetchURL: e.get(SecretKeyFetchURL),
	}
	if k.Type == "" {
		k.Type = "git"
	}
	for _, kind := range []struct{ key, name string }{
		{"password", "password"},
		{"bearerToken", "bearer token"},
		{"sshPrivateKey", "SSH key"},
		{"githubAppPrivateKey", "GitHub App"},
		{"gcpServiceAccountKey", "Google service account"},
		{"azureServicePrincipalClientSecret", "Azure service principal"},
		{"tlsClientCertData", "client certificate"},
	} {
		if e.get(kind.key) != "" {
			k.Credentials = append(k.Credentials, kind.name)
		}
	}
	if e.is("useAzureWorkloadIdentity") {
		k.Credentials = append(k.Credentials, "Azure workload identity")
	}
	return k
}

// withoutLogin takes user and password out of a URL.
func withoutLogin(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme == "ssh" {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	if path == "" && !strings.HasSuffix(rest, "/") {
		return scheme + "://" + host
	}
	return scheme + "://" + host + "/" + path
}

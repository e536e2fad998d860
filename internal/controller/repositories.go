// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/source"
)

// What a Secret with the label SecretTypeLabel may be about. Those that Argo CD
// writes with are none of ours.
const (
	SecretTypeRepository = "repository"
	SecretTypeTemplate   = "repo-creds" //nolint:gosec // a label, no secret
)

// Keys of a repository Secret that others write too. SecretKeyFetchURL is
// Wavetrain's own: where the repository is really fetched from.
const (
	SecretKeyURL      = "url"
	SecretKeyFetchURL = "fetchURL"
)

// ConfigMaps that say whom to trust.
const (
	configMapTLS   = "argocd-tls-certs-cm"
	configMapSSH   = "argocd-ssh-known-hosts-cm"
	keyKnownHosts  = "ssh_known_hosts"
	repositoriesOf = time.Second
)

// repositories finds repositories by the Secrets of the control namespace, in
// Argo CD's form.
type repositories struct {
	client    client.Reader
	namespace string
	clock     clock.PassiveClock

	mu     sync.Mutex
	known  *registry
	readAt time.Time
}

// registry is what is known of repositories at one moment.
type registry struct {
	repositories, templates []entry
	certificates            map[string]string
	knownHosts              *string
}

// entry is one Secret.
type entry struct {
	name string
	data map[string][]byte
}

func (e entry) get(key string) string { return strings.TrimSpace(string(e.data[key])) }

func (e entry) is(key string) bool {
	v, err := strconv.ParseBool(e.get(key))
	return err == nil && v
}

// FindRepository returns what a project may use of what is known about the
// repository of a URL.
func FindRepository(ctx context.Context, c client.Reader, namespace, url, project string) (source.Repository, error) {
	return newRepositories(c, namespace, clock.RealClock{}).find(ctx, url, project)
}

// DescribeRepository returns what a Secret with the data would say of a repository,
// beside what is known already.
func DescribeRepository(ctx context.Context, c client.Reader, namespace, url string, data map[string][]byte) (source.Repository, error) {
	known, err := newRepositories(c, namespace, clock.RealClock{}).registry(ctx)
	if err != nil {
		return source.Repository{}, err
	}
	proposed := registry{
		repositories: []entry{{data: data}}, templates: known.templates, certificates: known.certificates, knownHosts: known.knownHosts,
	}
	return proposed.find(url, string(data["project"])), nil
}

func newRepositories(c client.Reader, namespace string, clock clock.PassiveClock) *repositories {
	return &repositories{client: c, namespace: namespace, clock: clock}
}

// find implements pipeline.FindRepository.
func (r *repositories) find(ctx context.Context, url, project string) (source.Repository, error) {
	known, err := r.registry(ctx)
	if err != nil {
		return source.Repository{}, err
	}
	repo := known.find(url, project)
	repo.Related = func(ctx context.Context, url string) (source.Repository, error) { return r.find(ctx, url, project) }
	repo.Named = func(ctx context.Context, name string) (source.Repository, bool, error) {
		return r.named(ctx, name, project)
	}
	return repo, nil
}

// named finds a chart repository by its name.
func (r *repositories) named(ctx context.Context, name, project string) (source.Repository, bool, error) {
	known, err := r.registry(ctx)
	if err != nil {
		return source.Repository{}, false, err
	}
	url, ok := known.urlOf(name, project)
	if !ok {
		return source.Repository{}, false, nil
	}
	repo, err := r.find(ctx, url, project)
	return repo, true, err
}

// urlOf is the URL of the chart repository with a name, the project's own before one
// for all.
func (g *registry) urlOf(name, project string) (url string, ok bool) {
	for _, e := range g.repositories {
		mine := e.get("project") == project
		if kind := source.Kind(e.get("type")); kind != source.Helm && kind != source.OCI || name == "" || e.get("name") != name || !mine && e.get("project") != "" {
			continue
		}
		if !ok || mine && project != "" {
			url, ok = e.get(SecretKeyURL), true
		}
	}
	return url, ok
}

// registry reads Secrets and ConfigMaps, for a moment for all who ask.
func (r *repositories) registry(ctx context.Context) (*registry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known != nil && r.clock.Since(r.readAt) < repositoriesOf {
		return r.known, nil
	}
	next := &registry{}
	var err error
	if next.repositories, err = r.list(ctx, SecretTypeRepository); err != nil {
		return nil, err
	}
	if next.templates, err = r.list(ctx, SecretTypeTemplate); err != nil {
		return nil, err
	}
	if next.certificates, err = r.configMap(ctx, configMapTLS); err != nil {
		return nil, err
	}
	hosts, err := r.configMap(ctx, configMapSSH)
	if err != nil {
		return nil, err
	}
	if hosts != nil {
		lines := hosts[keyKnownHosts]
		next.knownHosts = &lines
	}
	r.known, r.readAt = next, r.clock.Now()
	return next, nil
}

func (r *repositories) list(ctx context.Context, kind string) ([]entry, error) {
	var secrets corev1.SecretList
	err := r.client.List(ctx, &secrets, client.InNamespace(r.namespace), client.MatchingLabels{SecretTypeLabel: kind})
	if err != nil {
		return nil, fmt.Errorf("list Secrets of type %s: %w", kind, err)
	}
	list := make([]entry, len(secrets.Items))
	for i := range secrets.Items {
		list[i] = entry{name: secrets.Items[i].Name, data: secrets.Items[i].Data}
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// configMap returns the data of a ConfigMap, nil when there is none.
func (r *repositories) configMap(ctx context.Context, name string) (map[string]string, error) {
	found := &corev1.ConfigMap{}
	err := r.client.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", r.namespace, name, err)
	}
	if found.Data == nil {
		return map[string]string{}, nil
	}
	return found.Data, nil
}

// find puts together what is known about a URL: the Secret of the repository, the
// project's own before one for all, and what the template for the longest part of
// the URL adds where the Secret has no credentials.
func (g *registry) find(url, project string) source.Repository {
	repo := source.Repository{URL: url}
	var own *entry
	for i, e := range g.repositories {
		if !SameAddress(e.get(SecretKeyURL), url) || e.get("project") != "" && e.get("project") != project {
			continue
		}
		if own != nil && own.get(SecretKeyFetchURL) != "" {
			continue
		}
		// Whoever serves it elsewhere has the last word: other people's credentials
		// are not for that place.
		if repo.FetchURL = e.get(SecretKeyFetchURL); repo.FetchURL != "" {
			own = &g.repositories[i]
		}
		if own == nil || own.get("project") == "" && e.get("project") != "" {
			own = &g.repositories[i]
		}
	}
	if own != nil {
		repo.Known = true
		own.describe(&repo)
	}
	template := g.template(url, project)
	if template != nil && repo.FetchURL == "" && (own == nil || !hasLogin(repo.Credentials)) {
		repo.Known = true
		template.describe(&repo)
	}
	host := hostname(url)
	repo.Credentials.Authorities = g.certificates[host]
	repo.Credentials.KnownHosts = g.knownHosts
	return repo
}

// template is the Secret whose URL is the longest beginning of the repository's.
func (g *registry) template(url, project string) *entry {
	var best *entry
	for i, e := range g.templates {
		prefix := e.get(SecretKeyURL)
		if prefix == "" || !beginsWith(url, prefix) || e.get("project") != "" && e.get("project") != project {
			continue
		}
		if best == nil || len(prefix) > len(best.get(SecretKeyURL)) {
			best = &g.templates[i]
		}
	}
	return best
}

// describe fills in what the Secret says and is not known yet.
func (e entry) describe(repo *source.Repository) {
	fill := func(field *string, keys ...string) {
		for _, key := range keys {
			if *field == "" {
				*field = e.get(key)
			}
		}
	}
	if repo.Kind == "" {
		repo.Kind = source.Kind(e.get("type"))
		if repo.Kind == source.Helm && e.is("enableOCI") {
			repo.Kind = source.OCI
		}
	}
	fill(&repo.Scope, "project")
	c := &repo.Credentials
	fill(&c.Username, "username")
	fill(&c.Password, "password")
	fill(&c.BearerToken, "bearerToken")
	fill(&c.SSHKey, "sshPrivateKey")
	fill(&c.ClientCertificate, "tlsClientCertData")
	fill(&c.ClientKey, "tlsClientCertKey")
	fill(&c.GoogleKey, "gcpServiceAccountKey")
	fill(&c.Proxy, "proxy")
	fill(&c.NoProxy, "noProxy")
	c.Insecure = c.Insecure || e.is("insecure") || e.is("insecureIgnoreHostKey")
	repo.LFS = repo.LFS || e.is("enableLfs")
	repo.PlainHTTP = repo.PlainHTTP || e.is("insecureOCIForceHttp")
	if c.Azure == nil && (e.get("azureServicePrincipalClientId") != "" || e.is("useAzureWorkloadIdentity")) {
		c.Azure = &source.AzureIdentity{
			TenantID: e.get("azureServicePrincipalTenantId"), ClientID: e.get("azureServicePrincipalClientId"),
			ClientSecret: e.get("azureServicePrincipalClientSecret"), Authority: e.get("azureActiveDirectoryEndpoint"),
			Workload: e.is("useAzureWorkloadIdentity"),
		}
	}
	if c.GitHubApp == nil && e.get("githubAppPrivateKey") != "" {
		c.GitHubApp = &source.GitHubApp{
			ID: e.get("githubAppID"), InstallationID: e.get("githubAppInstallationID"),
			PrivateKey: e.get("githubAppPrivateKey"), BaseURL: e.get("githubAppEnterpriseBaseUrl"),
		}
	}
}

func hasLogin(c source.Credentials) bool {
	return c.Username != "" || c.Password != "" || c.BearerToken != "" || c.SSHKey != "" || c.ClientCertificate != "" ||
		c.GitHubApp != nil || c.GoogleKey != "" || c.Azure != nil
}

// SameAddress compares URLs as people spell them; those of OCI registries are
// written with and without their scheme.
func SameAddress(a, b string) bool {
	return source.SameRepository(withoutOCI(a), withoutOCI(b))
}

// beginsWith tells whether a template is for a URL. The path is compared as text,
// as in Argo CD; the host must be the same, or credentials for example.com would
// go to example.com.elsewhere.net.
func beginsWith(url, prefix string) bool {
	if host, _, ok := strings.Cut(prefix, "@"); ok && !strings.ContainsAny(prefix, ":/") {
		prefix = "ssh://" + host + prefix[len(host):] // git@github.com, without a path
	}
	url, prefix = source.NormaliseURL(withoutOCI(url)), source.NormaliseURL(withoutOCI(prefix))
	return strings.HasPrefix(url, prefix) && source.Host(url) == source.Host(prefix)
}

func withoutOCI(url string) string { return strings.TrimPrefix(url, "oci://") }

// hostname is the host of a URL without its port, the key of certificates.
func hostname(url string) string {
	host := source.Host(url)
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

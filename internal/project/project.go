// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package project says what an AppProject permits: repositories, destinations and
// kinds.
//
// The room is pure and only answers; reading projects and acting on the answer
// are the controller's.
package project

import (
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Destination is a cluster, by its address and its name if it has one, and a
// namespace on it.
type Destination struct {
	Server, Name, Namespace string
	// Project is the project that the cluster is registered for, empty for all.
	Project string
}

// Rules are the permissions of one project, read once.
type Rules struct {
	project      string
	sources      []pattern
	destinations []destination
	// namespaces, besides the control namespace, may hold Applications of it.
	namespaces Namespaces
	spec       *v1alpha1.AppProjectSpec
}

// destination is an entry of the project's destinations.
type destination struct {
	server, name, namespace pattern
}

// New reads the permissions of a project. A pattern that is malformed matches
// nothing.
func New(p *v1alpha1.AppProject) *Rules {
	r := &Rules{project: p.Name, spec: &p.Spec}
	for _, text := range p.Spec.SourceRepos {
		r.sources = append(r.sources, repositoryPattern(text))
	}
	for _, d := range p.Spec.Destinations {
		r.destinations = append(r.destinations, destination{
			server: compile(d.Server), name: compile(d.Name), namespace: compile(d.Namespace),
		})
	}
	r.namespaces, _ = ReadNamespaces(p.Spec.SourceNamespaces)
	return r
}

// Source reports whether manifests may come from a repository: one pattern must
// name it, and none may deny it.
func (r *Rules) Source(repo string) bool {
	repo = normalised(repo)
	named := func(p pattern) bool { return p.names(repo) }
	return slices.ContainsFunc(r.sources, func(p pattern) bool { return !p.deny && named(p) }) &&
		!slices.ContainsFunc(r.sources, func(p pattern) bool { return p.deny && named(p) })
}

// Destination reports whether objects may go to a destination. Of an entry,
// server or name must match, and namespace. A field that denies matches
// everything that it does not name; what it names is forbidden, whatever the
// other entries say. A project may insist on clusters that are registered for it.
func (r *Rules) Destination(d Destination) bool {
	if r.spec.PermitOnlyProjectScopedClusters && d.Project != r.project {
		return false
	}
	permitted := false
	for _, entry := range r.destinations {
		cluster := d.Server != "" && entry.server.matches(d.Server) || d.Name != "" && entry.name.matches(d.Name)
		namespace := entry.namespace.matches(d.Namespace)
		denied := d.Server != "" && entry.server.denies(d.Server) || d.Name != "" && entry.name.denies(d.Name)
		switch {
		case cluster && namespace:
			permitted = true
		case denied && namespace, cluster && entry.namespace.denies(d.Namespace):
			return false
		}
	}
	return permitted
}

// Kind reports whether an object of a kind is permitted. Cluster-scoped kinds
// must be listed; namespaced ones are permitted unless there is a list that lacks
// them. A black list has the last word.
func (r *Rules) Kind(gk schema.GroupKind, name string, namespaced bool) bool {
	if namespaced {
		listed := func(list []v1alpha1.GroupKind) bool {
			return slices.ContainsFunc(list, func(e v1alpha1.GroupKind) bool { return covers(e.Group, gk.Group) && covers(e.Kind, gk.Kind) })
		}
		white := r.spec.NamespaceResourceWhitelist
		return (white == nil || listed(white)) && !listed(r.spec.NamespaceResourceBlacklist)
	}
	listed := func(list []v1alpha1.ClusterResourceRestriction) bool {
		return slices.ContainsFunc(list, func(e v1alpha1.ClusterResourceRestriction) bool {
			return covers(e.Group, gk.Group) && covers(e.Kind, gk.Kind) && (e.Name == "" || covers(e.Name, name))
		})
	}
	return listed(r.spec.ClusterResourceWhitelist) && !listed(r.spec.ClusterResourceBlacklist)
}

// covers reports whether a pattern over kinds, groups or names covers a text.
func covers(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// CheckApplication says in Argo CD's words what the project does not permit about
// an Application; nothing if it permits all of it.
func (r *Rules) CheckApplication(sources []v1alpha1.ApplicationSource, d Destination) []string {
	var problems []string
	for _, s := range sources {
		if !r.Source(s.RepoURL) {
			problems = append(problems, fmt.Sprintf("application repo %s is not permitted in project '%s'", s.RepoURL, r.project))
		}
	}
	if !r.Destination(d) {
		problems = append(problems, fmt.Sprintf("application destination server '%s' and namespace '%s' do not match any of the allowed destinations in project '%s'", d.Server, d.Namespace, r.project))
	}
	return problems
}

// CheckNamespace says in Argo CD's words why an Application of a namespace must not
// use the project; nothing if it may.
func (r *Rules) CheckNamespace(app, namespace, control string) string {
	if namespace == control || r.namespaces.Match(namespace) {
		return ""
	}
	return fmt.Sprintf("application '%s' in namespace '%s' is not allowed to use project %s: add the namespace to spec.sourceNamespaces of AppProject %s/%s", app, namespace, r.project, control, r.project)
}

// CheckObject says in Argo CD's words why an object must not be applied on a
// cluster; nothing if it may. The namespace is the object's own.
func (r *Rules) CheckObject(key manifest.Key, namespaced bool, cluster Destination) string {
	if !r.Kind(key.GroupKind(), key.Name, namespaced) {
		return fmt.Sprintf("resource %s:%s is not permitted in project %s", key.Group, key.Kind, r.project)
	}
	cluster.Namespace = key.Namespace
	if namespaced && !r.Destination(cluster) {
		return fmt.Sprintf("namespace %s is not permitted in project '%s'", key.Namespace, r.project)
	}
	return ""
}

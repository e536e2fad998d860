// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/wavetrain/wavetrain/internal/source"
)

// retryRefused is when a server that has refused us is asked again at the latest.
// More often would lock accounts; who corrects the credentials is heard at once.
const retryRefused = 5 * time.Minute

// retryBusy is when somebody asks again who was not let wait.
const retryBusy = time.Second

// retryOf is how long to wait after sources could not be read.
func (a *applications) retryOf(err error) time.Duration {
	if errors.Is(err, source.ErrBusy) {
		return retryBusy
	}
	if failed, ok := errors.AsType[*source.Error](err); ok {
		switch failed.Reason {
		case source.Unauthenticated, source.Forbidden, source.Untrusted:
			return min(max(retryAfterError, a.opts.PollInterval), retryRefused)
		}
	}
	return retryAfterError
}

// noteAccess remembers which repository could not be read; "" stands for a failure
// that names none. since is how often access had changed when reading began: what has
// changed meanwhile is tried at once.
func (s *session) noteAccess(err error, since int64) {
	if err == nil {
		s.st.unread.Store(nil)
		return
	}
	url := ""
	if failed, ok := errors.AsType[*source.Error](err); ok {
		url = failed.URL
	}
	s.st.unread.Store(&url)
	if s.access.Load() != since {
		s.by(s.now)
		return
	}
	s.by(s.now.Add(s.retryOf(err)))
}

// changesAccess lets through what says how repositories are read: Secrets of
// repositories and templates, and the ConfigMaps that say whom to trust.
func changesAccess() predicate.Predicate {
	says := func(obj client.Object) bool {
		switch o := obj.(type) {
		case *corev1.Secret:
			return o.Labels[SecretTypeLabel] == SecretTypeRepository || o.Labels[SecretTypeLabel] == SecretTypeTemplate
		case *corev1.ConfigMap:
			return o.Name == configMapTLS || o.Name == configMapSSH
		}
		return false
	}
	same := func(before, after client.Object) bool {
		switch o := before.(type) {
		case *corev1.Secret:
			n, ok := after.(*corev1.Secret)
			return ok && o.Labels[SecretTypeLabel] == n.Labels[SecretTypeLabel] && maps.EqualFunc(o.Data, n.Data, slices.Equal)
		case *corev1.ConfigMap:
			n, ok := after.(*corev1.ConfigMap)
			return ok && maps.Equal(o.Data, n.Data)
		}
		return false
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return says(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return says(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return (says(e.ObjectOld) || says(e.ObjectNew)) && !same(e.ObjectOld, e.ObjectNew)
		},
	}
}

// ofAccess returns the Applications that wait for what a Secret or ConfigMap says
// of repositories: those that could not be read. What others follow there is asked
// for once, with what it says now.
func (a *applications) ofAccess(_ context.Context, obj client.Object) []reconcile.Request {
	a.repositories.forget()
	a.access.Add(1)
	concerns := func(string) bool { return true }
	if secret, ok := obj.(*corev1.Secret); ok {
		e := entry{data: secret.Data}
		url, template := e.get(SecretKeyURL), secret.Labels[SecretTypeLabel] == SecretTypeTemplate
		concerns = func(repo string) bool {
			return url != "" && (SameAddress(repo, url) || template && beginsWith(repo, url))
		}
		for _, repo := range a.polls.repositories() {
			if concerns(repo) {
				a.polls.ask(repo)
			}
		}
	}
	var requests []reconcile.Request
	for _, name := range a.unreadable(concerns) {
		requests = append(requests, reconcile.Request{NamespacedName: name})
	}
	return requests
}

// unreadable returns the Applications that could not be read for a repository that
// is concerned, or nobody knows for which.
func (a *applications) unreadable(concerns func(repo string) bool) []types.NamespacedName {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []types.NamespacedName
	for name, st := range a.states {
		if url := st.unread.Load(); url != nil && (*url == "" || concerns(*url)) {
			names = append(names, name)
		}
	}
	return names
}

// forget has Secrets and ConfigMaps read anew.
func (r *repositories) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = nil
}

// repositories returns the URLs of all that is followed.
func (p *polls) repositories() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	urls := map[string]bool{}
	for of := range p.followers {
		urls[of.RepoURL] = true
	}
	return slices.Collect(maps.Keys(urls))
}

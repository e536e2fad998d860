// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/webhook"
)

// configMapPushes is where replicas that do not act leave what was announced to
// them: one write, however many Applications follow the repository.
const configMapPushes = "argocd-wavetrain-pushes"

// maxPushes bounds how many repositories it names. Those that are named longest are
// not known; the others have been heard.
const maxPushes = 500

// passOn tells the replica that acts of repositories that were pushed to. A value is
// the URL and something that differs each time.
func (c *Controller) passOn(ctx context.Context, repos []string) error {
	// A value is a change by itself: two replicas that write at once lose nothing.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		name := types.NamespacedName{Namespace: c.opts.Namespace, Name: configMapPushes}
		left := &corev1.ConfigMap{}
		err := c.manager.GetAPIReader().Get(ctx, name, left)
		missing := apierrors.IsNotFound(err)
		if err != nil && !missing {
			return fmt.Errorf("pass on a push: %w", err)
		}
		if len(left.Data)+len(repos) > maxPushes {
			left.Data = nil
		}
		if left.Data == nil {
			left.Data = map[string]string{}
		}
		for _, repo := range repos {
			sum := sha256.Sum256([]byte(repo))
			left.Data[hex.EncodeToString(sum[:8])] = repo + " " + rand.Text()
		}
		if !missing {
			return c.manager.GetClient().Update(ctx, left)
		}
		left.ObjectMeta = metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}
		if err := c.manager.GetClient().Create(ctx, left); apierrors.IsAlreadyExists(err) {
			return apierrors.NewConflict(corev1.Resource("configmaps"), name.Name, errors.New("another replica has made it"))
		} else if err != nil {
			return fmt.Errorf("pass on a push: %w", err)
		}
		return nil
	})
}

// ofPushes looks at what other replicas pass on. What they have passed on before this
// one began to act is no news to it: it has looked at everything since.
func (a *applications) ofPushes() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if !e.IsInInitialList {
				a.heardOf(ctx, nil, e.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			a.heardOf(ctx, e.ObjectOld, e.ObjectNew)
		},
	}
}

// heardOf has the repositories looked at whose values differ.
func (a *applications) heardOf(ctx context.Context, before, after client.Object) {
	was, _ := before.(*corev1.ConfigMap)
	is, ok := after.(*corev1.ConfigMap)
	if !ok || is.Name != configMapPushes {
		return
	}
	for key, value := range is.Data {
		if was != nil && was.Data[key] == value {
			continue
		}
		repo, _, _ := strings.Cut(value, " ")
		if err := a.refresh(ctx, repo); err != nil {
			a.opts.Log.Error(err, "look at what another replica has heard of", "repository", repo)
		}
	}
}

// refresh looks at once whether a repository has something new for the Applications
// that use it.
func (a *applications) refresh(ctx context.Context, repo string) error {
	a.opts.Sources.Forget(repo)
	a.polls.ask(repo)
	// Another replica may have heard of it by another of its URLs.
	for _, spelt := range a.polls.concerned(webhook.Push{URLs: []string{repo}}.ConcernsSource) {
		a.opts.Sources.Forget(spelt)
		a.polls.ask(spelt)
	}
	list, err := a.all(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		app := &list[i]
		name := nameOf(app)
		if a.polls.follows(name) {
			continue
		}
		for _, src := range app.Spec.EffectiveSources() {
			if source.SameRepository(src.RepoURL, repo) {
				a.enqueue(name)
				break
			}
		}
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/settings"
	"github.com/wavetrain/wavetrain/internal/webhook"
)

// secretOfInstallation holds the secrets of webhooks, below webhook.*.
const secretOfInstallation = "argocd-secret"

// WebhookPath is where Git servers post to.
const WebhookPath = "/api/webhook"

// Webhooks answers Git servers: of what has been pushed to, what Applications
// follow there is looked up at once.
func (c *Controller) Webhooks() http.Handler {
	return webhook.Handler{
		Secrets: c.webhookSecrets,
		Deliver: c.pushed,
		Limit:   c.webhookLimit,
		Memory:  c.webhooks,
		Refused: func(reason error, from string) {
			c.opts.Log.Info("a webhook was refused", "reason", reason.Error(), "from", from)
		},
	}
}

// webhookLimit is how large a request may be.
func (c *Controller) webhookLimit(ctx context.Context) int64 {
	written := &corev1.ConfigMap{}
	if err := c.manager.GetClient().Get(ctx, types.NamespacedName{Namespace: c.opts.Namespace, Name: settings.Name}, written); err != nil {
		return 0
	}
	limit, err := settings.WebhookLimit(written.Data)
	if err != nil {
		c.opts.Log.Info("a setting cannot be read and is left out", "problem", err.Error())
	}
	return limit
}

// pushed has the repositories looked at that a push concerns.
func (c *Controller) pushed(ctx context.Context, push webhook.Push) error {
	apps, err := c.apps.all(ctx)
	if err != nil {
		return err
	}
	concerned := map[string]bool{}
	for i := range apps {
		for _, src := range apps[i].Spec.EffectiveSources() {
			if push.ConcernsSource(src.RepoURL, src.Chart) {
				concerned[src.RepoURL] = true
			}
		}
	}
	acts := true
	bases := c.apps.polls.concerned(push.ConcernsSource)
	select {
	case <-c.manager.Elected():
	default:
		acts, bases = false, c.basesAt(ctx, push)
	}
	for _, repo := range bases {
		concerned[repo] = true
	}
	c.opts.Log.V(1).Info("a push was announced", "provider", push.Provider, "repositories", push.URLs, "refs", push.Refs, "followed", len(concerned))
	if len(concerned) == 0 {
		return nil
	}
	repos := slices.Sorted(maps.Keys(concerned))
	if !acts {
		return c.passOn(ctx, repos)
	}
	var errs []error
	for _, repo := range repos {
		errs = append(errs, c.Refresh(ctx, repo))
	}
	return errors.Join(errs...)
}

// webhookSecrets reads what authenticates Git servers.
func (c *Controller) webhookSecrets(ctx context.Context) (webhook.Secrets, error) {
	data, err := c.secretData(ctx, secretOfInstallation)
	if err != nil {
		return webhook.Secrets{}, err
	}
	var s webhook.Secrets
	for key, field := range map[string]*string{
		"webhook.github.secret": &s.GitHub, "webhook.gitlab.secret": &s.GitLab, "webhook.gogs.secret": &s.Gogs,
		"webhook.bitbucket.uuid": &s.BitbucketUUID, "webhook.bitbucketserver.secret": &s.BitbucketServer,
		"webhook.harbor.secret": &s.Harbor, "webhook.azuredevops.username": &s.AzureUsername, "webhook.azuredevops.password": &s.AzurePassword,
	} {
		if *field, err = c.referred(ctx, data, key); err != nil {
			return webhook.Secrets{}, err
		}
	}
	return s, nil
}

// referred returns a value, which may be a reference: $key in the same Secret, or
// $secret:key. One that leads nowhere is an error, or nobody would be refused.
func (c *Controller) referred(ctx context.Context, data map[string][]byte, key string) (string, error) {
	value := strings.TrimSpace(string(data[key]))
	ref, ok := strings.CutPrefix(value, "$")
	if !ok {
		return value, nil
	}
	name, other, elsewhere := strings.Cut(ref, ":")
	if elsewhere {
		var err error
		if data, err = c.secretData(ctx, name); err != nil {
			return "", err
		}
		ref = other
	}
	found, ok := data[ref]
	if !ok {
		return "", fmt.Errorf("%s in Secret %s refers to %s, which is not there", key, secretOfInstallation, value)
	}
	return strings.TrimSpace(string(found)), nil
}

// secretData reads a Secret of the control namespace, which the cache does not
// hold. A missing one is empty.
func (c *Controller) secretData(ctx context.Context, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := c.manager.GetAPIReader().Get(ctx, types.NamespacedName{Namespace: c.opts.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", c.opts.Namespace, name, err)
	}
	return secret.Data, nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// untriable says why a dry run that failed tells nothing about the step: its
// admission webhook does not support dry runs, or is served by what this very plan
// brings or repairs. Such a step is checked when its turn comes. Every other webhook
// that does not answer is an error that may pass.
func (r *Run) untriable(err error) string {
	switch {
	case err == nil:
		return ""
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run"):
		return "its admission webhook does not support dry run"
	}
	service, ok := unansweredWebhook(err)
	if !ok {
		return ""
	}
	for _, step := range r.index.byKey[service] {
		if step.Action != plan.Prune && step.Action != plan.SkipPrune {
			return "its admission webhook is served by " + service.Short() + ", which is part of this sync"
		}
	}
	return ""
}

// webhookCall finds the Service in what the API server says of a webhook that did
// not answer.
func webhookCall() *regexp.Regexp {
	return regexp.MustCompile(`failed calling webhook .*Post "https://([a-z0-9-]+)\.([a-z0-9-]+)\.svc[:/]`)
}

// unansweredWebhook returns the Service of the webhook for want of whose answer a
// request failed.
func unansweredWebhook(err error) (manifest.Key, bool) {
	if !apierrors.IsInternalError(err) {
		return manifest.Key{}, false
	}
	m := webhookCall().FindStringSubmatch(err.Error())
	if m == nil {
		return manifest.Key{}, false
	}
	return manifest.Key{Kind: "Service", Namespace: m[2], Name: m[1]}, true
}

// leave notes that a step goes untried, and why.
func (r *Run) leave(step *plan.Step, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.untried == nil {
		r.untried = map[string]string{}
	}
	r.untried[step.ID] = why
}

// left says why a step went untried, empty if it did not.
func (r *Run) left(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.untried[id]
}

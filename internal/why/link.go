// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// link looks at one object and says which other it hangs on.
func (e Explainer) link(ctx context.Context, at target) (Link, target) {
	u, err := e.Cluster.Current(ctx, at.key)
	switch {
	case apierrors.IsNotFound(err):
		return e.absent(ctx, at)
	case cluster.IsUnknownKind(err):
		return Link{Object: at.key, State: Unserved, Reason: "its CustomResourceDefinition is not installed"}, target{}
	case err != nil:
		return Link{Object: at.key, State: Unknown, Reason: err.Error()}, target{}
	case u.GetDeletionTimestamp() != nil:
		return deleting(u), target{}
	case lacksKey(u, at.keys) != "":
		return e.incomplete(ctx, u, lacksKey(u, at.keys))
	case application(u):
		return e.application(ctx, u)
	}
	result := e.Judge(u)
	l := Link{Object: at.key, State: string(result.Status), Reason: sentence(result.Reason, result.Message), Since: since(u), own: true}
	if !result.Known {
		l.State, l.Reason = There, ""
	}
	if l.Well() {
		return l, target{}
	}
	return e.unwell(ctx, u, l)
}

// absent is an object that is not there.
func (e Explainer) absent(ctx context.Context, at target) (Link, target) {
	l := Link{Object: at.key, State: Missing}
	if producer := e.producer(ctx, at.key); producer != (manifest.Key{}) {
		return l, target{key: producer}
	}
	switch place, planned := e.Placed[at.key]; {
	case planned:
		l.Reason = place + " of this application brings it"
	case at.field != "":
		l.Reason = "nothing that is known brings it"
	}
	return l, target{}
}

// incomplete is a ConfigMap or Secret without a key that is needed.
func (e Explainer) incomplete(ctx context.Context, u *unstructured.Unstructured, needed string) (Link, target) {
	key := manifest.KeyOf(u)
	return Link{Object: key, State: Lacking, Reason: "has no key " + needed}, target{key: e.producer(ctx, key)}
}

// deleting is an object that is about to go.
func deleting(u *unstructured.Unstructured) Link {
	l := Link{Object: manifest.KeyOf(u), State: Deleting, Since: &u.GetDeletionTimestamp().Time}
	var words []string
	holders := slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == manifest.HookFinalizer
	})
	if len(holders) > 0 {
		words = append(words, "held by finalizer "+strings.Join(holders, ", "))
	}
	for _, c := range field.List(u.Object, "status.conditions") {
		// A namespace tells what is still in it.
		if u.GetKind() == "Namespace" && field.Text(c, "status") == "True" {
			words = append(words, field.Text(c, "message"))
		}
	}
	l.Reason = strings.Join(words, "; ")
	return l
}

// unwell goes on from an object that is not as it should be: to the Pod that tells
// why, to what a Pod that cannot start lacks, to what an object mentions.
func (e Explainer) unwell(ctx context.Context, u *unstructured.Unstructured, l Link) (Link, target) {
	trouble := e.Cluster.Trouble(ctx, l.Object)
	if trouble.Text != "" && (trouble.Object == l.Object || trouble.Object.Kind != "Pod") {
		l.Reason, l.own = trouble.Text, false
	}
	if e.Planned != nil {
		if planned := e.Planned(l.Object); planned != "" {
			l.Reason, l.own = join(l.Reason, planned), false
		}
	}
	if l.Object.Kind == "Pod" {
		l.State = podState(trouble.Text, l.State)
	}
	switch _, _, runs := manifest.PodSpec(u); {
	case trouble.Object.Kind == "Pod" && trouble.Object != l.Object:
		return l, target{key: trouble.Object, part: true}
	case runs && !trouble.Unstarted:
		// What has started had all that it mentions.
		return l, target{}
	case runs:
		if named := e.refuser(trouble.Text, u.GetNamespace()); named != (manifest.Key{}) {
			return l, target{key: named}
		}
		return l, e.lacks(ctx, blamed(manifest.References(u), trouble.Text), true)
	default:
		return l, e.lacks(ctx, manifest.References(u), false)
	}
}

// podState is the word for what keeps a Pod: what its container waits for.
func podState(trouble, state string) string {
	if m := regexp.MustCompile(`container \S+: ([A-Z][A-Za-z]+)`).FindStringSubmatch(trouble); m != nil {
		return m[1]
	}
	if word, _, ok := strings.Cut(trouble, ":"); ok && !strings.Contains(word, " ") {
		return word
	}
	return state
}

var (
	quota   = regexp.MustCompile(`exceeded quota: ([a-z0-9.-]+)`)
	webhook = regexp.MustCompile(`failed calling webhook .*https://([a-z0-9-]+)\.([a-z0-9-]+)\.svc[:/]`)
)

// refuser is the object on whose account the API server refuses a Pod.
func (e Explainer) refuser(text, namespace string) manifest.Key {
	if m := quota.FindStringSubmatch(text); m != nil {
		return manifest.Key{Kind: "ResourceQuota", Namespace: namespace, Name: m[1]}
	}
	if m := webhook.FindStringSubmatch(text); m != nil {
		return manifest.Key{Kind: "Service", Namespace: m[2], Name: m[1]}
	}
	return manifest.Key{}
}

// blamed are the mentions whose objects a text names as the API server and kubelet
// do, or all if it names none: serviceaccount "deployer" not found.
func blamed(refs []manifest.Reference, text string) []manifest.Reference {
	var named []manifest.Reference
	for _, ref := range refs {
		if strings.Contains(text, strings.ToLower(ref.Target.Kind)+` "`+ref.Target.Name+`"`) {
			named = append(named, ref)
		}
	}
	if len(named) == 0 {
		return refs
	}
	return named
}

// lacks returns the first object that is mentioned, needed, and not found, or else
// not ready. With atStart only what a Pod cannot start without counts.
func (e Explainer) lacks(ctx context.Context, refs []manifest.Reference, atStart bool) target {
	// What is not there explains more than what is not ready.
	var unready target
	for _, ref := range refs {
		if ref.Optional || atStart && !ref.AtStart {
			continue
		}
		found, err := e.Cluster.Current(ctx, ref.Target)
		at := target{key: ref.Target, field: ref.Field, keys: ref.Keys}
		switch {
		case apierrors.IsNotFound(err), cluster.IsUnknownKind(err):
			return at
		case err != nil:
		case lacksKey(found, ref.Keys) != "":
			return at
		case unready.key == (manifest.Key{}) && e.complains(found):
			unready = at
		}
	}
	return unready
}

// complains tells whether an object says that it is not ready: one that has said
// nothing yet is no cause.
func (e Explainer) complains(u *unstructured.Unstructured) bool {
	if u.GetDeletionTimestamp() != nil {
		return true
	}
	r := e.Judge(u)
	return r.Known && r.Status != health.Healthy && (r.Status == health.Degraded || len(field.Map(u.Object, "status")) > 0)
}

// lacksKey returns the first of some keys that a ConfigMap or Secret does not have.
func lacksKey(u *unstructured.Unstructured, keys []string) string {
	if gvk := u.GroupVersionKind(); gvk.Group != "" || gvk.Kind != "Secret" && gvk.Kind != "ConfigMap" {
		return ""
	}
	for _, key := range keys {
		_, text := field.Map(u.Object, "data")[key]
		_, binary := field.Map(u.Object, "binaryData")[key]
		if !text && !binary {
			return key
		}
	}
	return ""
}

// since is when the state of an object began: the newest change of a condition
// that is not as it should be, else its creation.
func since(u *unstructured.Unstructured) *time.Time {
	begin := u.GetCreationTimestamp().Time
	for _, c := range field.List(u.Object, "status.conditions") {
		if at, err := time.Parse(time.RFC3339, field.Text(c, "lastTransitionTime")); err == nil && field.Text(c, "status") != "True" && at.After(begin) {
			begin = at
		}
	}
	if begin.IsZero() {
		return nil
	}
	return &begin
}

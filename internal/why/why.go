// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package why follows the causes of a wait: from what a rollout waits for down to
// the object, and the words of whoever knows, that it all hangs on.
package why

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Cluster is asked about objects.
type Cluster interface {
	// Current reads an object; the error of a missing object satisfies
	// apierrors.IsNotFound.
	Current(ctx context.Context, key manifest.Key) (*unstructured.Unstructured, error)
	// Trouble says what keeps an object from getting on, as its Pods and events show
	// it.
	Trouble(ctx context.Context, key manifest.Key) cluster.Trouble
	// FetchAll lists the objects of a kind in a namespace.
	FetchAll(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error)
}

var _ Cluster = (*cluster.Cluster)(nil)

// States of an object besides those of its health.
const (
	Missing  = "missing"
	Unserved = "kind not served"
	Unknown  = "unknown"
	Deleting = "being deleted"
	Lacking  = "incomplete"
	// There is an object of whose health nothing is known.
	There = "there"
)

// Link is one step of the chain.
type Link struct {
	Object manifest.Key `json:"object"`
	// State is what the object is: one of the states above, its health, or what the
	// container of a Pod waits for.
	State string `json:"state"`
	// Reason is what the object, its Pods or its events say.
	Reason string `json:"reason,omitempty"`
	// Since is when it came to be so, as far as that is known.
	Since *time.Time `json:"since,omitempty"`
	// Field is the mention that leads from the link before to this one.
	Field string `json:"field,omitempty"`
	// Text is the link in words.
	Text string `json:"text"`

	// own is true where Reason is no more than the object's own health.
	own bool
	// part is true for what was made for the object of the link before.
	part bool
}

// Well tells whether the object is as it should be.
func (l Link) Well() bool { return l.State == string(health.Healthy) || l.State == There }

// maxDepth bounds how far causes are followed.
const maxDepth = 10

// Explainer follows causes.
type Explainer struct {
	Cluster Cluster
	// Produced names, for objects that a controller makes, the object it makes them
	// from: what an application renders.
	Produced map[manifest.Key]manifest.Key
	// Placed says for the objects that an application renders where they stand in its
	// plan: "Sync/2".
	Placed map[manifest.Key]string
	// Judge is what is known of an object's health; health.Of if nil.
	Judge func(*unstructured.Unstructured) health.Result
	// Planned, if not nil, says what a plan knows of why an object waits.
	Planned func(manifest.Key) string
}

// target is where a chain goes on.
type target struct {
	key manifest.Key
	// field is the mention that leads there, keys are the entries that it needs.
	field string
	keys  []string
	// part is true for what was made for the object before.
	part bool
}

// Explain returns the chain from an object to what it hangs on. A healthy object
// is a chain of one link.
func (e Explainer) Explain(ctx context.Context, key manifest.Key) ([]Link, error) {
	if e.Judge == nil {
		e.Judge = health.Of
	}
	var chain []Link
	seen := map[manifest.Key]bool{}
	at := target{key: key}
	for len(chain) < maxDepth && !seen[at.key] {
		seen[at.key] = true
		link, next := e.link(ctx, at)
		if err := ctx.Err(); err != nil {
			return chain, context.Cause(ctx)
		}
		// What is as it should be explains nothing that hangs on it.
		if len(chain) > 0 && link.Well() {
			break
		}
		link.Field, link.part = at.field, at.part
		chain = append(chain, link)
		if next.key == (manifest.Key{}) {
			break
		}
		at = next
	}
	now := time.Now()
	for i := range chain {
		chain[i].Text = chain[i].text(&now)
	}
	return chain, nil
}

// Produced is what the controllers of well-known kinds make from rendered
// objects.
func Produced(objects []manifest.Object) map[manifest.Key]manifest.Key {
	made := map[manifest.Key]manifest.Key{}
	for _, o := range objects {
		for _, p := range manifest.Products(o.Unstructured) {
			made[p.Object] = o.Key()
		}
	}
	return made
}

// makers are the kinds whose controllers make Secrets.
func makers() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "external-secrets.io", Kind: "ExternalSecret"},
		{Group: "cert-manager.io", Kind: "Certificate"},
		{Group: "bitnami.com", Kind: "SealedSecret"},
		{Group: "postgresql.cnpg.io", Kind: "Cluster"},
	}
}

// producer is the object that an object is made from: what the application renders,
// or what somebody else has put beside it.
func (e Explainer) producer(ctx context.Context, key manifest.Key) manifest.Key {
	if producer, ok := e.Produced[key]; ok || key.Kind != "Secret" {
		return producer
	}
	for _, gvk := range makers() {
		list, err := e.Cluster.FetchAll(ctx, gvk, key.Namespace)
		if err != nil {
			continue
		}
		for i := range list.Items {
			makes := func(p manifest.Product) bool { return p.Object == key }
			if slices.ContainsFunc(manifest.Products(&list.Items[i]), makes) {
				return manifest.KeyOf(&list.Items[i])
			}
		}
	}
	return manifest.Key{}
}

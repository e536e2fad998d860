// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package why follows the causes of a wait: from what a rollout waits for down to
// the object, and the words of whoever knows, that it all hangs on.
package why

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Cluster is asked about objects.
type Cluster interface {
	// Fetch reads an object; an empty version is the preferred one. The error of a
	// missing object satisfies apierrors.IsNotFound.
	Fetch(ctx context.Context, key manifest.Key, version string) (*unstructured.Unstructured, error)
	// Pods returns the Pods below a workload.
	Pods(ctx context.Context, key manifest.Key) ([]*unstructured.Unstructured, error)
	// Blocked says why an object does not get on, as its Pods and events show it.
	Blocked(ctx context.Context, key manifest.Key) string
	// Warnings returns the messages of an object's warning events, newest first.
	Warnings(ctx context.Context, key manifest.Key, uid types.UID) ([]string, error)
}

// Link is one step of the chain.
type Link struct {
	Object manifest.Key `json:"object"`
	// State is what the object is: missing, Progressing, Degraded, Healthy, or in
	// the words of its kind.
	State string `json:"state"`
	// Reason is what the object, its Pods or its events say.
	Reason string `json:"reason,omitempty"`
	// Since is when it came to be so, as far as that is known.
	Since *time.Time `json:"since,omitempty"`
	// Field is the mention that leads from the link before to this one.
	Field string `json:"field,omitempty"`
}

// maxDepth bounds how far causes are followed.
const maxDepth = 10

// Explainer follows causes.
type Explainer struct {
	Cluster Cluster
	// Produced names, for objects that a controller makes, the object it makes them
	// from: what an application renders.
	Produced map[manifest.Key]manifest.Key
}

// Explain returns the chain from an object to what it hangs on. A healthy object
// is a chain of one link.
func (e Explainer) Explain(ctx context.Context, key manifest.Key) ([]Link, error) {
	var chain []Link
	seen := map[manifest.Key]bool{}
	at := ""
	for len(chain) < maxDepth && !seen[key] {
		seen[key] = true
		link, next, mention, err := e.link(ctx, key)
		if err != nil {
			return chain, err
		}
		link.Field = at
		chain = append(chain, link)
		if next == (manifest.Key{}) {
			return chain, nil
		}
		key, at = next, mention
	}
	return chain, nil
}

// link looks at one object and says which other it hangs on.
func (e Explainer) link(ctx context.Context, key manifest.Key) (link Link, next manifest.Key, mention string, err error) {
	u, err := e.Cluster.Fetch(ctx, key, "")
	if apierrors.IsNotFound(err) {
		link = Link{Object: key, State: "missing"}
		if producer, ok := e.Produced[key]; ok {
			return link, producer, "", nil
		}
		link.Reason = "nothing that the application renders brings it"
		return link, manifest.Key{}, "", nil
	}
	if err != nil {
		return Link{Object: key, State: "unknown", Reason: err.Error()}, manifest.Key{}, "", ctx.Err()
	}
	result := health.Of(u)
	link = Link{Object: key, State: string(result.Status), Reason: result.Message, Since: since(u)}
	if !result.Known {
		link.State = "there"
	}
	if result.Status == health.Healthy || !result.Known && key.Kind != "Application" {
		return link, manifest.Key{}, "", nil
	}
	if blocked := e.Cluster.Blocked(ctx, key); blocked != "" {
		link.Reason = blocked
	}
	next, mention = e.lacks(ctx, u)
	return link, next, mention, nil
}

// lacks returns the first object that another one mentions, needs, and does not
// find or finds not ready.
func (e Explainer) lacks(ctx context.Context, u *unstructured.Unstructured) (manifest.Key, string) {
	refs := manifest.References(u)
	if pods, err := e.Cluster.Pods(ctx, manifest.KeyOf(u)); err == nil {
		for _, pod := range pods {
			refs = append(refs, manifest.References(pod)...)
		}
	}
	// What is not there explains more than what is not ready.
	var unready manifest.Key
	var at string
	for _, ref := range refs {
		if ref.Optional {
			continue
		}
		target, err := e.Cluster.Fetch(ctx, ref.Target, "")
		switch {
		case apierrors.IsNotFound(err):
			return ref.Target, ref.Field
		case err != nil:
		case lacksKey(target, ref.Keys):
			if producer, ok := e.Produced[ref.Target]; ok {
				return producer, ref.Field
			}
		default:
			if r := health.Of(target); unready == (manifest.Key{}) && r.Known && r.Status != health.Healthy {
				unready, at = ref.Target, ref.Field
			}
		}
	}
	return unready, at
}

func lacksKey(u *unstructured.Unstructured, keys []string) bool {
	if u.GetKind() != "Secret" && u.GetKind() != "ConfigMap" {
		return false
	}
	data := field.Map(u.Object, "data")
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := data[key]; return !ok })
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

// named finds objects in the message of an operation: "apps/Deployment/shop", and
// without a group "Secret/shop".
var named = regexp.MustCompile(`(?:^|[\s,;:(])((?:[a-z0-9.-]+/)?[A-Z][A-Za-z0-9]*/[a-z0-9][a-z0-9.-]*)`)

// elsewhere is what follows an object of another namespace in such a message.
var elsewhere = regexp.MustCompile(`^ in namespace ([a-z0-9-]+)`)

// Named returns the objects that the message of an operation names, in its order.
// Their namespace is the one given, unless the message names another.
func Named(message, namespace string) []manifest.Key {
	var keys []manifest.Key
	for _, at := range named.FindAllStringSubmatchIndex(message, -1) {
		parts := strings.Split(strings.TrimRight(message[at[2]:at[3]], "."), "/")
		key := manifest.Key{Namespace: namespace, Kind: parts[len(parts)-2], Name: parts[len(parts)-1]}
		if m := elsewhere.FindStringSubmatch(message[at[1]:]); m != nil {
			key.Namespace = m[1]
		}
		if len(parts) == 3 {
			key.Group = parts[0]
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Text writes a chain in one line, the way people say it.
func Text(chain []Link, now time.Time) string {
	words := make([]string, len(chain))
	for i, l := range chain {
		words[i] = l.text(now)
	}
	return strings.Join(words, ": ")
}

func (l Link) text(now time.Time) string {
	text := l.Object.Short() + " " + l.State
	if l.Since != nil && l.State != "missing" {
		text += " since " + now.Sub(*l.Since).Round(time.Second).String()
	}
	if l.Reason != "" {
		text += fmt.Sprintf(" (%s)", l.Reason)
	}
	return text
}

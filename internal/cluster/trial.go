// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// maxAcceptances bounds how many writes are known to be accepted, maxApplied of how
// many objects it is known what was written last.
const (
	maxAcceptances = 1 << 15
	maxApplied     = 1 << 17
)

// acceptances remember which writes the API server said it would accept, so that
// it is not asked again while everything that its answer depends on is the same:
// the desired object and how it is written, the live object, the namespace, what
// defines the kind, and the configuration of admission.
//
// Refusals are not remembered, and neither is anything about Pods: quotas, rights,
// accounts and limits change without a trace in these. An acceptance that is out of
// date costs nothing but that the refusal comes when the object is written.
type acceptances struct {
	mu sync.Mutex
	// known are the writes that were accepted, those of late and those before. They
	// hold no pointers: there is one for every object.
	known, knownBefore map[acceptance]struct{}
	// admission is the digest of the configuration of admission, empty when it is
	// to be made anew; changes count what it was made anew for.
	admission string
	changes   int
	// asked is whom the API server asks of writes, if that was read.
	asked asked
	read  bool
	// namespaces are those that were asked about.
	namespaces map[string]namespaceState
	// applied are our last writes of objects that exist.
	applied map[identity]acceptance
}

// acceptance is from the digest of a write and all that the answer to it depends on.
type acceptance [16]byte

func newAcceptances() *acceptances {
	return &acceptances{known: map[acceptance]struct{}{}, namespaces: map[string]namespaceState{}, applied: map[identity]acceptance{}}
}

// accepts reports whether a write is known to be accepted.
func (a *acceptances) accepts(write acceptance) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.known[write]
	if _, before := a.knownBefore[write]; before && !known {
		a.add(write)
		known = true
	}
	return known
}

// add notes that a write was accepted. What was not asked for again for a long time is
// forgotten. The caller holds mu.
func (a *acceptances) add(write acceptance) {
	if len(a.known) == maxAcceptances/2 {
		a.known, a.knownBefore = map[acceptance]struct{}{}, a.known
	}
	a.known[write] = struct{}{}
}

// AdmissionKinds are the kinds that configure admission.
func AdmissionKinds() []schema.GroupKind {
	const group = "admissionregistration.k8s.io"
	return []schema.GroupKind{
		{Group: group, Kind: "ValidatingWebhookConfiguration"},
		{Group: group, Kind: "MutatingWebhookConfiguration"},
		{Group: group, Kind: "ValidatingAdmissionPolicy"},
		{Group: group, Kind: "ValidatingAdmissionPolicyBinding"},
		{Group: group, Kind: "MutatingAdmissionPolicy"},
		{Group: group, Kind: "MutatingAdmissionPolicyBinding"},
	}
}

// changed notes that an object has changed.
func (a *acceptances) changed(c Change) {
	if slices.Contains(AdmissionKinds(), c.Key.GroupKind()) {
		a.mu.Lock()
		a.admission, a.asked, a.read = "", asked{}, false
		a.changes++
		a.mu.Unlock()
	}
	if c.Type != Deleted {
		return
	}
	id, _ := identify(c.UID)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.applied, id)
	if c.Key.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		delete(a.namespaces, c.Key.Name)
	}
}

// Try has the API server say whether it would accept a write, without storing
// anything: one as Apply makes it or, for an object that is made anew, as Create
// does. It is not asked when it has accepted the same before.
func (c *Cluster) Try(ctx context.Context, obj *unstructured.Unstructured, anew bool, o ApplyOptions) error {
	o.DryRun, o.VerdictOnly = true, true
	res, key, err := c.target(ctx, obj)
	if err != nil {
		return err
	}
	c.watchAdmission(ctx)
	body := c.body(obj, res, o)
	a, identified := c.acceptanceOf(ctx, res, key, body, anew, o)
	if identified && c.accepted.accepts(a) {
		return nil
	}
	if !anew && c.wasApplied(ctx, res, key, body, o) {
		return nil
	}
	if anew {
		_, err = c.Create(ctx, obj, o)
	} else {
		_, err = c.Apply(ctx, obj, o)
	}
	if err == nil {
		c.remember(a, identified)
	}
	return err
}

// watchAdmission has the configuration of admission watched. Where that is not
// allowed, nothing is remembered.
func (c *Cluster) watchAdmission(ctx context.Context) {
	var served []schema.GroupKind
	for _, gk := range AdmissionKinds() {
		if _, known := c.Scope(gk); known {
			served = append(served, gk)
		}
	}
	_ = c.Watch(ctx, served...)
}

// remember notes that a write was accepted in a dry run, if that can be known again.
func (c *Cluster) remember(a acceptance, identified bool) {
	if !identified {
		return
	}
	c.accepted.mu.Lock()
	defer c.accepted.mu.Unlock()
	c.accepted.add(a)
}

// acceptanceOf identifies a write and all that the answer to it depends on; ok is
// false if some of that is not known, as what somebody else may do never is.
func (c *Cluster) acceptanceOf(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, anew bool, o ApplyOptions) (a acceptance, ok bool) {
	live, watched := c.identity(key)
	if !o.DryRun || !watched || anew && live != "" {
		return a, false
	}
	return c.identified(ctx, res, key, want, anew, o, live)
}

// identified is acceptanceOf for a state of the live object.
func (c *Cluster) identified(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, anew bool, o ApplyOptions, live string) (a acceptance, ok bool) {
	if impersonated(ctx) || key.Name == "" || key.GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
		return a, false
	}
	admission, known := c.admission()
	if !known {
		return a, false
	}
	around := ""
	if res.Namespaced {
		if around, known = c.namespaceIdentity(key.Namespace); !known {
			return a, false
		}
	}
	body, err := json.Marshal(want.Object)
	if err != nil {
		return a, false
	}
	h := sha256.New()
	for _, text := range []string{
		string(body), res.GVR.String(), strconv.FormatBool(anew), string(o.Method), o.manager(), o.validation(), strconv.FormatBool(o.KeepOwners),
		live, around, c.catalog.edition(res.GVR.Group), admission,
	} {
		_, _ = h.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
	return acceptance(h.Sum(nil)[:len(acceptance{})]), true
}

// wasApplied reports whether a write is the one that we made of the live object
// last. Whatever others have changed since, it is accepted once more: that is what
// healing is.
func (c *Cluster) wasApplied(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions) bool {
	head, exists := c.Head(key)
	if !exists || o.Method != ServerSide {
		return false
	}
	id, _ := identify(head.UID)
	c.accepted.mu.Lock()
	last, known := c.accepted.applied[id]
	c.accepted.mu.Unlock()
	if !known {
		return false
	}
	a, ok := c.identified(ctx, res, key, want, false, o, string(head.UID))
	return ok && a == last
}

// Repeats reports whether applying an object would be the write that we made of it
// last, under the same definition of its kind and the same configuration of
// admission, of which none changes what is written: then what comes of the fields
// that it sets is known, whatever others have changed since.
func (c *Cluster) Repeats(ctx context.Context, obj *unstructured.Unstructured, o ApplyOptions) bool {
	res, key, err := c.target(ctx, obj)
	return err == nil && !c.asked().mutates(res) && c.wasApplied(ctx, res, key, c.body(obj, res, o), o)
}

// applied notes what was written of an object.
func (c *Cluster) applied(ctx context.Context, res Resource, key manifest.Key, want *unstructured.Unstructured, o ApplyOptions, uid types.UID) {
	id, _ := identify(uid)
	a, ok := acceptance{}, false
	if o.Method == ServerSide && c.follows(key.GroupKind()) {
		a, ok = c.identified(ctx, res, key, want, false, o, string(uid))
	}
	c.accepted.mu.Lock()
	defer c.accepted.mu.Unlock()
	if !ok || len(c.accepted.applied) == maxApplied {
		delete(c.accepted.applied, id)
		return
	}
	c.accepted.applied[id] = a
}

// namespaceIdentity tells a namespace from every other as far as admission asks: it
// has labels, and may have been made anew. Known is false for one that is not there
// to stay.
func (c *Cluster) namespaceIdentity(name string) (identity string, known bool) {
	key := manifest.Key{Kind: "Namespace", Name: name}
	head, exists := c.Head(key)
	if !exists || !c.follows(key.GroupKind()) {
		return "", false
	}
	c.accepted.mu.Lock()
	last := c.accepted.namespaces[name]
	c.accepted.mu.Unlock()
	if last.version == head.Version && last.uid == head.UID {
		return last.identity, last.identity != ""
	}
	live, exists := c.Get(key)
	if !exists {
		return "", false
	}
	last = namespaceState{uid: live.GetUID(), version: live.GetResourceVersion()}
	if live.GetDeletionTimestamp() == nil {
		last.identity = string(live.GetUID()) + labelsOf(live)
	}
	c.accepted.mu.Lock()
	defer c.accepted.mu.Unlock()
	c.accepted.namespaces[name] = last
	return last.identity, last.identity != ""
}

// namespaceState is what was read of a namespace: its identity is empty when it is
// being deleted.
type namespaceState struct {
	uid               types.UID
	version, identity string
}

// identity tells a state of a live object from every other, with the empty text for
// one that does not exist; watched is false when nobody knows.
func (c *Cluster) identity(key manifest.Key) (identity string, watched bool) {
	if !c.follows(key.GroupKind()) {
		return "", false
	}
	live, exists := c.Head(key)
	if !exists {
		return "", true
	}
	return string(live.UID) + "/" + live.Version, true
}

// follows reports whether a kind is watched and up to date.
func (c *Cluster) follows(gk schema.GroupKind) bool {
	w := c.watchOf(gk)
	if w == nil {
		return false
	}
	return !slices.ContainsFunc(w.parts, func(p *watchPart) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return !p.synced || p.err != nil
	})
}

// admission is the digest of what configures admission; known is false if that
// cannot be followed.
func (c *Cluster) admission() (digest string, known bool) {
	kinds := AdmissionKinds()
	for _, gk := range kinds {
		if _, served := c.Scope(gk); served && !c.follows(gk) {
			return "", false
		}
	}
	c.accepted.mu.Lock()
	digest, changes := c.accepted.admission, c.accepted.changes
	c.accepted.mu.Unlock()
	if digest != "" {
		return digest, true
	}
	h := sha256.New()
	for _, gk := range kinds {
		for _, u := range c.List(gk) {
			_, _ = h.Write([]byte(gk.Kind + "/" + u.GetName() + "/" + string(u.GetUID()) + "/" + strconv.FormatInt(u.GetGeneration(), 10) + "\n"))
		}
	}
	digest = hex.EncodeToString(h.Sum(nil))
	c.accepted.mu.Lock()
	defer c.accepted.mu.Unlock()
	if c.accepted.changes == changes {
		c.accepted.admission = digest
	}
	return digest, true
}

func labelsOf(u *unstructured.Unstructured) string {
	labels, text := u.GetLabels(), ""
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		text += "," + name + "=" + labels[name]
	}
	return text
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// resolve returns what is followed comes to now.
func (a *applications) resolve(ctx context.Context, of followed) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, observeTimeout, errNoAnswer)
	defer cancel()
	revisions, err := a.renderer.Resolve(ctx, of.Project, []v1alpha1.ApplicationSource{of.source()})
	if err != nil {
		return "", err
	}
	return revisions[0], nil
}

// headMoved takes note that something has moved which an Application follows. If
// that does not affect what is rendered, the Application is not looked at: its
// revision follows when there is time.
func (a *applications) headMoved(ctx context.Context, name types.NamespacedName) {
	unaffected := a.unaffected(ctx, name)
	a.counters.decided(!unaffected)
	if !unaffected {
		a.enqueue(name)
		return
	}
	a.heads.add(name)
}

// unaffected renders what the heads have come to and reports whether that is what
// was rendered before. It takes that over then, and everything else stays as it
// is. An Application in the middle of something, or one that cannot be rendered,
// is for a look to deal with.
func (a *applications) unaffected(ctx context.Context, name types.NamespacedName) bool {
	ctx, cancel := context.WithTimeoutCause(ctx, observeTimeout, errNoAnswer)
	defer cancel()
	app := &v1alpha1.Application{}
	told := a.installation.current.Load()
	if a.client.Get(ctx, name, app) != nil || frozen(app) || app.Operation != nil || told == nil {
		return false
	}
	st := a.state(name)
	// A look resolves anew anyway when it is asked to; it is not waited for.
	if !st.mu.TryLock() {
		return false
	}
	defer st.mu.Unlock()
	seen := st.settled.Load()
	if seen == nil || st.run != nil || st.desired == nil || st.head != st.desired || !a.destinations.has(seen.dest) {
		return false
	}
	s := &session{applications: a, st: st, app: app, before: app, settings: told, now: a.opts.Clock.Now(), instance: a.instance(name), dest: seen.dest}
	req, err := s.renderRequest(ctx)
	if err != nil {
		return false
	}
	data, err := json.Marshal(req)
	if err != nil || sha256.Sum256(data) != st.request {
		return false
	}
	head, err := s.render(ctx, req)
	if err != nil || head.Digest != st.desired.Digest || len(head.Warnings) != len(st.desired.Warnings) {
		return false
	}
	st.head, st.desired = head, head
	sources, revisions := head.Followed(req.Sources)
	a.polls.follow(name, req.Project, sources, revisions)
	return true
}

// headEvery spaces writes that only say which commit an Application has been
// compared with. Nothing depends on them.
const headEvery = 50 * time.Millisecond

// heads are Applications whose status names an older commit than the one that was
// seen. Each is written once, however many commits come meanwhile.
type heads struct {
	write func(context.Context, types.NamespacedName) error

	mu      sync.Mutex
	waiting map[types.NamespacedName]bool
	ring    chan struct{}
}

func newHeads(write func(context.Context, types.NamespacedName) error) *heads {
	return &heads{write: write, waiting: map[types.NamespacedName]bool{}, ring: make(chan struct{}, 1)}
}

func (h *heads) add(name types.NamespacedName) {
	h.mu.Lock()
	h.waiting[name] = true
	h.mu.Unlock()
	select {
	case h.ring <- struct{}{}:
	default:
	}
}

func (h *heads) take() (name types.NamespacedName, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.waiting {
		delete(h.waiting, name)
		return name, true
	}
	return types.NamespacedName{}, false
}

// run writes until ctx ends.
func (h *heads) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.ring:
		}
		for name, ok := h.take(); ok; name, ok = h.take() {
			// What cannot be written now goes with the next write of the status.
			_ = h.write(ctx, name)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(headEvery):
			}
		}
	}
}

// writeHead has the status name the commit that was seen last.
func (a *applications) writeHead(ctx context.Context, name types.NamespacedName) error {
	before := &v1alpha1.Application{}
	if err := a.client.Get(ctx, name, before); err != nil {
		return client.IgnoreNotFound(err)
	}
	st := a.state(name)
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.run != nil || st.desired == nil || st.settled.Load() == nil || st.ahead(before) {
		return nil
	}
	app := before.DeepCopy()
	setRevisions(app, st.desired.Revisions)
	if app.Status.Sync.Revision == before.Status.Sync.Revision && slices.Equal(app.Status.Sync.Revisions, before.Status.Sync.Revisions) {
		return nil
	}
	if err := a.client.Patch(ctx, app, client.MergeFrom(before), client.FieldOwner(manifest.ControllerFieldManager)); err != nil {
		return fmt.Errorf("write the revision of %s: %w", name, err)
	}
	st.written = app.ResourceVersion
	return nil
}

// setRevisions has the status of an Application name the commits that it was
// compared with.
func setRevisions(app *v1alpha1.Application, revisions []string) {
	if app.Spec.MultipleSources() {
		app.Status.Sync.Revision, app.Status.Sync.Revisions = "", revisions
		return
	}
	app.Status.Sync.Revision, app.Status.Sync.Revisions = revisions[0], nil
}

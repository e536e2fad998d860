// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

const (
	// calm is how long nothing may change before things have settled.
	calm = 5 * time.Second
	// briskCalm is the same where everything has converged and nobody asks for more.
	briskCalm = 2 * time.Second
	// glance is how often a wait looks.
	glance = 100 * time.Millisecond
	// lag is how long an Application that a commit does not concern may take to say
	// that it has seen it.
	lag = 15 * time.Second
)

// wait waits. What does not come in time is noted, and the steps go on.
func (w *world) wait(ctx context.Context, s Step) error {
	what, err := s.waitFor()
	if err != nil {
		return err
	}
	limit := what.Within
	if limit == 0 {
		limit = settleLimit
	}
	var reached func(context.Context) (bool, error)
	switch {
	case what.For > 0:
		return sleep(ctx, what.For)
	case what.App != "":
		reached = func(ctx context.Context) (bool, error) { return w.operationIs(ctx, what) }
	case what.Object != "":
		reached = func(ctx context.Context) (bool, error) { return w.objectIs(ctx, what) }
	default:
		limit, reached = what.Settled, w.settled
	}
	end := w.now().Add(limit)
	for {
		done, err := reached(ctx)
		if err != nil || done {
			return err
		}
		if w.now().After(end) {
			w.overdue(ctx, s, limit)
			return nil
		}
		if what.Settled == 0 || w.underway(ctx) {
			if err := w.hurry(ctx, end); err != nil {
				return err
			}
		}
		if err := sleep(ctx, glance); err != nil {
			return err
		}
	}
}

// overdue notes a wait that was not over in time, and what it hangs on.
func (w *world) overdue(ctx context.Context, s Step, limit time.Duration) {
	text := []string{fmt.Sprintf("not reached within %s", limit)}
	_, apps := w.chronicle.state()
	for _, name := range slices.Sorted(maps.Keys(apps)) {
		if app := apps[name]; app.Operation == string(v1alpha1.OperationRunning) || app.Health != string(v1alpha1.HealthHealthy) {
			for _, line := range w.hang(ctx, name).Text {
				text = append(text, name+": "+line)
			}
		}
	}
	w.result.Unsettled = append(w.result.Unsettled, s.wrap(errors.New(strings.Join(text, "; "))).Error())
	w.chronicle.step(w.now(), "not reached: "+s.String())
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func (w *world) operationIs(ctx context.Context, what waitStep) (bool, error) {
	app := &v1alpha1.Application{}
	err := w.client.Get(ctx, appName(what.App), app)
	if err != nil || app.Status.OperationState == nil {
		return false, client.IgnoreNotFound(err)
	}
	state := app.Status.OperationState
	phase := string(state.Phase)
	if what.Operation == string(v1alpha1.OperationFailed) && phase == string(v1alpha1.OperationError) || what.Operation == string(v1alpha1.OperationFailed) && w.attemptFailed(what) {
		return true, nil
	}
	if phase != what.Operation {
		return false, nil
	}
	if what.Revision == "" || state.SyncResult == nil {
		return what.Revision == "", nil
	}
	return slices.ContainsFunc(append(state.SyncResult.Revisions, state.SyncResult.Revision), func(commit string) bool {
		return w.chronicle.is(commit, what.Revision)
	}), nil
}

// attemptFailed tells whether an attempt has failed, though there may be more.
func (w *world) attemptFailed(what waitStep) bool {
	c := w.chronicle
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.operations {
		if o.App == appName(what.App).Name && o.Phase == string(v1alpha1.OperationFailed) && (what.Revision == "" || o.Rev == what.Revision) {
			return true
		}
	}
	return false
}

// is tells whether a commit is that of a revision.
func (c *chronicle) is(commit, rev string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.named(commit) == rev
}

func (w *world) objectIs(ctx context.Context, what waitStep) (bool, error) {
	o, err := parseObject(what.Object)
	if err != nil {
		return false, err
	}
	u, err := w.find(ctx, o.kind, o.namespace, o.name)
	switch {
	case apierrors.IsNotFound(err):
		// Whoever looks at what was recorded must find it gone, too.
		return what.Gone && !w.chronicle.has(o), nil
	case err != nil:
		// Its kind may be served a moment later.
		return what.Gone, nil //nolint:nilerr // the wait ends with its limit
	case what.Gone:
		return false, nil
	}
	return (what.Generation == 0 || u.GetGeneration() >= what.Generation) && w.recorded(u), nil
}

// recorded tells whether a state of an object was recorded. What is not recorded at
// all, such as Endpoints, is taken for it a moment later.
func (w *world) recorded(u *unstructured.Unstructured) bool {
	if w.chronicle.knows(u.GetUID(), u.GetResourceVersion()) {
		return true
	}
	if w.sought != u.GetUID() {
		w.sought, w.soughtAt = u.GetUID(), time.Now()
	}
	return time.Since(w.soughtAt) > briskCalm
}

// has tells whether an object is recorded as being there.
func (c *chronicle) has(o object) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind, group, _ := strings.Cut(o.kind, ".")
	for _, s := range c.objects {
		if s.key.Kind == kind && s.key.Name == o.name && s.key.Namespace == o.namespace && (group == "" || s.key.Group == group) {
			return true
		}
	}
	return false
}

// catchUp waits until what was recorded is not older than what the cluster says of
// Applications now, and gives the other watches a moment.
func (w *world) catchUp(ctx context.Context) error {
	var list v1alpha1.ApplicationList
	if err := w.client.List(ctx, &list); err != nil {
		return err
	}
	for range int(patience / glance) {
		if err := sleep(ctx, glance); err != nil {
			return err
		}
		behind := slices.ContainsFunc(list.Items, func(app v1alpha1.Application) bool {
			return !w.chronicle.knows(app.UID, app.ResourceVersion)
		})
		if !behind {
			return nil
		}
	}
	return nil
}

// knows tells whether a state of an object, or a later one, was recorded.
func (c *chronicle) knows(uid types.UID, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.objects[uid]
	if s == nil {
		// It is gone again.
		return c.gone[uid]
	}
	known := s.object.GetResourceVersion()
	return len(known) > len(version) || len(known) == len(version) && known >= version
}

// settled tells whether every Application has seen the branch's head, nothing is
// running or about to be tried again, and nothing has changed for a while.
func (w *world) settled(ctx context.Context) (bool, error) {
	still := w.now().Sub(w.chronicle.quietSince())
	if w.touching.Load() > 0 || still < calm && (!w.brisk || still < briskCalm) {
		return false, nil
	}
	var list v1alpha1.ApplicationList
	progressing := false
	if err := w.client.List(ctx, &list); err != nil {
		return false, err
	}
	for i := range list.Items {
		app := &list.Items[i]
		if app.Operation != nil || app.DeletionTimestamp != nil {
			return false, nil
		}
		if s := app.Status.OperationState; s != nil && !s.Phase.Completed() {
			return false, nil
		}
		if !w.hasSeen(app) && time.Since(w.headAt) < lag {
			return false, nil
		}
		if still < calm && !converged(app) {
			return false, nil
		}
		progressing = progressing || app.Status.Health.Status == v1alpha1.HealthProgressing
	}
	if !progressing {
		return true, nil
	}
	// What is on its way and will still get somewhere has not settled.
	expects, err := w.expects(ctx)
	return !expects, err
}

func converged(app *v1alpha1.Application) bool {
	return app.Status.Sync.Status == v1alpha1.SyncStatusSynced && app.Status.Health.Status == v1alpha1.HealthHealthy &&
		app.Status.OperationState != nil && app.Status.OperationState.Phase.Successful()
}

// underway tells whether an operation runs, or an Application is on its way: then
// things settle only after what comes next. Otherwise they settle before it.
func (w *world) underway(ctx context.Context) bool {
	var list v1alpha1.ApplicationList
	if err := w.client.List(ctx, &list); err != nil {
		return false
	}
	return slices.ContainsFunc(list.Items, func(app v1alpha1.Application) bool {
		return inProgress(&app) || app.DeletionTimestamp != nil || app.Status.Health.Status == v1alpha1.HealthProgressing
	})
}

// hasSeen tells whether an Application has looked at the head of the branch.
func (w *world) hasSeen(app *v1alpha1.Application) bool {
	if app.Status.Sync.Revision == w.head || w.head == "" {
		return true
	}
	return slices.Contains(app.Status.Sync.Revisions, w.head)
}

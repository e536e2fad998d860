// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
)

const (
	// calm is how long nothing may change before things have settled.
	calm = 5 * time.Second
	// glance is how often a wait looks.
	glance = 100 * time.Millisecond
	// lag is how long an Application that a commit does not concern may take to say
	// that it has seen it.
	lag = 15 * time.Second
)

// waitStep is what a wait waits for.
type waitStep struct {
	For        time.Duration `yaml:"for"`
	Settled    time.Duration `yaml:"settled"`
	App        string        `yaml:"app"`
	Operation  string        `yaml:"operation"`
	Revision   string        `yaml:"revision"`
	Object     string        `yaml:"object"`
	Generation int64         `yaml:"generation"`
	Gone       bool          `yaml:"gone"`
	Within     time.Duration `yaml:"within"`
}

// wait waits. What does not come in time is noted, and the steps go on.
func (w *world) wait(ctx context.Context, s Step) error {
	var what waitStep
	switch text := s.text(); text {
	case "":
		if err := s.decode(&what); err != nil {
			return err
		}
	case "settled":
		what.Settled = settleLimit
	default:
		return fmt.Errorf("%q cannot be waited for: write settled, or for, app or object with what is expected", text)
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
	end := time.Now().Add(limit)
	for {
		done, err := reached(ctx)
		if err != nil || done {
			return err
		}
		if time.Now().After(end) {
			w.result.Unsettled = append(w.result.Unsettled, s.wrap(fmt.Errorf("not reached within %s", limit)).Error())
			w.chronicle.step(time.Now(), "not reached: "+s.String())
			return nil
		}
		if err := sleep(ctx, glance); err != nil {
			return err
		}
	}
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
	err := w.client.Get(ctx, client.ObjectKey{Namespace: controller.DefaultNamespace, Name: what.App}, app)
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
	return what.Revision == "" || state.SyncResult != nil && w.chronicle.is(state.SyncResult.Revision, what.Revision), nil
}

// attemptFailed tells whether an attempt has failed, though there may be more.
func (w *world) attemptFailed(what waitStep) bool {
	c := w.chronicle
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.operations {
		if o.App == what.App && o.Phase == string(v1alpha1.OperationFailed) && (what.Revision == "" || o.Rev == what.Revision) {
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
		return what.Gone, nil
	case err != nil:
		// Its kind may be served a moment later.
		return what.Gone, nil //nolint:nilerr // the wait ends with its limit
	case what.Gone:
		return false, nil
	}
	return what.Generation == 0 || u.GetGeneration() >= what.Generation, nil
}

// settled tells whether every Application has seen the branch's head, nothing is
// running or about to be tried again, and nothing has changed for a while.
func (w *world) settled(ctx context.Context) (bool, error) {
	if w.touching.Load() > 0 || time.Since(w.chronicle.quietSince()) < calm {
		return false, nil
	}
	var list v1alpha1.ApplicationList
	if err := w.client.List(ctx, &list, client.InNamespace(controller.DefaultNamespace)); err != nil {
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
	}
	return true, nil
}

// hasSeen tells whether an Application has looked at the head of the branch.
func (w *world) hasSeen(app *v1alpha1.Application) bool {
	if app.Status.Sync.Revision == w.head || w.head == "" {
		return true
	}
	return slices.Contains(app.Status.Sync.Revisions, w.head)
}

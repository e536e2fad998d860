// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
)

// appLabel is how an Application is called: by its name, with its namespace if that
// is not the control namespace.
func appLabel(namespace, name string) string {
	if namespace == controller.DefaultNamespace {
		return name
	}
	return namespace + "/" + name
}

// identity tells operations apart. Two can begin in the same second, and one that is
// only held up has no id yet.
type identity struct {
	id    string
	began time.Time
}

func (i identity) same(o identity) bool {
	return i.began.Equal(o.began) && (i.id == o.id || i.id == "" || o.id == "")
}

// retrying stands in the message of an operation between two attempts.
const retrying = " Retrying attempt #"

// seeOperation notes the attempts of an Application's operation.
func (c *chronicle) seeOperation(u *unstructured.Unstructured, at time.Time) {
	var app v1alpha1.Application
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &app) != nil || app.Status.OperationState == nil {
		return
	}
	state := app.Status.OperationState
	// The attempt that will come is counted already while the one before is told of.
	told, _, between := strings.Cut(state.Message, retrying)
	between = between && !state.Phase.Completed()
	number := int(state.RetryCount) + 1
	if between {
		number--
	}
	o := c.attempt(appLabel(app.Namespace, app.Name), number, identity{controller.OperationID(state.Operation), state.StartedAt.Time}, at)
	switch {
	case between && o.FinishedAt != nil:
		return
	case between:
		o.Phase, o.Message, o.FinishedAt = string(v1alpha1.OperationFailed), told, &at
	case state.Phase.Completed() && o.FinishedAt == nil:
		o.Phase, o.Message, o.FinishedAt = string(state.Phase), state.Message, &at
	default:
		o.Phase, o.Message = string(state.Phase), state.Message
	}
	if state.SyncResult == nil {
		return
	}
	for _, commit := range append(slices.Clone(state.SyncResult.Revisions), state.SyncResult.Revision) {
		if rev, known := c.revisions[commit]; known {
			o.Rev = rev
			return
		}
	}
	if state.SyncResult.Revision != "" {
		o.Rev = state.SyncResult.Revision
	}
}

// attempt is what is noted of an attempt; one that is not known yet ends those
// before.
func (c *chronicle) attempt(app string, number int, which identity, at time.Time) *Operation {
	i := slices.IndexFunc(c.operations, func(o Operation) bool { return o.App == app && o.Attempt == number && o.which.same(which) })
	if i >= 0 {
		return &c.operations[i]
	}
	for j := range c.operations {
		if o := &c.operations[j]; o.App == app && o.FinishedAt == nil {
			o.FinishedAt = &at
			if o.Phase == string(v1alpha1.OperationRunning) {
				o.Phase = string(v1alpha1.OperationFailed)
			}
		}
	}
	started := which.began.Add(c.ahead())
	if number > 1 {
		started = at
	}
	c.operations = append(c.operations, Operation{App: app, Attempt: number, StartedAt: started, which: which})
	return &c.operations[len(c.operations)-1]
}

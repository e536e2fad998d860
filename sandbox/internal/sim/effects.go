// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// happening is one effect at its time.
type happening struct {
	at time.Duration
	// key tells this effect from others of the same object, also after the rules were replaced.
	key string
	do  func(context.Context) error
}

// happen brings about what is due, each effect once per generation. Of the statuses only the last that is
// due is written, after all else that is due at its time: who sees it finds the rest done.
func (e *engine) happen(ctx context.Context, it item, o *unstructured.Unstructured, state *objectState, effects *rules.Rule) error {
	due := e.happenings(it, o, effects)
	current := make(map[string]bool, len(due))
	for _, h := range due {
		current[h.key] = true
	}
	for key := range state.done {
		if !current[key] {
			delete(state.done, key)
		}
	}
	now := e.clock.Now()
	for _, h := range due {
		if state.done[h.key] {
			continue
		}
		if at := state.from.Add(h.at); now.Before(at) {
			e.wakeAt(it, at)
			continue
		}
		if err := h.do(ctx); err != nil {
			return err
		}
		state.done[h.key] = true
	}
	return e.statusDue(ctx, it, o, state, effects.SetStatus)
}

// happenings lists all effects but the statuses, in order of time.
func (e *engine) happenings(it item, o *unstructured.Unstructured, effects *rules.Rule) []happening {
	var out []happening
	plan := func(at time.Duration, what string, payload any, do func(context.Context) error) {
		out = append(out, happening{at, keyOf(what, at, payload), do})
	}
	for _, c := range effects.Creates {
		plan(c.At, "create", c.Object, func(ctx context.Context) error { return e.create(ctx, o, expanded(c.Object, o)) })
	}
	for _, u := range effects.Updates {
		plan(u.At, "update", u.Object, func(ctx context.Context) error { return e.update(ctx, o, expanded(u.Object, o)) })
	}
	for _, p := range effects.Patches {
		plan(p.At, "patch", p, func(ctx context.Context) error { return e.patchField(ctx, it, o, p) })
	}
	for _, v := range effects.Events {
		plan(v.At, "event", v, func(context.Context) error {
			e.events.Event(o, v.Type, v.Reason, rules.ExpandText(v.Message, o.Object))
			return nil
		})
	}
	if o.GetKind() != "HorizontalPodAutoscaler" {
		for _, s := range effects.Scales {
			plan(s.At, "scale", s, func(ctx context.Context) error { return e.scale(ctx, o, s) })
		}
	}
	slices.SortStableFunc(out, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	return out
}

func keyOf(what string, at time.Duration, payload any) string {
	data, err := json.Marshal(payload)
	if err != nil {
		data = fmt.Append(nil, payload)
	}
	return what + " " + at.String() + " " + string(data)
}

func expanded(object map[string]any, o *unstructured.Unstructured) *unstructured.Unstructured {
	out, _ := rules.Expand(object, o.Object).(map[string]any)
	return &unstructured.Unstructured{Object: out}
}

func (e *engine) statusDue(ctx context.Context, it item, o *unstructured.Unstructured, state *objectState, list []rules.StatusAt) error {
	var latest *rules.StatusAt
	for i := range list {
		at := state.from.Add(list[i].At)
		if e.clock.Now().Before(at) {
			e.wakeAt(it, at)
			continue
		}
		if latest == nil || list[i].At >= latest.At {
			latest = &list[i]
		}
	}
	if latest == nil {
		state.status = ""
		return nil
	}
	key := keyOf("status", latest.At, latest.Status)
	if state.status == key {
		return nil
	}
	status, _ := rules.Expand(latest.Status, o.Object).(map[string]any)
	if err := e.patchStatus(ctx, it, o, e.dated(status)); err != nil {
		return err
	}
	state.status = key
	return nil
}

// dated gives conditions the time that every controller writes and nobody wants to write in a rule.
func (e *engine) dated(status map[string]any) map[string]any {
	conditions, ok := status["conditions"].([]any)
	if !ok {
		return status
	}
	now := time.Now().UTC().Format(time.RFC3339)
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] != nil && m["lastTransitionTime"] == nil {
			m["lastTransitionTime"] = now
		}
	}
	return status
}

// thenDelete deletes a Job some time after its end, or one that never ends some time after its start.
func (e *engine) thenDelete(ctx context.Context, it item, o *unstructured.Unstructured, state *objectState, effects *rules.Rule) error {
	if effects.Then == nil {
		return nil
	}
	from := state.ended
	if o.GetKind() != "Job" || effects.Outcome != nil && effects.Outcome.NeverFinish {
		from = state.from
	}
	if from.IsZero() {
		return nil
	}
	if due := from.Add(effects.Then.DeleteObjectAfter); e.clock.Now().Before(due) {
		e.wakeAt(it, due)
		return nil
	}
	client, err := e.clientOf(effects.Then.By)
	if err != nil {
		return err
	}
	uid := o.GetUID()
	return ignoreNotFound(client.Resource(it.gvr).Namespace(it.namespace).Delete(ctx, it.name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: &uid},
	}))
}

// clientOf is a client that calls itself by in the audit log.
func (e *engine) clientOf(by string) (dynamic.Interface, error) {
	if by == "" {
		return e.dynamic, nil
	}
	cfg := rest.CopyConfig(e.config)
	cfg.UserAgent = by
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", by, err)
	}
	return client, nil
}

// scale sets the replicas of a workload, as a person or an autoscaler of another kind does.
func (e *engine) scale(ctx context.Context, o *unstructured.Unstructured, s rules.ScaleAt) error {
	served := e.kinds.named(s.Target.Kind)
	if len(served) == 0 {
		return fmt.Errorf("scale %s: kind %s is not served", s.Target, s.Target.Kind)
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.Replicas)
	namespace := cmp.Or(s.Target.Namespace, o.GetNamespace(), corev1.NamespaceDefault)
	_, err := e.dynamic.Resource(served[0].gvr).Namespace(namespace).Patch(ctx, s.Target.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
	return ignoreNotFound(err)
}

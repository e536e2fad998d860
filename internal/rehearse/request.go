// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// appName reads the name of an Application: NAME in the control namespace, or
// NAMESPACE/NAME.
func appName(text string) types.NamespacedName {
	if namespace, name, qualified := strings.Cut(text, "/"); qualified {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: controller.DefaultNamespace, Name: text}
}

// ask asks the controller for something, by changing the Application.
func (w *world) ask(ctx context.Context, s Step) error {
	a, err := s.request()
	if err != nil {
		return err
	}
	began := time.Now()
	for {
		app := &v1alpha1.Application{}
		if err := w.client.Get(ctx, appName(a.App), app); err != nil {
			return err
		}
		before := app.DeepCopy()
		if s.Verb == "terminate" && !inProgress(app) && time.Since(began) < lag {
			// What was asked for a moment ago may be about to begin.
			if err := sleep(ctx, glance); err != nil {
				return err
			}
			continue
		}
		if err := w.change(app, s.Verb, a); err != nil {
			return err
		}
		err := w.client.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

func inProgress(app *v1alpha1.Application) bool {
	return app.Status.OperationState != nil && !app.Status.OperationState.Phase.Completed()
}

// change makes of an Application what says that something is asked for.
func (w *world) change(app *v1alpha1.Application, verb string, a askStep) error {
	who := v1alpha1.OperationInitiator{Username: "rehearsal"}
	switch verb {
	case "sync":
		sync, err := w.manualSync(app, a)
		if err != nil {
			return err
		}
		app.Operation = &v1alpha1.Operation{Sync: sync, InitiatedBy: who}
	case "refresh":
		annotate(app, v1alpha1.AnnotationRefresh, "normal")
	case "confirm":
		annotate(app, manifest.AnnotationDeletionApproved, time.Now().UTC().Format(time.RFC3339))
	case "terminate":
		if !inProgress(app) {
			return fmt.Errorf("no operation of %s is running", a.App)
		}
		app.Status.OperationState.Phase = v1alpha1.OperationTerminating
	case "rollback":
		history := app.Status.History
		if len(history) < 2 {
			return fmt.Errorf("%s has no release to go back to", a.App)
		}
		sync := controller.RollbackSync(app, history[len(history)-2], a.Prune || app.Spec.AutomatedPrune())
		app.Operation = &v1alpha1.Operation{Sync: sync, InitiatedBy: who}
	}
	return nil
}

// manualSync is a sync as a person asks for it: with pruning where automation
// prunes.
func (w *world) manualSync(app *v1alpha1.Application, a askStep) (*v1alpha1.SyncOperation, error) {
	sync := &v1alpha1.SyncOperation{Prune: a.Prune || app.Spec.AutomatedPrune(), SyncOptions: app.Spec.SyncOptionList()}
	if a.Force {
		sync.SyncStrategy = &v1alpha1.SyncStrategy{Hook: &v1alpha1.SyncStrategyHook{SyncStrategyApply: v1alpha1.SyncStrategyApply{Force: true}}}
	}
	for _, text := range a.Resources {
		r, err := w.resourceOf(app, text)
		if err != nil {
			return nil, err
		}
		sync.Resources = append(sync.Resources, r)
	}
	return sync, nil
}

func annotate(app *v1alpha1.Application, key, value string) {
	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	app.Annotations[key] = value
}

// resourceOf is an object of an Application as a sync is limited to it: without a
// namespace it is in that of the Application's destination, or wherever the
// Application has it.
func (w *world) resourceOf(app *v1alpha1.Application, text string) (v1alpha1.SyncOperationResource, error) {
	o, err := parseObject(text)
	if err != nil {
		return v1alpha1.SyncOperationResource{}, err
	}
	for _, r := range app.Status.Resources {
		kind, group, _ := strings.Cut(o.kind, ".")
		if r.Kind == kind && r.Name == o.name && (group == "" || r.Group == group) && (o.namespace == "" || r.Namespace == o.namespace) {
			return v1alpha1.SyncOperationResource{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, nil
		}
	}
	gvk, err := w.kindOf(o.kind)
	if err != nil {
		return v1alpha1.SyncOperationResource{}, err
	}
	if o.namespace == "" && w.namespaced(gvk) {
		o.namespace = app.Spec.Destination.Namespace
	}
	return v1alpha1.SyncOperationResource{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.namespace, Name: o.name}, nil
}

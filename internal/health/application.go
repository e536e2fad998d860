// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	argov1 "github.com/wavetrain/wavetrain/api/v1alpha1"
)

// application judges an Application as its parent sees it: it is Healthy when what its spec asks for now was compared,
// synced by an operation that ended well, and is healthy. Whether the revision is the one the parent waits for is for
// the rollout engine to say, which knows both.
//
// Missing and Unknown are passed on. Whoever adds up the health of a parent leaves such children out.
func application(s subject) Result {
	app := &argov1.Application{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.obj.Object, app); err != nil {
		return unknown("Unreadable", "the Application cannot be read: "+err.Error())
	}
	if why := standsApart(app); why != "" {
		return ownHealth(app, why)
	}
	if r, ok := operationHealth(app); !ok {
		return r
	}
	if !app.Status.Sync.ComparedTo.Covers(&app.Spec) {
		return progressing("NotCompared", "its present spec has not been compared with the cluster yet")
	}
	switch sync := app.Status.Sync; sync.Status {
	case argov1.SyncStatusSynced:
		return ownHealth(app, "")
	case argov1.SyncStatusOutOfSync:
		if app.Status.Health.Status == argov1.HealthDegraded {
			return ownHealth(app, "")
		}
		return progressing("OutOfSync", "OutOfSync, waits for its sync")
	default:
		return unknown("SyncUnknown", withConditions(app, "its manifests cannot be compared with the cluster"))
	}
}

// standsApart says why nobody waits for an Application: it does not follow its source by itself, or its owner took it
// out of the order. It returns nothing when the Application is to be waited for.
func standsApart(app *argov1.Application) string {
	a := app.Annotations
	switch {
	case a[argov1.AnnotationSkipReconcileHere] == "true",
		a[argov1.AnnotationSkipReconcile] == "true" && a[argov1.AnnotationAdopted] == "":
		return "it is frozen"
	case hasOption(a[argov1.AnnotationSyncOptions], "ReleaseOrder=false"):
		return "it is out of the release order"
	case !app.Spec.AutomatedEnabled():
		return "it is synced by hand"
	}
	return ""
}

func hasOption(list, option string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(o string) bool { return strings.TrimSpace(o) == option })
}

// operationHealth judges the operation that runs or ran last, and tells whether the rest decides.
func operationHealth(app *argov1.Application) (Result, bool) {
	state := app.Status.OperationState
	switch {
	case app.Operation != nil && (state == nil || state.Phase.Completed()):
		return progressing("OperationRequested", "a sync is about to start"), false
	case state == nil:
		return Result{}, true
	case !state.Phase.Completed():
		return progressing("Operation"+string(state.Phase), sentence("a sync is running", state.Message)), false
	case !state.Phase.Successful() && !app.Status.Overtaken():
		return degraded("Operation"+string(state.Phase), sentence("the last sync did not succeed", state.Message)), false
	}
	return Result{}, true
}

// ownHealth passes the Application's health on. With a reason why nobody waits for it, anything but Healthy is by
// design.
func ownHealth(app *argov1.Application, apart string) Result {
	h := app.Status.Health
	r := Result{Status: Status(h.Status), Reason: "Health" + string(h.Status), Message: h.Message}
	if h.Status == "" {
		r = progressing("NoHealth", "its health is not known yet")
	}
	if r.Message == "" {
		r.Message = "its objects are " + strings.ToLower(string(r.Status))
	}
	if apart != "" && r.Status != Healthy {
		r.ByDesign, r.Message = true, r.Message+"; nobody waits for it: "+apart
	}
	return r
}

// withConditions adds the messages of conditions that are errors.
func withConditions(app *argov1.Application, text string) string {
	for _, c := range app.Status.Conditions {
		if strings.HasSuffix(string(c.Type), "Error") {
			text += fmt.Sprintf("; %s: %s", c.Type, c.Message)
		}
	}
	return text
}

func sentence(text, detail string) string {
	if detail == "" {
		return text
	}
	return text + ": " + detail
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/plan/saved"
)

// A controller that does not know plans syncs without looking at them: that is no
// success.
func TestControllerThatDoesNotKnowPlans(t *testing.T) {
	scheme, err := apiScheme()
	if err != nil {
		t.Fatal(err)
	}
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "shop"},
		Spec:       v1alpha1.ApplicationSpec{Source: &v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop.git"}},
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(app).Build()
	name := types.NamespacedName{Namespace: "argocd", Name: "shop"}
	planned := plannedSync{Prune: true, Options: []string{"Replace=true"}, Plan: saved.Plan{Version: saved.Version, App: "argocd/shop", Revisions: []string{"abc"}}}
	if err := requestPlanned(t.Context(), c, name, planned); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), name, app); err != nil {
		t.Fatal(err)
	}
	if sync := app.Operation.Sync; sync.Revision != "abc" || !sync.Prune || len(sync.SyncOptions) != 1 {
		t.Errorf("the operation is %+v", sync)
	}
	if err := requestPlanned(t.Context(), c, name, planned); err == nil || !strings.Contains(err.Error(), "another operation is in progress") {
		t.Errorf("beside another operation: %v", err)
	}
	if !unread(*app.Operation) {
		t.Error("a plan that is whole counts as read")
	}
	app.Operation.Info[0].Value = planned.Plan.ID()
	if unread(*app.Operation) {
		t.Error("a plan of which only the id is left counts as not read")
	}
}

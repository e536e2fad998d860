// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func TestCascadeFinalizers(t *testing.T) {
	const short, long, background, other = v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesForeground, v1alpha1.FinalizerResourcesBackground, v1alpha1.FinalizerPreDelete
	for name, c := range map[string]struct {
		reason  string
		before  []string
		cascade string
		want    []string
	}{
		"added":      {"an Application without cascade gets one", []string{other}, cascadeForeground, []string{other, short}},
		"kept":       {"one that asks for the same stays", []string{long, other}, cascadeForeground, []string{long, other}},
		"replaced":   {"another one is replaced", []string{background, other}, cascadeForeground, []string{other, short}},
		"background": {"in both directions", []string{short}, cascadeBackground, []string{background}},
		"once":       {"two of one meaning become one", []string{short, long}, cascadeForeground, []string{short}},
		"none":       {"without cascade none is left, but those of hooks are", []string{short, other, background}, cascadeNone, []string{other}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, cascadeFinalizers(c.before, c.cascade)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestDeleteWaitsAndTellsWhatFor(t *testing.T) {
	scheme, err := apiScheme()
	if err != nil {
		t.Fatal(err)
	}
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "shop", UID: "one", Finalizers: []string{v1alpha1.FinalizerPreDelete}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(app).Build()
	name := types.NamespacedName{Namespace: "argocd", Name: "shop"}
	uid, err := requestDeletion(t.Context(), c, name, cascadeBackground)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), name, app); err != nil {
		t.Fatal(err)
	}
	if want := []string{v1alpha1.FinalizerPreDelete, v1alpha1.FinalizerResourcesBackground}; app.DeletionTimestamp == nil || !cmp.Equal(want, app.Finalizers) {
		t.Errorf("deleted %v with finalizers %v", app.DeletionTimestamp, app.Finalizers)
	}
	if _, err := requestDeletion(t.Context(), c, name, cascadeForeground); err == nil || !strings.Contains(err.Error(), "being deleted already") {
		t.Errorf("another cascade while it is being deleted: %v", err)
	}

	app.Status.Conditions = []v1alpha1.ApplicationCondition{{Type: v1alpha1.ConditionDeletionProgressing, Message: "waiting for ConfigMap/a"}}
	if err := c.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	w := waiter{client: c, streams: Streams{Err: &said}, timeout: 50 * time.Millisecond}
	var code *exitError
	if err := w.untilGone(t.Context(), name, uid); !errors.As(err, &code) || code.code != exitTimeout {
		t.Errorf("error %v, want the code for a time-out", err)
	}
	if want := "time is up after 50ms: waiting for ConfigMap/a"; !strings.Contains(said.String(), want) {
		t.Errorf("said %q, want %q", said.String(), want)
	}

	said.Reset()
	go letGo(t.Context(), c, app)
	w.timeout = 3 * time.Minute
	if err := w.untilGone(t.Context(), name, uid); err != nil || !strings.Contains(said.String(), "shop: deleted") {
		t.Errorf("error %v, said %q", err, said.String())
	}
}

// letGo removes the finalizers, which ends the Application.
func letGo(ctx context.Context, c client.Client, app *v1alpha1.Application) {
	app = app.DeepCopy()
	app.Finalizers = nil
	// That it fails shows in the test, which waits for the end.
	_ = c.Update(ctx, app)
}

func TestHistoryRows(t *testing.T) {
	at := metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 15, 0, time.UTC))
	began := metav1.NewTime(at.Add(-10 * time.Second))
	got := historyRows([]v1alpha1.RevisionHistory{
		{ID: 3, DeployedAt: at, DeployStartedAt: &began, Revision: strings.Repeat("a", 40), InitiatedBy: v1alpha1.OperationInitiator{Automated: true}},
		{ID: 4, DeployedAt: at, Revisions: []string{strings.Repeat("b", 40), "1.2.3"}, InitiatedBy: v1alpha1.OperationInitiator{Username: "anna"}},
	})
	want := [][]string{
		{"3", "2030-01-02T03:04:15Z", "10s", "aaaaaaa", "automated"},
		{"4", "2030-01-02T03:04:15Z", "", "bbbbbbb,1.2.3", "anna"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

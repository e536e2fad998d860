// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func TestRollbackAsksForAnEntryOfTheHistory(t *testing.T) {
	scheme, err := apiScheme()
	if err != nil {
		t.Fatal(err)
	}
	source := func(path string) v1alpha1.ApplicationSource {
		return v1alpha1.ApplicationSource{RepoURL: "https://git.example.test/shop", Path: path}
	}
	name := types.NamespacedName{Namespace: "argocd", Name: "shop"}
	for title, c := range map[string]struct {
		reason  string
		history []v1alpha1.RevisionHistory
		id      int64
		want    *v1alpha1.SyncOperation
		says    string
	}{
		"the one before": {
			"without an id the sync before the last one is meant, with its own source",
			[]v1alpha1.RevisionHistory{{ID: 1, Revision: "a", Source: source("old")}, {ID: 2, Revision: "b", Source: source("new")}},
			-1,
			&v1alpha1.SyncOperation{Revision: "a", Source: &v1alpha1.ApplicationSource{RepoURL: "https://git.example.test/shop", Path: "old"}}, "",
		},
		"by id": {
			"an id names any of them, also of several sources",
			[]v1alpha1.RevisionHistory{{ID: 7, Revisions: []string{"a", "1.2"}, Sources: []v1alpha1.ApplicationSource{source("x"), source("y")}}},
			7,
			&v1alpha1.SyncOperation{Revisions: []string{"a", "1.2"}, Sources: []v1alpha1.ApplicationSource{source("x"), source("y")}}, "",
		},
		"unknown":   {"an unknown id names those that there are", []v1alpha1.RevisionHistory{{ID: 7}, {ID: 8}}, 3, nil, "there are 7, 8"},
		"no before": {"there may be nothing to go back to", []v1alpha1.RevisionHistory{{ID: 7}}, -1, nil, "no sync before the last one"},
	} {
		t.Run(title, func(t *testing.T) {
			app := &v1alpha1.Application{
				ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
				Status:     v1alpha1.ApplicationStatus{History: c.history},
			}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(app).Build()
			err := requestRollback(t.Context(), api, name, c.id, true)
			if c.want == nil {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := api.Get(t.Context(), name, app); err != nil {
				t.Fatal(err)
			}
			c.want.Prune, c.want.SyncStrategy = true, &v1alpha1.SyncStrategy{Apply: &v1alpha1.SyncStrategyApply{}}
			if diff := cmp.Diff(c.want, app.Operation.Sync); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if err := requestRollback(t.Context(), api, name, c.id, true); err == nil || !strings.Contains(err.Error(), "another operation is in progress") {
				t.Errorf("a second request while one is open: %v", err)
			}
		})
	}
}

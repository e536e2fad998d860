// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestIgnoredReplicas(t *testing.T) {
	t.Parallel()
	pointer := []string{"/spec/replicas"}
	cases := map[string]struct {
		reason  string
		rule    v1alpha1.ResourceIgnoreDifferences
		options []string
		want    bool
	}{
		"Pointer":       {"Syncs leave the field alone.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", JSONPointers: pointer}, []string{"RespectIgnoreDifferences=true"}, true},
		"NotRespected":  {"Only the difference is hidden; a sync scales back all the same.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", JSONPointers: pointer}, nil, false},
		"Globs":         {"Group and kind may be patterns.", v1alpha1.ResourceIgnoreDifferences{Group: "*", Kind: "*", JSONPointers: pointer}, []string{"RespectIgnoreDifferences=true"}, true},
		"Expression":    {"The same field in the other notation.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", JQPathExpressions: []string{".spec.replicas"}}, []string{"RespectIgnoreDifferences=true"}, true},
		"Manager":       {"What the autoscaler writes is left to it.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", ManagedFieldsManagers: []string{"kube-controller-manager"}}, []string{"RespectIgnoreDifferences=true"}, true},
		"OtherField":    {"Another field says nothing about this one.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/paused"}}, []string{"RespectIgnoreDifferences=true"}, false},
		"OtherName":     {"The rule is about another Deployment.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", Name: "api", JSONPointers: pointer}, []string{"RespectIgnoreDifferences=true"}, false},
		"OtherManager":  {"Somebody else's fields are not the autoscaler's.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", ManagedFieldsManagers: []string{"kubectl"}}, []string{"RespectIgnoreDifferences=true"}, false},
		"OtherKind":     {"The rule is about StatefulSets.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "StatefulSet", JSONPointers: pointer}, []string{"RespectIgnoreDifferences=true"}, false},
		"OtherPlace":    {"The rule is about another namespace.", v1alpha1.ResourceIgnoreDifferences{Group: "apps", Kind: "Deployment", Namespace: "blog", JSONPointers: pointer}, []string{"RespectIgnoreDifferences=true"}, false},
		"RespectedNone": {"Nothing is ignored.", v1alpha1.ResourceIgnoreDifferences{}, []string{"RespectIgnoreDifferences=true"}, false},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1alpha1.Application{Spec: v1alpha1.ApplicationSpec{
				IgnoreDifferences: []v1alpha1.ResourceIgnoreDifferences{tt.rule}, SyncPolicy: &v1alpha1.SyncPolicy{SyncOptions: tt.options},
			}}
			ignores := ignoresOf(app)
			got := ignores != nil && ignores(manifest.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, "/spec/replicas")
			if got != tt.want {
				t.Errorf("%s ignored is %v, want %v", tt.reason, got, tt.want)
			}
		})
	}
}

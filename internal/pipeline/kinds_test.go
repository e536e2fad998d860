// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// TestBuiltinKindsAreComplete: every kind that a cluster serves by itself and that can be applied is among those from
// which random objects are made, and as it stands there the API server accepts it.
func TestBuiltinKindsAreComplete(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	dest, namespace := connect(t, env), env.Namespace(t)
	client, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	kinds := builtinKinds(t)
	lists, err := client.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			applied := slices.Contains(r.Verbs, "patch") && slices.Contains(r.Verbs, "create") && slices.Contains(r.Verbs, "list")
			// Nobody keeps in Git what is asked of the cluster once, or made by it.
			unmanaged := []string{"Event", "CertificateSigningRequest", "PodCertificateRequest", "IPAddress", "Node"}
			if !applied || slices.Contains(unmanaged, r.Kind) || strings.Contains(gv.Group, "example") {
				continue
			}
			if i := slices.IndexFunc(kinds, func(u *unstructured.Unstructured) bool {
				return u.GroupVersionKind().GroupKind() == gv.WithKind(r.Kind).GroupKind()
			}); i < 0 {
				t.Errorf("no object of kind %s", gv.WithKind(r.Kind).GroupKind())
			}
		}
	}
	for i, kind := range kinds {
		obj := kind.DeepCopy()
		name(obj, i, namespace, dest)
		if _, err := dest.Apply(t.Context(), obj, cluster.ApplyOptions{DryRun: true}); err != nil {
			t.Errorf("%s: %v", kind.GroupVersionKind().GroupKind(), err)
		}
	}
}

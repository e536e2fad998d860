// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// TestEditedPorts: a port whose number somebody edits differs in that field, whatever the API server would say of the two
// beside each other.
func TestEditedPorts(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	dest, namespace := connect(t, env), env.Namespace(t)
	other, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	awaitSchema(t, dest, schema.GroupVersion{Version: "v1"})
	services := other.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace(namespace)
	for name, row := range map[string]struct{ wanted, edit, differs string }{
		"plain": {"[{port: 80}]", `{"spec":{"ports":[{"port":8080}]}}`, "spec.ports"},
		"named": {"[{name: http, port: 80}]", `{"spec":{"ports":[{"name":"http","port":8080},{"name":"theirs","port":9090}]}}`, "spec.ports"},
	} {
		obj := deployment(t, namespace, "{apiVersion: v1, kind: Service, metadata: {name: "+name+"}, spec: {ports: "+row.wanted+"}}")
		if _, err := dest.Apply(t.Context(), obj, cluster.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		live, err := services.Patch(t.Context(), name, types.MergePatchType, []byte(row.edit), metav1.PatchOptions{FieldManager: "kubectl-edit"})
		if err != nil {
			t.Fatal(err)
		}
		v, err := verdictOn(t.Context(), dest, Subject{}, plan.Step{Key: manifest.KeyOf(obj), Object: &manifest.Object{Unstructured: obj}}, live, live.GetManagedFields())
		if err != nil || v.Rejected != "" || len(v.Changes) == 0 || !strings.HasPrefix(v.Changes[0].Path, row.differs) {
			t.Errorf("%s: %v, rejected %q, changes %+v", name, err, v.Rejected, v.Changes)
		}
	}
}

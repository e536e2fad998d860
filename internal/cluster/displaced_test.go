// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// TestDisplacedItems: what somebody made of a wanted list item by changing its key goes when the object is applied; what
// they put beside it stays.
func TestDisplacedItems(t *testing.T) {
	b := newBench(t)
	const service, workload = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [PORTS]}}", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: s}, spec: {replicas: 0, " +
		"selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: 'registry.example.test/a:1', ports: [PORTS]}]}}}}"
	for name, row := range map[string]struct {
		object, wanted string
		// edit is a merge patch of somebody else; want the ports that come out.
		edit, want string
	}{
		"one without a name":  {service, "{port: 80}", `{"spec":{"ports":[{"port":8080}]}}`, "80"},
		"one with a name":     {service, "{name: http, port: 80}", `{"spec":{"ports":[{"name":"http","port":8080}]}}`, "80"},
		"one of several":      {service, "{name: http, port: 80}, {name: https, port: 443}", `{"spec":{"ports":[{"name":"http","port":80},{"name":"https","port":8443}]}}`, "443 80"},
		"another protocol":    {service, "{name: dns, port: 53, protocol: UDP}", `{"spec":{"ports":[{"name":"dns","port":53,"protocol":"TCP"}]}}`, "53"},
		"and one beside them": {service, "{name: http, port: 80}", `{"spec":{"ports":[{"name":"http","port":8080},{"name":"theirs","port":9090}]}}`, "80 9090"},
		"in an item of a list": {
			workload, "{name: http, containerPort: 80}",
			`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.example.test/a:1","ports":[{"name":"http","containerPort":8080},{"name":"theirs","containerPort":9090}]}]}}}}`, "80 9090",
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := read(t, strings.Replace(row.object, "PORTS", row.wanted, 1))
			want.SetNamespace(b.env.Namespace(t))
			key := manifest.KeyOf(b.apply(want))
			res, err := b.Resolve(key.GroupKind().WithVersion(""))
			if err != nil {
				t.Fatal(err)
			}
			edited, err := b.other.Resource(res.GVR).Namespace(key.Namespace).Patch(b.ctx(), key.Name, types.MergePatchType, []byte(row.edit), metav1.PatchOptions{FieldManager: "kubectl-edit"})
			if err != nil {
				t.Fatal(err)
			}
			tried, err := b.Apply(b.ctx(), want, ApplyOptions{DryRun: true})
			if err != nil {
				t.Fatalf("foretold: %v", err)
			}
			if d := cmp.Diff(row.want, portsOf(tried)); d != "" {
				t.Errorf("foretold (-want +got):\n%s", d)
			}
			if live, err := b.Fetch(b.ctx(), key, ""); err != nil || live.GetGeneration() != edited.GetGeneration() {
				t.Fatalf("a dry run has written: %v", err)
			}
			out := b.apply(want)
			if d := cmp.Diff(row.want, portsOf(out)); d != "" {
				t.Errorf("ports (-want +got):\n%s", d)
			}
			opts := diff.Options{ManagedFields: out.GetManagedFields()}
			if !diff.Equalish(want, out, opts) {
				t.Errorf("what is wanted is not all ours now: %v", out.GetManagedFields())
			}
		})
	}
}

// portsOf lists the numbers of an object's ports.
func portsOf(u *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "ports")
	if u.GetKind() == "Deployment" {
		containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
		list, _ = containers[0].(map[string]any)["ports"].([]any)
	}
	var numbers []string
	for _, p := range list {
		port := p.(map[string]any)
		number := port["port"]
		if number == nil {
			number = port["containerPort"]
		}
		numbers = append(numbers, fmt.Sprint(number))
	}
	slices.Sort(numbers)
	return strings.Join(numbers, " ")
}

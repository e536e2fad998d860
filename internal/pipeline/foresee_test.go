// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// sceptic always has the API server asked.
type sceptic struct{ *counting }

func (sceptic) Repeats(context.Context, *unstructured.Unstructured, cluster.ApplyOptions) bool {
	return false
}

// TestForeseenIsWhatTheServerSays: what we wrote, and somebody has changed since, is compared without the API server if
// the fields are by themselves, and the changes are those that the API server would have told.
func TestForeseenIsWhatTheServerSays(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	dest := connect(t, env)
	other, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, gv := range []schema.GroupVersion{{Version: "v1"}, {Group: "apps", Version: "v1"}} {
		awaitSchema(t, dest, gv)
	}
	const (
		configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, labels: {app: web}, annotations: {note: a, more: b}}, data: {a: one, b: two}}"
		secret    = "{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {a: one}, data: {b: dHdv}}"
		untidy    = `{apiVersion: v1, kind: Secret, metadata: {name: web}, data: {a: b25l, b: "dH\ndv"}}`
		service   = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: ClusterIP, selector: {app: web}, ports: [{port: 80}]}}"
	)
	for name, row := range map[string]struct {
		reason, manifest, change string
		asked                    int
	}{
		"a value":               {"texts are kept as they are", configMap, "data: {a: other}", 0},
		"a value is gone":       {"and come back as they were", configMap, "data: {a: null}", 0},
		"all values are gone":   {"the map itself is gone", configMap, "data: null", 1},
		"added beside a change": {"what others add stays", configMap, "{data: {a: other, c: theirs}, metadata: {labels: {theirs: x}}}", 0},
		"a label":               {"labels are texts", configMap, "metadata: {labels: {app: other}}", 0},
		"a note":                {"so are annotations", configMap, "metadata: {annotations: {note: null}}", 0},
		"of a Secret":           {"the same of encoded values", secret, "data: {a: eHl6, b: eHl6}", 0},
		"of an untidy Secret":   {"the server encodes anew", untidy, "data: {a: eHl6, b: eHl6}", 1},
		"replicas":              {"a number of its own", levelsManifest, "spec: {replicas: 5}", 0},
		"image":                 {"a text of its own", levelsManifest, "spec: {template: {spec: {containers: [{name: main, image: other, env: [{name: A, value: '1'}, {name: B, value: '2'}], ports: [{containerPort: 8080}], resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}}", 0},
		"a variable":            {"a text of its own", levelsManifest, "spec: {template: {spec: {containers: [{name: main, image: 'registry.example.test/web:1', env: [{name: A, value: '7'}, {name: B, value: '2'}], ports: [{containerPort: 8080}], resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}}", 0},
		"a variable from":       {"it has a source instead of a value", levelsManifest, "spec: {template: {spec: {containers: [{name: main, image: 'registry.example.test/web:1', env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: B, value: '2'}], ports: [{containerPort: 8080}], resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}}", 1},
		"a quantity":            {"the server writes quantities its own way", levelsManifest, "spec: {template: {spec: {containers: [{name: main, image: 'registry.example.test/web:1', env: [{name: A, value: '1'}, {name: B, value: '2'}], ports: [{containerPort: 8080}], resources: {requests: {cpu: 200m, memory: 1Gi}}}]}}}", 1},
		"the type of a Service": {"ports go with it", service, "spec: {type: NodePort}", 1},
		"two at once":           {"one of them is asked about, so all are", levelsManifest, "{metadata: {labels: {team: b}}, spec: {template: {spec: {tolerations: []}}}}", 1},
	} {
		t.Run(name, func(t *testing.T) {
			obj := deployment(t, env.Namespace(t), row.manifest)
			key := manifest.KeyOf(obj)
			if err := dest.Watch(t.Context(), key.GroupKind(), schema.GroupKind{Kind: "Namespace"}); err != nil {
				t.Fatal(err)
			}
			home := manifest.Key{Kind: "Namespace", Name: key.Namespace}
			for _, seen := dest.Get(home); !seen; _, seen = dest.Get(home) {
				if err := t.Context().Err(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Millisecond)
			}
			// As a sync does; from then on it is known who changes what is written.
			if err := dest.Try(t.Context(), obj, false, cluster.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := dest.Apply(t.Context(), obj, cluster.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			body, err := yaml.YAMLToJSON([]byte(row.change))
			if err != nil {
				t.Fatal(err)
			}
			res, err := dest.Resolve(obj.GroupVersionKind())
			if err != nil {
				t.Fatal(err)
			}
			live, err := other.Resource(res.GVR).Namespace(key.Namespace).Patch(t.Context(), key.Name, "application/merge-patch+json", body, metav1.PatchOptions{FieldManager: "somebody"})
			if err != nil {
				t.Fatal(err)
			}
			compare := func(on Destination) Verdict {
				v, err := verdictOn(t.Context(), on, Subject{}, plan.Step{Key: key, Object: &manifest.Object{Unstructured: obj}}, live, live.GetManagedFields())
				if err != nil || v.InSync() {
					t.Fatalf("in sync: %v, %v", v.InSync(), err)
				}
				return v
			}
			asking := &counting{Cluster: dest}
			foreseen := compare(asking)
			if asking.dryRuns != row.asked {
				t.Errorf("%s: the API server was asked %d times, want %d", row.reason, asking.dryRuns, row.asked)
			}
			told := compare(sceptic{asking})
			if d := cmp.Diff(told.Changes, foreseen.Changes) + cmp.Diff(told.Rejected, foreseen.Rejected); d != "" {
				t.Errorf("%s: (-told by the API server +foreseen):\n%s", row.reason, d)
			}
		})
	}
}

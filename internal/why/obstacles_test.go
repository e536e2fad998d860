// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package why_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/why"
)

// told is a cluster of which only this is known.
type told struct {
	objects  []manifest.Object
	troubles map[string]cluster.Trouble
}

func (c told) Current(_ context.Context, key manifest.Key) (*unstructured.Unstructured, error) {
	for _, o := range c.objects {
		if o.Key() == key {
			return o.Unstructured, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: key.Group, Resource: key.Kind}, key.Name)
}

func (c told) Trouble(_ context.Context, key manifest.Key) cluster.Trouble {
	return c.troubles[key.Short()]
}

func (c told) FetchAll(context.Context, schema.GroupVersionKind, string) (*unstructured.UnstructuredList, error) {
	return &unstructured.UnstructuredList{}, nil
}

func pod(name string) manifest.Key { return manifest.Key{Kind: "Pod", Namespace: "shop", Name: name} }

func TestChains(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason   string
		objects  string
		troubles map[string]cluster.Trouble
		want     string
	}{
		"quota": {
			"a quota that is used up is what has to change",
			`
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: small, namespace: shop}, status: {hard: {pods: "1"}, used: {pods: "1"}}}`,
			map[string]cluster.Trouble{"Deployment/web": {
				Object: manifest.Key{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "web-1"}, Unstarted: true,
				Text: `FailedCreate: pods "web-1-a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`,
			}},
			`FailedCreate: pods "web-1-a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`,
		},
		"started": {
			"what has started had all that it mentions",
			`
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {containers: [{name: main, envFrom: [{secretRef: {name: gone}}]}]}, status: {phase: Running}}`,
			map[string]cluster.Trouble{
				"Deployment/web": {Object: pod("a"), Text: "container main is running but not ready"},
				"Pod/a":          {Object: pod("a"), Text: "container main is running but not ready"},
			},
			"container main is running but not ready",
		},
		"claim": {
			"a Pod without a node may lack a volume, and that a class",
			`
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], containers: [{name: main}]}, status: {phase: Pending}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: {storageClassName: fast}, status: {phase: Pending}}`,
			map[string]cluster.Trouble{
				"Deployment/web": {Object: pod("a"), Text: "FailedScheduling: pod has unbound immediate PersistentVolumeClaims", Unstarted: true},
				"Pod/a":          {Object: pod("a"), Text: "FailedScheduling: pod has unbound immediate PersistentVolumeClaims", Unstarted: true},
			},
			"FailedScheduling: pod has unbound immediate PersistentVolumeClaims: PersistentVolumeClaim/data not ready: Pending: no volume is bound yet: StorageClass/fast missing: nothing that is known brings it",
		},
		"key": {
			"a Secret without the key is no better than none",
			`
{apiVersion: batch/v1, kind: Job, metadata: {name: web, namespace: shop}, status: {active: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {containers: [{name: main, env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: url}}}]}]}, status: {phase: Pending}}
---
{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop}, data: {user: eA==}}`,
			map[string]cluster.Trouble{
				"Job/web": {Object: pod("a"), Text: "container main: CreateContainerConfigError: couldn't find key url in Secret shop/db", Unstarted: true},
				"Pod/a":   {Object: pod("a"), Text: "container main: CreateContainerConfigError: couldn't find key url in Secret shop/db", Unstarted: true},
			},
			"container main: CreateContainerConfigError: couldn't find key url in Secret shop/db: Secret/db incomplete: has no key url",
		},
		"going": {
			"who holds an object that is to go is all there is to say",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [foregroundDeletion, acme.test/cleanup]}}`,
			nil,
			"held by finalizer acme.test/cleanup",
		},
		"own": {
			"an object that says no more than its health has said it already",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1}}`,
			nil,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := manifest.Decode("objects.yaml", []byte(c.objects))
			if err != nil {
				t.Fatal(err)
			}
			chain, err := why.Explainer{Cluster: told{objects, c.troubles}}.Explain(t.Context(), objects[0].Key())
			if got := why.Message(chain); err != nil || got != c.want {
				t.Errorf("%s: it says (%v)\n%s\nwant\n%s", c.reason, err, got, c.want)
			}
		})
	}
}

func TestAnswersAboutApplications(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Groups: []plan.Group{{Phase: "PreSync", Wave: -1}, {Phase: "Sync", Wave: 2}}}
	for name, c := range map[string]struct {
		reason string
		app    string
		want   string
		waits  bool
	}{
		"gate": {
			"what is not opened comes before what it waits for",
			`
spec: {destination: {namespace: shop}}
status: {sync: {status: OutOfSync}, operationState: {phase: Running, message: "PreSync wave -1 (1/2): waiting for completion of hook batch/Job/migrate: x"}}`,
			"Sync/2 not opened: PreSync/-1 Job/migrate missing", true,
		},
		"early": {
			"what runs is in the results before a message names it",
			`
spec: {destination: {namespace: shop}}
status: {sync: {status: OutOfSync}, operationState: {phase: Running, message: one or more tasks are running, syncResult: {resources: [{group: batch, kind: Job, namespace: shop, name: migrate, hookType: PreSync, hookPhase: Running}]}}}`,
			"Job/migrate missing", true,
		},
		"window": {
			"a window holds what no object explains",
			`
spec: {destination: {namespace: shop}, syncPolicy: {automated: {}}}
status: {sync: {status: OutOfSync}, conditions: [{type: SyncWaiting, message: "Sync operation blocked by sync window: deny, until 18:00"}]}`,
			"SyncWaiting: Sync operation blocked by sync window: deny, until 18:00", true,
		},
		"project": {
			"neither does an object explain what a project does not permit",
			`
spec: {destination: {namespace: shop}, syncPolicy: {automated: {}}}
status: {sync: {status: Unknown}, conditions: [{type: InvalidSpecError, message: "application repo https://x is not permitted in project p"}]}`,
			"InvalidSpecError: application repo https://x is not permitted in project p", true,
		},
		"hand": {
			"nobody has asked",
			`
spec: {destination: {namespace: shop}}
status: {sync: {status: OutOfSync}}`,
			"it is OutOfSync and synced by hand: nobody has asked for a sync", true,
		},
		"prune": {
			"a prune that waits says for whom",
			`
spec: {destination: {namespace: shop}, syncPolicy: {automated: {}}}
status:
  sync: {status: Synced}
  resources: [{kind: ConfigMap, name: old, namespace: shop, requiresPruning: true, status: OutOfSync}]
  operationState: {phase: Succeeded, syncResult: {resources: [{kind: ConfigMap, name: old, namespace: shop, status: PruneSkipped, message: "still used by Pod/web-1"}]}}`,
			"ConfigMap/old is to be pruned: still used by Pod/web-1", true,
		},
		"unhealthy": {
			"what its objects do not explain it explains itself",
			`
spec: {destination: {namespace: shop}, syncPolicy: {automated: {}}}
status: {sync: {status: Synced}, health: {status: Degraded, message: "Caused by x"}, operationState: {phase: Succeeded, message: successfully synced}}`,
			"it is Degraded: Caused by x", true,
		},
		"done": {
			"what is done waits for nothing",
			`
spec: {destination: {namespace: shop}, syncPolicy: {automated: {}}}
status: {sync: {status: Synced}, health: {status: Healthy}, operationState: {phase: Succeeded, message: successfully synced}}`,
			"", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1alpha1.Application{}
			if err := yaml.Unmarshal([]byte(c.app), app); err != nil {
				t.Fatal(err)
			}
			answer, err := why.Explainer{Cluster: told{}}.Application(t.Context(), app, p, nil)
			if got := strings.Join(answer.Lines(), "; "); err != nil || got != c.want || answer.Waits != c.waits {
				t.Errorf("%s: it says (%v, waits: %v)\n%s\nwant\n%s", c.reason, err, answer.Waits, got, c.want)
			}
		})
	}
}

func TestWhatAnApplicationSaysOfAnObject(t *testing.T) {
	t.Parallel()
	app := &v1alpha1.Application{}
	if err := yaml.Unmarshal([]byte(`
status:
  operationState: {phase: Running, message: waiting for x, syncResult: {resources: [{kind: ConfigMap, name: old, namespace: shop, status: PruneSkipped, message: "still used by Pod/web-1"}]}}
  resources:
    - {kind: ConfigMap, name: old, namespace: shop, requiresPruning: true, status: OutOfSync}
    - {kind: ConfigMap, name: late, namespace: shop, status: OutOfSync}
    - {group: batch, kind: Job, name: hook, namespace: shop, hook: true, requiresPruning: true}
`), app); err != nil {
		t.Fatal(err)
	}
	key := func(group, kind, name string) manifest.Key {
		return manifest.Key{Group: group, Kind: kind, Namespace: "shop", Name: name}
	}
	for _, c := range []struct {
		reason  string
		key     manifest.Key
		missing bool
		want    string
	}{
		{"a prune waits for who uses the object", key("", "ConfigMap", "old"), false, "to be pruned: still used by Pod/web-1"},
		{"what its wave has not come to is not applied", key("", "ConfigMap", "late"), true, "not applied yet: waiting for x"},
		{"what is there is there", key("", "ConfigMap", "late"), false, ""},
		{"a hook is not pruned", key("batch", "Job", "hook"), false, ""},
		{"of what it does not manage it says nothing", key("", "ConfigMap", "foreign"), true, ""},
	} {
		if got := why.Standing(app, c.key, c.missing); got != c.want {
			t.Errorf("%s: it says %q, want %q", c.reason, got, c.want)
		}
	}
}

// What the API server names is what has to come, whatever else is missing, and the plan
// knows when it will.
func TestWhatIsNamedComesLater(t *testing.T) {
	t.Parallel()
	objects, err := manifest.Decode("objects.yaml", []byte(`
apiVersion: batch/v1
kind: Job
metadata: {name: seed, namespace: shop}
spec: {template: {spec: {serviceAccountName: seeder, containers: [{name: main, envFrom: [{configMapRef: {name: settings}}]}]}}}
status: {active: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	const refusal = `FailedCreate: error looking up service account shop/seeder: serviceaccount "seeder" not found`
	in := func(kind, name string) manifest.Key { return manifest.Key{Kind: kind, Namespace: "shop", Name: name} }
	explainer := why.Explainer{
		Cluster: told{objects, map[string]cluster.Trouble{"Job/seed": {Object: objects[0].Key(), Unstarted: true, Text: refusal}}},
		Placed:  map[manifest.Key]string{in("ServiceAccount", "seeder"): "Sync/0", in("ConfigMap", "settings"): "Sync/-5"},
	}
	chain, err := explainer.Explain(t.Context(), objects[0].Key())
	want := refusal + ": ServiceAccount/seeder missing: Sync/0 of this application brings it"
	if got := why.Message(chain); err != nil || got != want {
		t.Errorf("it says (%v)\n%s\nwant\n%s", err, got, want)
	}
}

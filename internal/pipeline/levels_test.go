// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"strings"
	"testing"
	"time"

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

const levelsManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, team: a}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: main
          image: registry.example.test/web:1
          env: [{name: A, value: "1"}, {name: B, value: "2"}]
          ports: [{containerPort: 8080}]
          resources: {requests: {cpu: 0.1, memory: 1024Mi}}
      tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]
`

// TestLevelsOfComparison: who wrote an object decides neither whether it is in sync nor whether the API server has to be
// asked; only what differs is asked about.
func TestLevelsOfComparison(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	dest := connect(t, env)
	other, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	deployments := other.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})
	awaitSchema(t, dest, schema.GroupVersion{Group: "apps", Version: "v1"})
	ours := cluster.ApplyOptions{}
	for name, row := range map[string]struct {
		reason string
		// written writes the object; change, if any, is what somebody else does to it, again what he does then.
		first         cluster.ApplyOptions
		change, again string
		policy        cluster.Policy
		// wanted differs from what was written first by these replacements.
		wanted []string
		asked  int
		differ string
	}{
		"ours":               {reason: "we own what we want", first: ours},
		"of kubectl":         {reason: "what kubectl applied is taken over, and is what is wanted", first: cluster.ApplyOptions{Method: cluster.ClientSide, Manager: "kubectl-client-side-apply"}},
		"of Helm":            {reason: "so is what Helm wrote", first: cluster.ApplyOptions{Method: cluster.Replace, Manager: "helm"}},
		"of Argo CD":         {reason: "and what Argo CD applied", first: cluster.ApplyOptions{Manager: "argocd-controller"}},
		"of somebody":        {reason: "who owns a value is no difference", first: cluster.ApplyOptions{Manager: "somebody"}},
		"changed and back":   {reason: "the value is what is wanted, though it is no longer ours", first: ours, change: "spec: {replicas: 5}", again: "spec: {replicas: 2}"},
		"client-side":        {reason: "what was applied last is what is wanted", first: cluster.ApplyOptions{Method: cluster.ClientSide}, policy: cluster.Policy{ClientSide: true}},
		"replaced":           {reason: "updating it with what is wanted changes nothing", first: cluster.ApplyOptions{Method: cluster.Replace}, policy: cluster.Policy{Replace: true}},
		"changed":            {reason: "somebody scaled it", first: ours, change: "spec: {replicas: 5}", asked: 1, differ: "spec.replicas"},
		"changed, kubectl":   {reason: "somebody scaled it", first: cluster.ApplyOptions{Method: cluster.ClientSide}, policy: cluster.Policy{ClientSide: true}, change: "spec: {replicas: 5}", asked: 1, differ: "spec.replicas"},
		"an item in a list":  {reason: "an atomic list was replaced", first: ours, change: "spec: {template: {spec: {tolerations: [{key: gpu, operator: Exists}]}}}", asked: 1, differ: "spec.template.spec.tolerations"},
		"added by others":    {reason: "a label of others is theirs", first: ours, change: "metadata: {labels: {theirs: x}}"},
		"dropped by us":      {reason: "a label dropped from Git has to go", first: ours, wanted: []string{", team: a", ""}, asked: 1, differ: "metadata.labels.team"},
		"dropped, Argo CD":   {reason: "the same of one that Argo CD applied", first: cluster.ApplyOptions{Manager: "argocd-controller"}, wanted: []string{", team: a", ""}, asked: 1, differ: "metadata.labels.team"},
		"dropped, kubectl":   {reason: "the same of one that kubectl applied", first: cluster.ApplyOptions{Method: cluster.ClientSide, Manager: "kubectl-client-side-apply"}, wanted: []string{", team: a", ""}, asked: 1, differ: "metadata.labels.team"},
		"dropped item":       {reason: "a list item dropped from Git has to go", first: ours, wanted: []string{`, {name: B, value: "2"}`, ""}, asked: 1, differ: "[name=B]"},
		"dropped in a whole": {reason: "a field dropped from an item of an atomic list has to go", first: ours, wanted: []string{", effect: NoSchedule", ""}, asked: 1, differ: "spec.template.spec.tolerations"},
		"dropped field":      {reason: "client-side apply removes what was applied last", first: cluster.ApplyOptions{Method: cluster.ClientSide}, policy: cluster.Policy{ClientSide: true}, wanted: []string{"  replicas: 2\n", ""}, asked: 1, differ: "spec.replicas"},
		"written otherwise":  {reason: "quantities and ports compare by what they are", first: cluster.ApplyOptions{Manager: "somebody"}, wanted: []string{"cpu: 0.1", "cpu: 100m", "1024Mi", "1Gi", "containerPort: 8080", "containerPort: 8080, protocol: TCP"}},
		"another quantity":   {reason: "and differ by it", first: cluster.ApplyOptions{Manager: "somebody"}, wanted: []string{"cpu: 0.1", "cpu: 101m"}, asked: 1, differ: "requests.cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := env.Namespace(t)
			if err := dest.Watch(t.Context(), schema.GroupKind{Group: "apps", Kind: "Deployment"}); err != nil {
				t.Fatal(err)
			}
			if _, err := dest.Apply(t.Context(), deployment(t, namespace, levelsManifest), row.first); err != nil {
				t.Fatal(err)
			}
			for _, change := range []string{row.change, row.again} {
				if change == "" {
					continue
				}
				body, err := yaml.YAMLToJSON([]byte(change))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := deployments.Namespace(namespace).Patch(t.Context(), "web", "application/merge-patch+json", body, metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
					t.Fatal(err)
				}
			}
			obj := deployment(t, namespace, strings.NewReplacer(row.wanted...).Replace(levelsManifest))
			key := manifest.KeyOf(obj)
			live, err := dest.Fetch(t.Context(), key, "v1")
			if err != nil {
				t.Fatal(err)
			}
			asking := &counting{Cluster: dest}
			v, err := verdictOn(t.Context(), asking, Subject{Write: row.policy}, plan.Step{Key: key, Object: &manifest.Object{Unstructured: obj}}, live, live.GetManagedFields())
			switch {
			case err != nil || v.Rejected != "":
				t.Fatalf("%v %s", err, v.Rejected)
			case row.differ == "" && len(v.Changes) > 0, row.differ != "" && (len(v.Changes) == 0 || !strings.Contains(v.Changes[0].Path, row.differ)):
				t.Errorf("%s: changes %+v, want one of %q", row.reason, v.Changes, row.differ)
			}
			if asking.dryRuns != row.asked {
				t.Errorf("%s: the API server was asked %d times, want %d", row.reason, asking.dryRuns, row.asked)
			}
		})
	}
}

// TestInjectedBundle: what an injector puts into a webhook is neither a difference nor a reason to ask.
func TestInjectedBundle(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	dest := connect(t, env)
	gv := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	awaitSchema(t, dest, gv)
	text := `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: NAME}, webhooks: [{name: a.example.test,
		admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, clientConfig: {BUNDLEservice: {name: w, namespace: none}}}]}`
	text = strings.Replace(text, "NAME", env.Namespace(t), 1)
	obj := deployment(t, "", strings.Replace(text, "BUNDLE", "", 1))
	key := manifest.KeyOf(obj)
	first, err := dest.Apply(t.Context(), obj, cluster.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dest.Delete(context.WithoutCancel(t.Context()), key, cluster.DeleteOptions{UID: first.GetUID()}); err != nil {
			t.Error(err)
		}
	})
	for _, by := range []cluster.ApplyOptions{{Manager: "cainjector"}, {Manager: "cert-manager-cainjector", Method: cluster.Overlay}} {
		injected := deployment(t, "", strings.Replace(text, "BUNDLE", "caBundle: aW5qZWN0ZWQ=, ", 1))
		live, err := dest.Apply(t.Context(), injected, by)
		if err != nil {
			t.Fatal(err)
		}
		asking := &counting{Cluster: dest}
		v, err := verdictOn(t.Context(), asking, Subject{}, plan.Step{Key: key, Object: &manifest.Object{Unstructured: obj}}, live, live.GetManagedFields())
		if err != nil || !v.InSync() || asking.dryRuns != 0 {
			t.Errorf("injected by %s: %v, %+v, asked %d times", by.Manager, err, v, asking.dryRuns)
		}
	}
}

// awaitSchema waits until the fields of a group version are known: they are not relied on while the API server, which
// has just started, still registers its groups.
func awaitSchema(t *testing.T, dest *cluster.Cluster, gv schema.GroupVersion) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); dest.Schema(t.Context(), gv) == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the fields of %s are not published", gv)
		}
	}
}

func deployment(t *testing.T, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	objects, err := manifest.Decode("web.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := objects[0].Unstructured
	u.SetNamespace(namespace)
	return u
}

// TestEmptyValues: what the server leaves out is no reason to ask, whoever wrote the object; an empty value that means
// something is missed when it is gone.
func TestEmptyValues(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	dest := connect(t, env)
	other, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"apps", "networking.k8s.io"} {
		awaitSchema(t, dest, schema.GroupVersion{Group: group, Version: "v1"})
	}
	const (
		database = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      hostNetwork: false
      hostIPC: false
      nodeSelector: {}
      tolerations: []
      securityContext: {fsGroup: 1001, supplementalGroups: [], sysctls: []}
      containers:
        - name: main
          image: registry.example.test/db:1
          env: [{name: EMPTY, value: ""}]
          readinessProbe: {initialDelaySeconds: 0, tcpSocket: {port: 5432}}
          securityContext: {seLinuxOptions: {}, capabilities: {add: [], drop: [ALL]}}
          volumeMounts: [{name: data, mountPath: /data, subPath: ""}, {name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
  volumeClaimTemplates:
    - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`
		policy = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web}, spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}, namespaceSelector: {}}]}]}}"
	)
	for name, row := range map[string]struct {
		reason, manifest, change string
		first                    cluster.ApplyOptions
		policy                   cluster.Policy
		differ                   string
	}{
		"server-side": {reason: "we own what we want", manifest: database},
		"client-side": {reason: "nobody owns what is left out", manifest: database, first: cluster.ApplyOptions{Method: cluster.ClientSide}, policy: cluster.Policy{ClientSide: true}},
		"of somebody": {reason: "the same of what others wrote", manifest: database, first: cluster.ApplyOptions{Manager: "somebody"}},
		"a selector": {
			reason: "all namespaces are another thing than one's own", manifest: policy,
			change: "spec: {ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}", differ: "spec.ingress",
		},
		"a number": {
			reason: "none is another thing than the default", manifest: strings.Replace(database, "fsGroup: 1001", "runAsUser: 0", 1), policy: cluster.Policy{ClientSide: true},
			first: cluster.ApplyOptions{Method: cluster.ClientSide}, change: "spec: {template: {spec: {securityContext: {runAsUser: null}}}}", differ: "spec.template.spec.securityContext.runAsUser",
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := deployment(t, env.Namespace(t), row.manifest)
			key := manifest.KeyOf(obj)
			live, err := dest.Apply(t.Context(), obj, row.first)
			if err != nil {
				t.Fatal(err)
			}
			if row.change != "" {
				body, err := yaml.YAMLToJSON([]byte(row.change))
				if err != nil {
					t.Fatal(err)
				}
				res, err := dest.Resolve(obj.GroupVersionKind())
				if err != nil {
					t.Fatal(err)
				}
				live, err = other.Resource(res.GVR).Namespace(key.Namespace).Patch(t.Context(), key.Name, "application/merge-patch+json", body, metav1.PatchOptions{FieldManager: "person"})
				if err != nil {
					t.Fatal(err)
				}
			}
			asking := &counting{Cluster: dest}
			v, err := verdictOn(t.Context(), asking, Subject{Write: row.policy}, plan.Step{Key: key, Object: &manifest.Object{Unstructured: obj}}, live, live.GetManagedFields())
			if err != nil {
				t.Fatal(err)
			}
			if row.differ == "" && (!v.InSync() || asking.dryRuns > 0) {
				t.Errorf("%s: asked %d times, changes %+v", row.reason, asking.dryRuns, v.Changes)
			}
			if row.differ != "" && (len(v.Changes) != 1 || !strings.HasPrefix(v.Changes[0].Path, row.differ)) {
				t.Errorf("%s: changes %+v, want %s", row.reason, v.Changes, row.differ)
			}
		})
	}
}

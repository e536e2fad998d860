// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: web:1
        env: [{name: A, value: "1"}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        ports: [{containerPort: 8080}]
        resources: {limits: {cpu: 1000m, memory: 1Gi}}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
`

// TestApplyIsInSync applies objects of many kinds and demands that the comparison
// without a call says yes at once, and that a dry run agrees.
func TestApplyIsInSync(t *testing.T) {
	b := newBench(t)
	objects := map[string]string{
		"Deployment": web,
		"ConfigMap":  "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: 1000m, b: ''}, binaryData: {x: AAE=}}",
		"Secret":     "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: Opaque, stringData: {user: admin}, data: {pass: c2VjcmV0}}",
		"Service":    "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}, {name: dns, port: 80, protocol: UDP, targetPort: dns}]}}",
		"Ingress":    "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: {rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}",
		"Job":        "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: m, image: i, command: [a]}]}}}}",
		"CronJob":    "{apiVersion: batch/v1, kind: CronJob, metadata: {name: j}, spec: {schedule: 0 0 1 1 *, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: i}]}}}}}}",
		"HPA":        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}}",
		"PDB":        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: p}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}",
		"Role":       "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
		"Binding":    "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: default, namespace: default}]}",
		"PVC":        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}",
		"Network":    "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: net}, spec: {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}], policyTypes: [Ingress]}}",
		"Account":    "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, annotations: {x/y: z}}}",
		"StatefulSet": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {serviceName: s, replicas: 0, selector: {matchLabels: {a: b}},
			template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, livenessProbe: {httpGet: {path: /, port: 80}}}]}},
			volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
	}
	for name, text := range objects {
		t.Run(name, func(t *testing.T) {
			desired := b.object(text)
			live := b.apply(desired)
			if !diff.Equalish(desired, live, diff.Options{}) {
				t.Errorf("not recognised as in sync; managedFields: %v", live.GetManagedFields())
			}
			predicted, err := b.Apply(b.ctx(), desired, ApplyOptions{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			if changes := diff.Compare(desired, live, predicted, diff.Options{}); len(changes) > 0 {
				t.Errorf("a second apply would change something: %+v", changes)
			}
			if changes := diff.Compare(desired, live, nil, diff.Options{}); len(changes) > 0 {
				t.Errorf("the local prediction differs: %+v", changes)
			}
		})
	}
}

// TestApplyOtherVersion applies an object in a version that is not the one the
// cache holds.
func TestApplyOtherVersion(t *testing.T) {
	b := newBench(t)
	desired := b.object("{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3, targetCPUUtilizationPercentage: 80}}")
	key := manifest.KeyOf(desired)
	b.watch(key.GroupKind())
	b.apply(desired)
	if u, ok := b.Get(key); !ok || u.GetAPIVersion() != "autoscaling/v2" {
		t.Errorf("a write in another version must be cached at once, in the version of the watch: %v", u)
	}
	live, err := b.Fetch(b.ctx(), key, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if live.GetAPIVersion() != "autoscaling/v1" || !diff.Equalish(desired, live, diff.Options{}) {
		t.Errorf("in the version that Git names it must be in sync: %v", live)
	}
}

func TestApplyTakesAndDropsFields(t *testing.T) {
	b := newBench(t)
	b.watch(deployments())
	desired := b.object(web)
	b.apply(desired)
	edit := []byte(`{"metadata":{"labels":{"foreign":"x"}},"spec":{"replicas":5}}`)
	deploys := b.other.Resource(resource("apps", "v1", "deployments")).Namespace(b.namespace)
	live, err := deploys.Patch(b.ctx(), "web", types.MergePatchType, edit, metav1.PatchOptions{FieldManager: "kubectl-edit"})
	if err != nil {
		t.Fatal(err)
	}
	changes := diff.Compare(desired, live, nil, diff.Options{})
	want := []diff.Change{{Path: "spec.replicas", Desired: int64(2), Live: int64(5), Manager: "kubectl-edit"}}
	if d := cmp.Diff(want, changes); d != "" {
		t.Errorf("drift (-want +got):\n%s", d)
	}
	unstructured.RemoveNestedField(desired.Object, "metadata", "labels")
	out := b.apply(desired)
	if n, _, _ := unstructured.NestedInt64(out.Object, "spec", "replicas"); n != 2 {
		t.Errorf("replicas = %d: a conflict must be won", n)
	}
	if d := cmp.Diff(map[string]string{"foreign": "x"}, out.GetLabels()); d != "" {
		t.Errorf("our label must go and the other one stay (-want +got):\n%s", d)
	}
}

func TestApplyTakesOver(t *testing.T) {
	for name, watched := range map[string]bool{"Watched": true, "NotWatched": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if watched {
				b.watch(configMaps())
			}
			maps := b.other.Resource(resource("", "v1", "configmaps")).Namespace(b.namespace)
			old := b.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}}, data: {keep: a, drop: b}}`)
			if _, err := maps.Create(b.ctx(), old, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}); err != nil {
				t.Fatal(err)
			}
			argo := b.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {argo: c}}`)
			if _, err := maps.Apply(b.ctx(), "c", argo, metav1.ApplyOptions{FieldManager: "argocd-controller"}); err != nil {
				t.Fatal(err)
			}
			by := []byte(`{"data":{"foreign":"d"}}`)
			if _, err := maps.Patch(b.ctx(), "c", types.MergePatchType, by, metav1.PatchOptions{FieldManager: "operator"}); err != nil {
				t.Fatal(err)
			}
			if watched {
				b.eventually("the foreign field is cached", func() bool {
					u, ok := b.Get(b.key("ConfigMap", "c"))
					v, _, _ := unstructured.NestedString(object(u, ok), "data", "foreign")
					return v != ""
				})
			}
			desired := b.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {keep: a}}`)
			out := b.apply(desired)
			data, _, _ := unstructured.NestedStringMap(out.Object, "data")
			if d := cmp.Diff(map[string]string{"keep": "a", "foreign": "d"}, data); d != "" {
				t.Errorf("what kubectl and Argo CD set and Git has not must go (-want +got):\n%s", d)
			}
			if out.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"] == "" {
				t.Error("last-applied must stay for whoever uses it")
			}
			for _, e := range out.GetManagedFields() {
				if diff.Superseded(e) {
					t.Errorf("%s still owns fields", e.Manager)
				}
			}
			if !diff.Equalish(desired, out, diff.Options{}) {
				t.Error("in sync after the take-over")
			}
		})
	}
}

func object(u *unstructured.Unstructured, ok bool) map[string]any {
	if !ok {
		return nil
	}
	return u.Object
}

func TestApplyDuplicateKeys(t *testing.T) {
	b := newBench(t)
	text := strings.Replace(web, `{name: A, value: "1"},`, `{name: A, value: "1"}, {name: A, value: "2"},`, 1)
	for _, step := range []string{"create", "change", "repeat"} {
		if step == "change" {
			text = strings.Replace(text, `value: "2"`, `value: "3"`, 1)
		}
		var notices []string
		out, err := b.Apply(b.ctx(), b.object(text), ApplyOptions{Notice: func(s string) { notices = append(notices, s) }})
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if len(notices) != 1 || !strings.Contains(notices[0], "same key") {
			t.Errorf("%s: notices %q", step, notices)
		}
		list, _, _ := unstructured.NestedSlice(out.Object, "spec", "template", "spec", "containers")
		env := list[0].(map[string]any)["env"].([]any)
		if len(env) != 3 {
			t.Errorf("%s: env %v", step, env)
		}
		if changes := diff.Compare(b.object(text), out, nil, diff.Options{}); len(changes) > 0 {
			t.Errorf("%s: still differs: %+v", step, changes)
		}
	}
}

// TestApplyItemsWithoutKey: the API server creates by server-side apply what it cannot apply a second time.
func TestApplyItemsWithoutKey(t *testing.T) {
	b := newBench(t)
	text := `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{}], automountServiceAccountToken: false}`
	b.apply(b.object(text))
	out, err := b.Apply(b.ctx(), b.object(strings.Replace(text, "false", "true", 1)), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out.Object["automountServiceAccountToken"] != true {
		t.Errorf("the change did not arrive: %v", out.Object)
	}
}

// TestApplyEmptyProtocol: a port whose protocol is empty is the port that is there.
func TestApplyEmptyProtocol(t *testing.T) {
	b := newBench(t)
	text := `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{name: http, port: 80, protocol: ""}]}}`
	for range 2 {
		b.apply(b.object(text))
	}
}

func TestApplyForce(t *testing.T) {
	b := newBench(t)
	job := func(image string) *unstructured.Unstructured {
		return b.object(`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: m, image: ` + image + `}]}}}}`)
	}
	b.watch(jobs())
	first := b.apply(job("a"))
	_, err := b.Apply(b.ctx(), job("b"), ApplyOptions{})
	if !IsImmutable(err) || !IsRejected(err) {
		t.Fatalf("want a rejection of an immutable field, got %v", err)
	}
	second, err := b.Apply(b.ctx(), job("b"), ApplyOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if second.GetUID() == first.GetUID() {
		t.Error("the Job must have been made anew")
	}
	if live, ok := b.Get(manifest.KeyOf(second)); !ok || live.GetUID() != second.GetUID() {
		t.Error("the cache must hold the new Job")
	}
}

func TestRejections(t *testing.T) {
	b := newBench(t)
	cases := map[string]struct {
		reason   string
		object   *unstructured.Unstructured
		opts     ApplyOptions
		contains []string
		check    func(error) bool
	}{
		"UnknownField": {
			reason:   "strict validation names the field",
			object:   b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, dta: {a: b}}"),
			contains: []string{".dta: field not declared in schema", "Validate=false", "ConfigMap/" + b.namespace + "/c", b.Server()},
			check:    IsRejected,
		},
		"UnknownFieldAllowed": {
			reason: "Validate=false lets it pass",
			object: b.object("{apiVersion: v1, kind: Service, metadata: {name: c}, spec: {prts: 1, ports: [{port: 80}]}}"),
			opts:   ApplyOptions{NoValidation: true, DryRun: true},
		},
		"UnknownKind": {
			reason:   "an unknown kind says what would make it known",
			object:   b.object("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}"),
			contains: []string{"example.com/v1 Widget", "CustomResourceDefinition"},
			check:    func(err error) bool { return IsUnknownKind(err) && IsRejected(err) },
		},
		"RemovedVersion": {
			reason:   "a version that is gone names the one that is served",
			object:   b.object("{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: w}}"),
			contains: []string{"served in version v1", "apiVersion"},
			check:    IsUnknownKind,
		},
		"NoNamespace": {
			reason:   "a namespaced object must have a namespace",
			object:   read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"),
			contains: []string{"names no namespace"},
			check:    IsRejected,
		},
		"MissingNamespace": {
			reason:   "the hint says how a namespace comes about",
			object:   read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: nowhere}}"),
			contains: []string{`namespaces "nowhere" not found`, "CreateNamespace=true"},
			check:    func(err error) bool { return IsRejected(err) && apierrors.IsNotFound(err) },
		},
		"SecretValue": {
			reason:   "a Secret's values stay out of messages",
			object:   b.object("{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/dockerconfigjson, data: {.dockerconfigjson: aHVzaGh1c2g=}}"),
			contains: []string{"dockerconfigjson"},
			check:    func(err error) bool { return IsRejected(err) && !strings.Contains(err.Error(), "hush") },
		},
		"SecretNumber": {
			reason:   "nor does a value of the wrong type appear",
			object:   b.object("{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {key: 31337}}"),
			contains: []string{".data.key: expected string"},
			check:    func(err error) bool { return IsRejected(err) && !strings.Contains(err.Error(), "31337") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := b.Apply(b.ctx(), tc.object, tc.opts)
			if tc.check == nil {
				if err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			if err == nil || !tc.check(err) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			for _, want := range tc.contains {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q is missing in %q", tc.reason, want, err)
				}
			}
		})
	}
}

func TestTerminatingNamespace(t *testing.T) {
	b := newBench(t)
	ns := read(t, "{apiVersion: v1, kind: Namespace, metadata: {generateName: ending-}}")
	created, err := b.Create(b.ctx(), ns, ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	held := read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}")
	held.SetNamespace(created.GetName())
	b.apply(held)
	if err := b.Delete(b.ctx(), manifest.KeyOf(created), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	late := read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: late}}")
	late.SetNamespace(created.GetName())
	_, err = b.Apply(b.ctx(), late, ApplyOptions{})
	if err == nil || !IsRejected(err) || !strings.Contains(err.Error(), "namespace "+created.GetName()+" is being deleted") {
		t.Errorf("want an error that explains the terminating namespace, got %v", err)
	}
	if err := b.RemoveFinalizer(b.ctx(), manifest.KeyOf(held), "example.com/hold"); err != nil {
		t.Error(err)
	}
}

func TestPodInFreshNamespace(t *testing.T) {
	b := newBench(t)
	for range 3 {
		ns, err := b.Create(b.ctx(), read(t, "{apiVersion: v1, kind: Namespace, metadata: {generateName: fresh-}}"), ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod := read(t, "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}")
		pod.SetNamespace(ns.GetName())
		if _, err := b.Apply(b.ctx(), pod, ApplyOptions{}); err != nil {
			t.Errorf("a bare Pod in a fresh namespace: %v", err)
		}
		if err := b.Delete(b.ctx(), manifest.KeyOf(ns), DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

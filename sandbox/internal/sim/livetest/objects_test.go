// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package livetest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func gvk(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

const externalSecret = `
apiVersion: external-secrets.io/v1beta1
kind: ExternalSecret
metadata: {name: db}
spec:
  secretStoreRef: {kind: SecretStore, name: vault}
  target: {name: db-secret}
  data: [{secretKey: URL, remoteRef: {key: kv/db, property: url}}]`

func TestExternalSecretDeniedUntilRuleGoes(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: ExternalSecret, name: db, namespace: $NS}
    setStatus:
      - {at: 100ms, status: {conditions: [{type: Ready, status: "False", reason: SecretSyncedError, message: permission denied 403}]}}`)
	b.create("apiVersion: external-secrets.io/v1\nkind: SecretStore\nmetadata: {name: vault}\nspec: {provider: {vault: {server: x}}}")
	b.create(externalSecret)
	b.awaitField("external-secrets.io/v1", "SecretStore", "vault", "status.conditions.Ready.status", "True")
	b.awaitField("external-secrets.io/v1", "ExternalSecret", "db", "status.conditions.Ready.message", "permission denied 403")
	b.holds("no Secret is created", 1500*time.Millisecond, func() (bool, string) {
		return b.get("v1", "Secret", "db-secret") == nil, "the Secret is there"
	})
	b.section("")
	b.awaitField("external-secrets.io/v1", "ExternalSecret", "db", "status.conditions.Ready.reason", "SecretSynced")
	secret := b.get("v1", "Secret", "db-secret")
	if secret == nil || len(secret.GetOwnerReferences()) != 1 || field(secret.Object, "data.URL") == "" {
		t.Fatalf("Secret: %v", secret)
	}
	b.patch("external-secrets.io/v1", "ExternalSecret", "db", `{"spec":{"data":[{"secretKey":"KEY","remoteRef":{"key":"k"}}]}}`)
	b.await("a new generation is synced", 10*time.Second, func() (bool, string) {
		version := field(b.get("external-secrets.io/v1", "ExternalSecret", "db").Object, "status.syncedResourceVersion")
		return strings.HasPrefix(version, "2-"), version
	})
	if got := b.get("v1", "Secret", "db-secret"); field(got.Object, "data.KEY") == "" || field(got.Object, "data.URL") != "" {
		t.Errorf("the Secret of generation 2 has %s", field(got.Object, "data"))
	}
	b.remove("v1", "Secret", "db-secret", metav1.DeletePropagationBackground)
	b.await("a lost Secret is made again", 10*time.Second, func() (bool, string) { return b.get("v1", "Secret", "db-secret") != nil, "none" })
}

func TestExternalSecretByRulesOfEachGeneration(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: ExternalSecret, name: db, generation: 1, namespace: $NS}
    setStatus:
      - {at: 200ms, status: {conditions: [{type: Ready, status: "False", reason: SecretSyncedError}]}}
      - {at: 1s, status: {syncedResourceVersion: 1-aaaa, conditions: [{type: Ready, status: "True", reason: SecretSynced}]}}
    creates: [{at: 1s, kind: Secret, name: db, stringData: {URL: url-1}}]
  - match: {kind: ExternalSecret, name: db, generation: 2, namespace: $NS}
    setStatus:
      - {at: 1s, status: {syncedResourceVersion: 2-bbbb, conditions: [{type: Ready, status: "True", reason: SecretSynced}]}}
    updates: [{at: 1s, kind: Secret, name: db, stringData: {KEY: key-1}}]`)
	b.create(externalSecret)
	b.awaitField("external-secrets.io/v1", "ExternalSecret", "db", "status.conditions.Ready.status", "False")
	b.awaitField("external-secrets.io/v1", "ExternalSecret", "db", "status.syncedResourceVersion", "1-aaaa")
	if b.get("v1", "Secret", "db") == nil {
		t.Error("the status says synced and the Secret is not there")
	}
	b.patch("external-secrets.io/v1", "ExternalSecret", "db", `{"spec":{"refreshInterval":"5m"}}`)
	if got := field(b.get("external-secrets.io/v1", "ExternalSecret", "db").Object, "status.syncedResourceVersion"); got != "1-aaaa" {
		t.Errorf("status of generation 2 is %q at once, want the old one for a second", got)
	}
	b.awaitField("external-secrets.io/v1", "ExternalSecret", "db", "status.syncedResourceVersion", "2-bbbb")
	if got := field(b.get("v1", "Secret", "db").Object, "data"); got != "map[KEY:a2V5LTE=]" {
		t.Errorf("the updated Secret has %s, want KEY alone", got)
	}
}

func TestCNPGCluster(t *testing.T) {
	b := newBench(t)
	b.create("apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: core-pg}\nspec: {instances: 2, storage: {size: 1Gi}}")
	b.awaitField("postgresql.cnpg.io/v1", "Cluster", "core-pg", "status.phase", "Setting up primary")
	b.awaitField("postgresql.cnpg.io/v1", "Cluster", "core-pg", "status.phase", "Cluster in healthy state")
	for _, name := range []string{"core-pg-app", "core-pg-superuser"} {
		secret := b.get("v1", "Secret", name)
		if secret == nil || field(secret.Object, "type") != string(corev1.SecretTypeBasicAuth) || field(secret.Object, "data.uri") == "" {
			t.Errorf("Secret %s: %v", name, secret)
		}
	}
}

const bucketCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.$NS.acme.test}
spec:
  group: $NS.acme.test
  scope: Namespaced
  names: {kind: Bucket, listKind: BucketList, plural: buckets, singular: bucket}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`

func TestFinalizerWhileOperatorLives(t *testing.T) {
	b := newBench(t)
	b.rules(`
  - match: {kind: Bucket, name: media, namespace: $NS}
    addsFinalizer: acme.test/cleanup
    removesFinalizer: {name: acme.test/cleanup, after: 500ms, while: [Deployment/web, ServiceAccount/operator]}
    event: {reason: Provisioned, message: "bucket ${name}", type: Normal}
    patches: [{at: 200ms, manager: operator, path: /spec/size, value: 3}]
    setStatus: [{at: 300ms, status: {ready: true}}]`)
	b.create(bucketCRD)
	b.cleanupCRD("buckets." + b.ns + ".acme.test")
	b.create(deployment(1, "operator:1", ""))
	b.create("apiVersion: " + b.ns + ".acme.test/v1\nkind: Bucket\nmetadata: {name: media}\nspec: {size: 1}")
	b.await("the finalizer is there", 5*time.Second, func() (bool, string) {
		f := b.get(b.ns+".acme.test/v1", "Bucket", "media").GetFinalizers()
		return len(f) == 1, strings.Join(f, ",")
	})
	b.awaitField(b.ns+".acme.test/v1", "Bucket", "media", "spec.size", "3")
	b.awaitField(b.ns+".acme.test/v1", "Bucket", "media", "status.ready", "true")
	b.awaitEvent("Bucket", "Provisioned", "bucket media")
	b.remove(b.ns+".acme.test/v1", "Bucket", "media", metav1.DeletePropagationBackground)
	b.holds("it hangs while the operator's ServiceAccount is missing", 1500*time.Millisecond, func() (bool, string) {
		return b.get(b.ns+".acme.test/v1", "Bucket", "media") != nil, "it is gone"
	})
	b.create("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: operator}")
	b.await("it goes once the operator is complete", 5*time.Second, func() (bool, string) {
		return b.get(b.ns+".acme.test/v1", "Bucket", "media") == nil, "it is there"
	})
}

func TestWorkloadInstallsCRD(t *testing.T) {
	b := newBench(t)
	indented := strings.ReplaceAll(strings.TrimSpace(bucketCRD), "\n", "\n          ")
	b.rules(`
  - match: {kind: Deployment, name: web, namespace: $NS}
    creates:
      - at: 500ms
        object:
          ` + indented + `
      - at: 600ms
        object: {apiVersion: $NS.acme.test/v1, kind: Bucket, metadata: {name: first}, spec: {by: "${name}"}}`)
	b.cleanupCRD("buckets." + b.ns + ".acme.test")
	b.create(deployment(1, "operator:1", ""))
	b.await("the CRD and then an object of it are created", 15*time.Second, func() (bool, string) {
		o := b.get(b.ns+".acme.test/v1", "Bucket", "first")
		return o != nil && field(o.Object, "spec.by") == "web", "none"
	})
}

func TestHorizontalPodAutoscaler(t *testing.T) {
	b := newBench(t)
	scale := func(replicas string) {
		b.rules("  - match: {kind: HorizontalPodAutoscaler, name: web, namespace: $NS}\n    scales: [{at: 0s, target: Deployment/web, replicas: " + replicas + "}]")
	}
	b.create(deployment(2, "web:1", ""))
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "2")
	b.create(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  minReplicas: 1
  maxReplicas: 6
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]`)
	b.awaitField("autoscaling/v2", "HorizontalPodAutoscaler", "web", "status.conditions.ScalingActive.status", "True")
	if got := field(b.get("apps/v1", "Deployment", "web").Object, "spec.replicas"); got != "2" {
		t.Errorf("%s replicas without a rule in force, want the current 2", got)
	}
	scale("4")
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "4")
	scale("2")
	b.awaitField("apps/v1", "Deployment", "web", "spec.replicas", "2")
	b.holds("and stays there", 2500*time.Millisecond, func() (bool, string) {
		got := field(b.get("apps/v1", "Deployment", "web").Object, "spec.replicas")
		return got == "2", got
	})
}

func TestIngresses(t *testing.T) {
	b := newBench(t)
	b.rules("  - match: {kind: Ingress, name: never, namespace: $NS}\n    neverReady: true")
	ingress := func(name, class string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: " + name + "}\nspec: {" + class +
			"defaultBackend: {service: {name: web, port: {number: 80}}}}"
	}
	b.create(ingress("plain", ""))
	b.create(ingress("never", ""))
	b.create(ingress("classed", "ingressClassName: "+b.ns+", "))
	b.await("an Ingress without a class has an address", 10*time.Second, func() (bool, string) {
		return field(b.get("networking.k8s.io/v1", "Ingress", "plain").Object, "status.loadBalancer.ingress.0.ip") != "", "none"
	})
	for _, name := range []string{"never", "classed"} {
		if got := field(b.get("networking.k8s.io/v1", "Ingress", name).Object, "status.loadBalancer.ingress"); got != "" {
			t.Errorf("Ingress %s has %s, want no address", name, got)
		}
	}
	b.create("apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: $NS}\nspec: {controller: acme.test/ingress}")
	b.section("")
	for _, name := range []string{"never", "classed"} {
		b.await(name+" has an address now", 10*time.Second, func() (bool, string) {
			return field(b.get("networking.k8s.io/v1", "Ingress", name).Object, "status.loadBalancer.ingress.0.ip") != "", "none"
		})
	}
}

func TestRulesThatDoNotParse(t *testing.T) {
	l, err := boot(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.stop(); err != nil {
			t.Error(err)
		}
	})
	err = l.reload("rules:\n  - match: {kind: Job}\n    redyAfter: 1s\n")
	if err == nil || !strings.Contains(err.Error(), "sim.yaml:3:") || !strings.Contains(err.Error(), `"redyAfter"`) {
		t.Errorf("an unknown key: %v", err)
	}
	if err := l.reload("rules: []\n"); err != nil {
		t.Error(err)
	}
}

func TestRulesInConfigMap(t *testing.T) {
	b := newBench(t)
	maps := b.client.CoreV1().ConfigMaps("default")
	config, err := maps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: rulesConfigMap},
		Data:       map[string]string{"rules.yaml": "rules: [{match: {kind: Deployment, namespace: " + b.ns + "}, neverReady: true}]"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.create(deployment(1, "web:1", ""))
	b.awaitEvent("Pod", "Unhealthy", "Readiness probe failed")
	config.Data["rules.yaml"] = "rules: [{mach: {}}]"
	if _, err = maps.Update(t.Context(), config, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await("rules that do not parse are reported on the ConfigMap", 10*time.Second, func() (bool, string) {
		list, err := b.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=InvalidRules"})
		if err != nil || len(list.Items) == 0 {
			return false, "no event"
		}
		return strings.Contains(list.Items[0].Message, `unknown key "mach"`), list.Items[0].Message
	})
	if got := field(b.get("apps/v1", "Deployment", "web").Object, "status.availableReplicas"); got != "" {
		t.Errorf("%s replicas are available, want the rules of before to hold", got)
	}
	if err := maps.Delete(t.Context(), rulesConfigMap, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.awaitField("apps/v1", "Deployment", "web", "status.availableReplicas", "1")
}

func (b *bench) cleanupCRD(name string) {
	b.Cleanup(func() {
		api, err := b.resource(gvk("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
		if err == nil {
			// The test is over; a CRD that was never made is no error.
			_ = api.Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
}

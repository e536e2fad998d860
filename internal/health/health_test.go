// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// verdict is one row of a table: an object, what else is on its cluster, and the judgement wanted.
type verdict struct {
	// reason says why the judgement is the right one.
	reason string
	object string
	ctx    Context
	want   Status
	// because is the Reason wanted; empty accepts any.
	because string
	// says is a part of the Message wanted.
	says     string
	byDesign bool
	generic  bool
}

// run checks a table of verdicts.
func run(t *testing.T, table map[string]verdict) {
	t.Helper()
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, row.object)
			before := obj.DeepCopy()
			got := OfWith(obj, row.ctx)
			if got.Status != row.want {
				t.Errorf("%s: status is %q (%s: %s), want %q", row.reason, got.Status, got.Reason, got.Message, row.want)
			}
			if row.because != "" && got.Reason != row.because {
				t.Errorf("%s: reason is %q, want %q", row.reason, got.Reason, row.because)
			}
			if !strings.Contains(got.Message, row.says) {
				t.Errorf("%s: message is %q, want it to say %q", row.reason, got.Message, row.says)
			}
			if got.ByDesign != row.byDesign || got.Generic != row.generic || got.Known != (row.want != "") {
				t.Errorf("%s: known, generic, by design = %t, %t, %t; want %t, %t, %t", row.reason,
					got.Known, got.Generic, got.ByDesign, row.want != "", row.generic, row.byDesign)
			}
			if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
				t.Errorf("judging changed the object (-before +after):\n%s", diff)
			}
		})
	}
}

// parse reads a YAML manifest as the API server would hand it out, integers being integers.
func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	document, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("read the test's object: %v\n%s", err, text)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(document); err != nil {
		t.Fatalf("read the test's object: %v\n%s", err, text)
	}
	return obj
}

func TestOfWhateverTheKind(t *testing.T) {
	run(t, map[string]verdict{
		"being deleted": {
			reason: "an object that goes away is not well, whatever its status says",
			object: `
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  deletionTimestamp: "2026-01-01T00:00:00Z"
  finalizers: [example.com/archive]`,
			want: Progressing, because: "Terminating", says: "example.com/archive",
		},
		"a finished hook held by its finalizer": {
			reason: "the finalizer is there so that the result can still be read",
			object: `
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  deletionTimestamp: "2026-01-01T00:00:00Z"
  finalizers: [argocd.argoproj.io/hook-finalizer]
status:
  conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]`,
			want: Degraded, because: "BackoffLimitExceeded",
		},
		"a kind without health": {
			reason: "nothing is known, which is not the same as Healthy",
			object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}",
			want:   "",
		},
		"a known kind of a foreign group": {
			reason: "the group belongs to the kind: this Service is somebody else's",
			object: "{apiVersion: serving.example.com/v1, kind: Service, metadata: {name: api}}",
			want:   "",
		},
		"a version that is not read": {
			reason: "guessing at an unknown version could open a gate",
			object: "{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: api}}",
			want:   Unknown, because: "UnsupportedVersion", says: "apps/v1beta1 Deployment",
		},
	})
}

func TestCustomRulesComeFirst(t *testing.T) {
	ctx := Context{Custom: func(obj *unstructured.Unstructured) (Result, bool) {
		return Result{Status: Degraded, Reason: "Custom"}, obj.GetKind() == "Widget" || obj.GetKind() == "Job"
	}}
	run(t, map[string]verdict{
		"a kind nobody knows":   {reason: "it has no other rule", object: "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}", ctx: ctx, want: Degraded, because: "Custom"},
		"a kind known natively": {reason: "people's own rule replaces the native one", object: "{apiVersion: batch/v1, kind: Job, metadata: {name: j}}", ctx: ctx, want: Degraded, because: "Custom"},
		"a kind of no concern":  {reason: "the native rule stays", object: "{apiVersion: v1, kind: Service, metadata: {name: s}}", ctx: ctx, want: Healthy},
		"on its way out": {
			reason: "whatever a rule says, what is being deleted is not well",
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: j, deletionTimestamp: "2026-01-01T00:00:00Z"}}`,
			ctx:    ctx, want: Progressing, because: "Terminating",
		},
	})
}

func TestOfNothing(t *testing.T) {
	want := Result{Status: Missing, Reason: "NotFound", Message: "does not exist", Known: true}
	if diff := cmp.Diff(want, Of(nil)); diff != "" {
		t.Errorf("Of(nil) (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, Of(&unstructured.Unstructured{})); diff != "" {
		t.Errorf("Of an empty object (-want +got):\n%s", diff)
	}
}

// fromBestToWorst is the order of verdicts, written down once more on purpose.
func fromBestToWorst() []Status {
	return []Status{Healthy, Suspended, Progressing, Missing, Degraded, Unknown}
}

func TestWorst(t *testing.T) {
	order := fromBestToWorst()
	for i, better := range order {
		for _, worse := range order[i+1:] {
			if !worse.WorseThan(better) || better.WorseThan(worse) {
				t.Errorf("%s must be worse than %s, and not the other way round", worse, better)
			}
		}
		if better.WorseThan(better) {
			t.Errorf("%s must not be worse than itself", better)
		}
	}
	if got := Worst(); got != Healthy {
		t.Errorf("the worst of nothing is %s, want Healthy", got)
	}
	if got := Worst("", Healthy); got != Healthy {
		t.Errorf("no verdict weighs as %s, want it to weigh nothing", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.SampledFrom(order)).Draw(t, "all")
		worst := Worst(all...)
		if len(all) > 0 && !slices.Contains(all, worst) {
			t.Fatalf("the worst of %v is %s, which is not among them", all, worst)
		}
		for _, s := range all {
			if s.WorseThan(worst) {
				t.Fatalf("the worst of %v is %s, but %s is worse", all, worst, s)
			}
		}
		if shuffled := rapid.Permutation(all).Draw(t, "shuffled"); Worst(shuffled...) != worst {
			t.Fatalf("the worst of %v depends on the order", all)
		}
	})
}

func TestFlaps(t *testing.T) {
	flapping := []schema.GroupKind{
		{Group: "external-secrets.io", Kind: "ExternalSecret"},
		{Group: "cert-manager.io", Kind: "Certificate"},
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"},
		{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"},
		{Group: "source.toolkit.fluxcd.io", Kind: "GitRepository"},
		{Group: "rds.aws.upbound.io", Kind: "Instance"},
		{Group: "sql.cnrm.cloud.google.com", Kind: "SQLInstance"},
		{Group: "s3.services.k8s.aws", Kind: "Bucket"},
	}
	for _, gk := range flapping {
		if !Flaps(gk) {
			t.Errorf("%s depends on the world outside and must flap", gk)
		}
	}
	steady := []schema.GroupKind{
		{Group: "batch", Kind: "Job"},
		{Group: "apps", Kind: "Deployment"},
		{Kind: "Pod"},
		{Group: "cert-manager.io", Kind: "Issuer"},
		{Group: "example.com", Kind: "Certificate"},
		{Group: "gateway.networking.k8s.io", Kind: "Gateway"},
		{Group: "notupbound.io", Kind: "Instance"},
	}
	for _, gk := range steady {
		if Flaps(gk) {
			t.Errorf("%s is Degraded only when it means it and must not flap", gk)
		}
	}
}

// ruledKinds are the kinds that have a rule of their own, with a version the rule reads.
func ruledKinds() map[schema.GroupVersionKind]bool {
	of := func(group, version string, generations bool, kinds ...string) map[schema.GroupVersionKind]bool {
		all := map[schema.GroupVersionKind]bool{}
		for _, k := range kinds {
			all[schema.GroupVersionKind{Group: group, Version: version, Kind: k}] = generations
		}
		return all
	}
	all := map[schema.GroupVersionKind]bool{}
	for _, m := range []map[schema.GroupVersionKind]bool{
		of("", "v1", false, "Pod", "Service", "PersistentVolumeClaim"),
		of("apps", "v1", true, "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"),
		of("batch", "v1", false, "Job", "CronJob"),
		of("autoscaling", "v2", true, "HorizontalPodAutoscaler"),
		of("networking.k8s.io", "v1", false, "Ingress"),
		of("policy", "v1", true, "PodDisruptionBudget"),
		of("apiextensions.k8s.io", "v1", false, "CustomResourceDefinition"),
		of("apiregistration.k8s.io", "v1", false, "APIService"),
		of("external-secrets.io", "v1", false, "ClusterExternalSecret"),
		of("external-secrets.io", "v1", true, "ExternalSecret", "PushSecret", "SecretStore", "ClusterSecretStore"),
		of("cert-manager.io", "v1", true, "Certificate", "Issuer", "ClusterIssuer"),
		of("postgresql.cnpg.io", "v1", true, "Cluster", "Database"),
		of("bitnami.com", "v1alpha1", true, "SealedSecret"),
		of("argoproj.io", "v1alpha1", false, "Application", "ApplicationSet", "Rollout", "Workflow", "CronWorkflow"),
		of("argoproj.io", "v1alpha1", true, "AnalysisRun", "Experiment", "EventBus", "EventSource", "Sensor"),
		of("kafka.strimzi.io", "v1", true, "Kafka", "KafkaConnect", "KafkaTopic", "KafkaRebalance"),
		of("platform.confluent.io", "v1beta1", true, "Kafka", "Connector"),
		of("kafka.banzaicloud.io", "v1beta1", false, "KafkaCluster"),
		of("gateway.networking.k8s.io", "v1", false, "Gateway", "HTTPRoute", "BackendTLSPolicy"),
		of("gateway.networking.k8s.io", "v1", true, "GatewayClass"),
		of("pkg.crossplane.io", "v1", true, "Provider", "DeploymentRuntimeConfig"),
		of("s3.aws.upbound.io", "v1beta1", true, "Bucket"),
		of("storage.cnrm.cloud.google.com", "v1beta1", true, "StorageBucket"),
		of("rds.services.k8s.aws", "v1alpha1", true, "DBInstance"),
		of("cluster.x-k8s.io", "v1beta1", true, "Cluster", "Machine", "MachineDeployment", "MachinePool", "MachineHealthCheck", "ClusterClass"),
		of("addons.cluster.x-k8s.io", "v1beta1", true, "ClusterResourceSet"),
		of("kustomize.toolkit.fluxcd.io", "v1", true, "Kustomization"),
		of("source.toolkit.fluxcd.io", "v1", true, "HelmRepository", "GitRepository"),
		of("serving.knative.dev", "v1", true, "Service"),
		of("operator.knative.dev", "v1beta1", true, "KnativeServing"),
		of("keda.sh", "v1alpha1", true, "ScaledObject", "ScaledJob"),
		of("install.istio.io", "v1alpha1", false, "IstioOperator"),
		of("sailoperator.io", "v1", true, "Istio"),
		of("velero.io", "v1", true, "Backup", "Schedule", "BackupStorageLocation"),
		of("snapshot.storage.k8s.io", "v1", false, "VolumeSnapshot"),
		of("elasticsearch.k8s.elastic.co", "v1", true, "Elasticsearch"),
		of("kibana.k8s.elastic.co", "v1", true, "Kibana"),
		of("acid.zalan.do", "v1", true, "postgresql"),
		of("rabbitmq.com", "v1beta1", true, "RabbitmqCluster", "Queue"),
		of("minio.min.io", "v2", true, "Tenant"),
		of("pxc.percona.com", "v1", true, "PerconaXtraDBCluster"),
		of("k8s.mariadb.com", "v1alpha1", true, "MariaDB", "Backup"),
		of("clickhouse.altinity.com", "v1", true, "ClickHouseInstallation"),
		of("monitoring.coreos.com", "v1", true, "Prometheus"),
		of("karpenter.sh", "v1", true, "NodePool", "NodeClaim"),
		of("kyverno.io", "v1", true, "ClusterPolicy"),
		of("policies.kyverno.io", "v1", true, "ValidatingPolicy"),
		of("k8s.keycloak.org", "v2alpha1", true, "Keycloak"),
		of("flagger.app", "v1beta1", true, "Canary"),
		of("projectcontour.io", "v1", true, "HTTPProxy"),
		of("acme.cert-manager.io", "v1", true, "Order"),
		of("apps.openshift.io", "v1", true, "DeploymentConfig"),
		of("route.openshift.io", "v1", false, "Route"),
		of("operators.coreos.com", "v1alpha1", true, "Subscription", "InstallPlan"),
		of("olm.operatorframework.io", "v1", true, "ClusterExtension"),
		of("apps.kruise.io", "v1alpha1", true, "CloneSet", "StatefulSet", "DaemonSet"),
		of("rollouts.kruise.io", "v1beta1", true, "Rollout"),
		of("game.kruise.io", "v1alpha1", true, "GameServerSet"),
		of("kubevirt.io", "v1", true, "VirtualMachine", "VirtualMachineInstance"),
		of("cdi.kubevirt.io", "v1beta1", true, "DataVolume"),
		of("ceph.rook.io", "v1", true, "CephCluster", "CephObjectStore"),
		of("trident.netapp.io", "v1", false, "TridentBackendConfig"),
		of("grafana.integreatly.org", "v1beta1", true, "Grafana"),
		of("grafana.integreatly.org", "v1beta1", false, "GrafanaDashboard"),
		of("opentelemetry.io", "v1beta1", true, "OpenTelemetryCollector"),
		of("kiali.io", "v1alpha1", true, "Kiali"),
		of("datadoghq.com", "v1alpha1", true, "DatadogMetric"),
		of("camel.apache.org", "v1", true, "Integration"),
		of("flink.apache.org", "v1beta1", true, "FlinkDeployment"),
		of("numaplane.numaproj.io", "v1alpha1", true, "PipelineRollout"),
		of("serving.kserve.io", "v1beta1", true, "InferenceService"),
		of("core.gardener.cloud", "v1beta1", true, "Shoot"),
		of("policy.open-cluster-management.io", "v1", true, "Policy"),
		of("pulumi.com", "v1", true, "Stack"),
		of("services.cloud.sap.com", "v1", true, "ServiceInstance"),
		of("solr.apache.org", "v1beta1", true, "SolrCloud"),
		of("zookeeper.pravega.io", "v1beta1", true, "ZookeeperCluster"),
	} {
		maps.Copy(all, m)
	}
	return all
}

// TestAnyStatus judges objects whose status is anything at all: a rule may not trust that a field has the right type.
func TestAnyStatus(t *testing.T) {
	kinds := slices.SortedFunc(maps.Keys(ruledKinds()), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	rapid.Check(t, func(t *rapid.T) {
		gvk := rapid.SampledFrom(kinds).Draw(t, "kind")
		obj := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "x", "generation": rapid.Int64Range(0, 3).Draw(t, "generation")},
			"spec":     anyJSON(2).Draw(t, "spec"),
			"status":   anyStatus().Draw(t, "status"),
		}}
		obj.SetGroupVersionKind(gvk)
		got := Of(obj)
		if !got.Known || !slices.Contains(fromBestToWorst(), got.Status) {
			t.Fatalf("%s: %+v", gvk, got)
		}
		if diff := cmp.Diff(got, Of(obj)); diff != "" {
			t.Fatalf("%s: judging twice differs:\n%s", gvk, diff)
		}
	})
}

// TestUnobservedGenerationIsNeverHealthy: whatever a status says, it says it about the generation it was written for.
func TestUnobservedGenerationIsNeverHealthy(t *testing.T) {
	var kinds []schema.GroupVersionKind
	for gvk, generations := range ruledKinds() {
		if generations {
			kinds = append(kinds, gvk)
		}
	}
	kinds = append(kinds, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	rapid.Check(t, func(t *rapid.T) {
		gvk := rapid.SampledFrom(kinds).Draw(t, "kind")
		status := anyStatus().Draw(t, "status")
		seen := rapid.Int64Range(1, 5).Draw(t, "observedGeneration")
		status["observedGeneration"] = seen
		obj := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "x", "generation": seen + 1},
			"spec":     map[string]any{"replicas": rapid.Int64Range(0, 3).Draw(t, "replicas")},
			"status":   status,
		}}
		obj.SetGroupVersionKind(gvk)
		if got := Of(obj); got.Status == Healthy {
			t.Fatalf("%s is Healthy (%s) by a status about generation %d of %d", gvk, got.Message, seen, seen+1)
		}
	})
}

// anyStatus draws a status made of the fields that rules read, most of them of the right type.
func anyStatus() *rapid.Generator[map[string]any] {
	words := rapid.SampledFrom([]string{
		"", "Ready", "Available", "Synced", "Established", "Progressing", "Failed", "Complete",
		"True", "False", "Bound", "Running", "Pending", "AbleToScale", "Healthy", "Cluster in healthy state", "3", "2-abc",
	})
	return rapid.Custom(func(t *rapid.T) map[string]any {
		status := map[string]any{}
		for _, name := range []string{"replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "numberAvailable", "succeeded"} {
			if rapid.Bool().Draw(t, name+"?") {
				status[name] = rapid.Int64Range(0, 3).Draw(t, name)
			}
		}
		for _, name := range []string{"phase", "syncedResourceVersion", "message", "observedGeneration"} {
			if rapid.Bool().Draw(t, name+"?") {
				status[name] = words.Draw(t, name)
			}
		}
		var conditions []any
		for range rapid.IntRange(0, 3).Draw(t, "conditions") {
			conditions = append(conditions, map[string]any{
				"type": words.Draw(t, "type"), "status": words.Draw(t, "status"), "reason": words.Draw(t, "reason"),
			})
		}
		status["conditions"] = conditions
		if rapid.Bool().Draw(t, "odd?") {
			status[words.Draw(t, "odd name")] = anyJSON(2).Draw(t, "odd")
			status["conditions"] = anyJSON(2).Draw(t, "odd conditions")
		}
		return status
	})
}

// anyJSON draws any JSON value.
func anyJSON(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Just[any]("text"), rapid.Just[any](int64(1)), rapid.Just[any](1.5), rapid.Just[any](true),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(depth - 1) })
	list := rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(inner, 0, 3).Draw(t, "list") })
	object := rapid.Custom(func(t *rapid.T) any {
		keys := rapid.SampledFrom([]string{"type", "status", "replicas", "conditions", "phase", "state"})
		return rapid.MapOfN(keys, inner, 0, 3).Draw(t, "object")
	})
	return rapid.OneOf(append(leaves, list, object)...)
}

func BenchmarkOf(b *testing.B) {
	obj := parse(b, deploymentYAML("generation: 4", "observedGeneration: 4, replicas: 3, updatedReplicas: 3, availableReplicas: 2"))
	b.ReportAllocs()
	for b.Loop() {
		Of(obj)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestIstioConfiguration(t *testing.T) {
	route := func(status string) string { return reporting("networking.istio.io/v1", "VirtualService", status) }
	run(t, map[string]verdict{
		"nothing reported": {reason: "Istio was not told to analyse", object: route(""), want: ""},
		"taken in":         {reason: "each proxy has it", object: route(`observedGeneration: "2", conditions: [{type: Reconciled, status: "True"}], validationMessages: [{level: INFO, type: {code: IST0118}}]`), want: Healthy},
		"of before":        {reason: "generations are written as text", object: route(`observedGeneration: "1", conditions: [{type: Reconciled, status: "True"}]`), want: Progressing, because: "GenerationNotObserved"},
		"on its way":       {reason: "two of three proxies have it", object: route(`observedGeneration: "2", conditions: [{type: Reconciled, status: "False", message: 2/3 proxies up to date}]`), want: Progressing, says: "2/3"},
		"analysed":         {reason: "its host is nowhere", object: reporting("networking.istio.io/v1", "Gateway", `observedGeneration: "2", validationMessages: [{level: ERROR, type: {code: IST0101, name: ReferencedResourceNotFound}, documentationUrl: "https://istio.io/IST0101"}]`), want: Degraded, because: "ReferencedResourceNotFound", says: "IST0101"},
		"a warning":        {reason: "it works all the same", object: reporting("security.istio.io/v1", "AuthorizationPolicy", `validationMessages: [{level: WARNING, type: {code: IST0127}}]`), want: ""},
	})
}

func TestObservability(t *testing.T) {
	grafana := func(status string) string { return reporting("grafana.integreatly.org/v1beta1", "Grafana", status) }
	board := func(status string) string {
		return reporting("grafana.integreatly.org/v1beta1", "GrafanaDashboard", status)
	}
	collector := func(spec, status string) string {
		return object("opentelemetry.io/v1beta1", "OpenTelemetryCollector", ", spec: {"+spec+"}, status: {"+status+"}")
	}
	kiali := func(status string) string { return reporting("kiali.io/v1alpha1", "Kiali", status) }
	metric := func(status string) string { return reporting("datadoghq.com/v1alpha1", "DatadogMetric", status) }
	run(t, map[string]verdict{
		"grafana, new":      {reason: "nothing is reported", object: grafana(""), want: Progressing},
		"grafana, starts":   {reason: "its Deployment comes up", object: grafana("stage: deployment, stageStatus: in progress"), want: Progressing, says: "deployment"},
		"grafana":           {reason: "the last stage is done", object: grafana("stage: complete, stageStatus: success"), want: Healthy},
		"grafana, failed":   {reason: "a stage failed", object: grafana("stage: plugins, stageStatus: failed, lastMessage: no such plugin"), want: Degraded, says: "plugin"},
		"board, new":        {reason: "nothing is reported", object: board(""), want: Progressing},
		"board":             {reason: "it is in its instance", object: board(`conditions: [{type: DashboardSynchronized, status: "True", reason: ApplySuccessful, observedGeneration: 2}]`), want: Healthy},
		"board, former":     {reason: "the condition is about generation 1", object: board(`conditions: [{type: DashboardSynchronized, status: "True", observedGeneration: 1}]`), want: Progressing},
		"board, early":      {reason: "its instance may come a moment later", object: board(`conditions: [{type: NoMatchingInstance, status: "True", reason: EmptyAPIReply}]`), want: Progressing},
		"board, refused":    {reason: "Grafana does not take it", object: board(`conditions: [{type: DashboardSynchronized, status: "False", reason: ApplyFailed, message: bad JSON}]`), want: Degraded, says: "JSON"},
		"board, by hash":    {reason: "that is how it was told before conditions", object: board("hash: 7d4a1f"), want: Healthy},
		"collector, new":    {reason: "nothing is counted", object: collector("mode: deployment", ""), want: Progressing},
		"collector, starts": {reason: "one of two Pods is ready", object: collector("replicas: 2", `scale: {replicas: 2, statusReplicas: 1/2}`), want: Progressing, says: "1/2"},
		"collector":         {reason: "each Pod is ready", object: collector("replicas: 2", `scale: {replicas: 2, statusReplicas: 2/2}`), want: Healthy},
		"collector, none":   {reason: "no Pod is there yet", object: collector("replicas: 2", `scale: {statusReplicas: 0/0}`), want: Progressing},
		"collector, aside":  {reason: "it has no Pods of its own", object: collector("mode: sidecar", ""), want: Healthy},
		"collector, left":   {reason: "its operator looks away", object: collector("managementState: unmanaged", ""), want: Suspended},
		"jaeger":            {reason: "its word says so", object: reporting("jaegertracing.io/v1", "Jaeger", "phase: Failed"), want: Degraded},
		"kiali, at work":    {reason: "its playbook runs", object: kiali(`conditions: [{type: Running, status: "True", reason: Running, message: Running reconciliation}]`), want: Progressing},
		"kiali":             {reason: "its playbook has run", object: kiali(`conditions: [{type: Running, status: "True", reason: Successful}, {type: Failure, status: "False"}]`), want: Healthy},
		"kiali, failed":     {reason: "its playbook failed", object: kiali(`conditions: [{type: Failure, status: "True", reason: Failed, message: no Istio here}]`), want: Degraded, says: "Istio"},
		"metric, unused":    {reason: "its autoscaler may come a wave later", object: metric(`conditions: [{type: Active, status: "False"}, {type: Valid, status: "False"}]`), want: Healthy},
		"metric, wrong":     {reason: "the query fails", object: metric(`conditions: [{type: Error, status: "True", reason: Unable to fetch data from Datadog, message: bad query}]`), want: Degraded, says: "bad query"},
		"log store":         {reason: "its word says so", object: reporting("core.humio.com/v1alpha1", "HumioCluster", "state: Running"), want: Healthy},
		"log parser":        {reason: "its word says so", object: reporting("core.humio.com/v1alpha1", "HumioParser", "state: ConfigError"), want: Degraded},
	})
}

func TestCompute(t *testing.T) {
	flink := func(status string) string { return reporting("flink.apache.org/v1beta1", "FlinkDeployment", status) }
	spark := func(status string) string {
		return reporting("sparkoperator.k8s.io/v1beta2", "SparkApplication", status)
	}
	model := func(status string) string { return reporting("serving.kserve.io/v1beta1", "InferenceService", status) }
	numa := func(kind, status string) string {
		return reporting("numaplane.numaproj.io/v1alpha1", kind, status)
	}
	run(t, map[string]verdict{
		"flink, deploys":   {reason: "deployed is not stable", object: flink("lifecycleState: DEPLOYED"), want: Progressing},
		"flink":            {reason: "its word says so", object: flink("lifecycleState: STABLE, jobStatus: {state: RUNNING}"), want: Healthy},
		"flink, back":      {reason: "the upgrade did not work", object: flink("lifecycleState: ROLLED_BACK, error: no checkpoint"), want: Degraded, says: "checkpoint"},
		"flink, dead":      {reason: "its job failed for good", object: flink("lifecycleState: STABLE, jobStatus: {state: FAILED}"), want: Degraded},
		"flink, suspended": {reason: "its owner did that", object: flink("lifecycleState: SUSPENDED"), want: Suspended},
		"spark, new":       {reason: "nothing is reported", object: spark(""), want: Progressing},
		"spark, streams":   {reason: "to run is all it does", object: spark("applicationState: {state: RUNNING}"), want: Healthy},
		"spark, failed":    {reason: "its driver failed", object: spark("applicationState: {state: FAILED, errorMessage: driver container failed}"), want: Degraded, says: "driver"},
		"spark, cron":      {reason: "it has its schedule", object: reporting("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication", "scheduleState: Scheduled"), want: Healthy},
		"model, loads":     {reason: "False is how it begins", object: model(`conditions: [{type: Ready, status: "False", reason: MinimumReplicasUnavailable}]`), want: Progressing},
		"model":            {reason: "it serves", object: model(`conditions: [{type: Ready, status: "True"}]`), want: Healthy},
		"pipeline, paused": {reason: "its owner did that", object: reporting("numaflow.numaproj.io/v1alpha1", "Pipeline", "phase: Paused, observedGeneration: 2"), want: Suspended},
		"pipeline":         {reason: "its word says so", object: reporting("numaflow.numaproj.io/v1alpha1", "Pipeline", "phase: Running, observedGeneration: 2"), want: Healthy},
		"rollout of it":    {reason: "deployed, and its child not well yet", object: numa("PipelineRollout", `phase: Deployed, conditions: [{type: ChildResourceDeployed, status: "True"}, {type: ChildResourcesHealthy, status: "False", reason: Progressing}]`), want: Progressing},
		"rollout, done":    {reason: "deployed, and its child is well", object: numa("MonoVertexRollout", `phase: Deployed, conditions: [{type: ChildResourceDeployed, status: "True"}, {type: ChildResourcesHealthy, status: "True"}]`), want: Healthy},
		"camel, builds":    {reason: "its image is being made", object: reporting("camel.apache.org/v1", "Integration", "phase: Building Kit"), want: Progressing},
		"camel":            {reason: "its word says so", object: reporting("camel.apache.org/v1", "Integration", "phase: Running"), want: Healthy},
		"function":         {reason: "it needs a person", object: reporting("openfaas.com/v1", "Function", `conditions: [{type: Ready, status: "False"}, {type: Stalled, status: "True", message: bad image name}]`), want: Degraded, says: "image"},
		"spin":             {reason: "its Pods start", object: reporting("core.spinkube.dev/v1alpha1", "SpinApp", `conditions: [{type: Available, status: "False"}]`), want: Progressing},
		"ansible job":      {reason: "its word says so", object: reporting("tower.ansible.com/v1alpha1", "AnsibleJob", "ansibleJobResult: {status: failed}, message: host unreachable"), want: Degraded, says: "unreachable"},
		"keptn":            {reason: "its word says so", object: reporting("lifecycle.keptn.sh/v1", "KeptnAppVersion", "status: Succeeded"), want: Healthy},
		"keptn judges":     {reason: "the objective is not met", object: reporting("lifecycle.keptn.sh/v1", "KeptnEvaluation", "overallStatus: Failed"), want: Degraded},
	})
}

func TestManagement(t *testing.T) {
	shoot := func(status string) string { return reporting("core.gardener.cloud/v1beta1", "Shoot", status) }
	gloo := func(status string) string { return reporting("gateway.solo.io/v1", "VirtualService", status) }
	policy := func(mode, status string) string {
		return object("policy.open-cluster-management.io/v1", "ConfigurationPolicy", ", spec: {remediationAction: "+mode+"}, status: {"+status+"}")
	}
	stack := func(status string) string { return reporting("pulumi.com/v1", "Stack", status) }
	sap := func(status string) string { return reporting("services.cloud.sap.com/v1", "ServiceInstance", status) }
	former := func(status string) string { return reporting("kubernetes-client.io/v1", "ExternalSecret", status) }
	run(t, map[string]verdict{
		"shoot, grows":       {reason: "its operation goes on", object: shoot("observedGeneration: 2, lastOperation: {type: Create, state: Processing, progress: 47}"), want: Progressing, says: "47 %"},
		"shoot, tries again": {reason: "Error is retried", object: shoot("observedGeneration: 2, lastOperation: {type: Reconcile, state: Error, progress: 60}"), want: Progressing},
		"shoot, gave up":     {reason: "Failed is not", object: shoot("observedGeneration: 2, lastOperation: {type: Create, state: Failed, description: quota exceeded}"), want: Degraded, says: "quota"},
		"shoot":              {reason: "done, and each condition is well", object: shoot(`observedGeneration: 2, lastOperation: {type: Reconcile, state: Succeeded, progress: 100}, conditions: [{type: EveryNodeReady, status: "True"}]`), want: Healthy},
		"shoot, sick":        {reason: "done, and a node is not well", object: shoot(`observedGeneration: 2, lastOperation: {type: Reconcile, state: Succeeded}, conditions: [{type: EveryNodeReady, status: "False", reason: NodesUnhealthy, message: node a is not ready}]`), want: Degraded, says: "EveryNodeReady"},
		"gloo, not seen":     {reason: "nothing is reported", object: object("gateway.solo.io/v1", "VirtualService", ""), want: ""},
		"gloo":               {reason: "each controller accepts it", object: gloo("statuses: {gloo-system: {state: Accepted}}"), want: Healthy},
		"gloo, one refuses":  {reason: "one of two refuses it", object: gloo("statuses: {a: {state: 1}, b: {state: 2, reason: no such upstream}}"), want: Degraded, says: "upstream"},
		"gloo, warns":        {reason: "what it names may come", object: gloo("state: Warning, reason: upstream not found"), want: Progressing},
		"policy, informs":    {reason: "nobody but a person acts on it", object: policy("inform", "compliant: NonCompliant"), want: Degraded},
		"policy, enforces":   {reason: "it is being acted on", object: policy("enforce", "compliant: NonCompliant"), want: Progressing},
		"policy":             {reason: "its word says so", object: policy("inform", "compliant: Compliant"), want: Healthy},
		"stack":              {reason: "its word says so", object: stack("lastUpdate: {state: failed, message: preview failed}"), want: Degraded, says: "preview"},
		"stack, runs":        {reason: "an update is at work", object: stack(`conditions: [{type: Ready, status: "False", reason: NotReadyInProgress}, {type: Reconciling, status: "True"}]`), want: Progressing},
		"stack, stalled":     {reason: "it needs a person", object: stack(`conditions: [{type: Ready, status: "False"}, {type: Stalled, status: "True", message: no such branch}]`), want: Degraded, says: "branch"},
		"service, ordered":   {reason: "it is being made", object: sap(`observedGeneration: 2, conditions: [{type: Succeeded, status: "False", reason: CreateInProgress}, {type: Ready, status: "False"}]`), want: Progressing},
		"service, failed":    {reason: "the broker refused", object: sap(`observedGeneration: 2, conditions: [{type: Ready, status: "False"}, {type: Failed, status: "True", reason: CreateFailed, message: no such plan}]`), want: Degraded, says: "plan"},
		"certificate":        {reason: "DNS does not point here yet", object: reporting("networking.gke.io/v1", "ManagedCertificate", "certificateStatus: FailedNotVisible"), want: Progressing},
		"network":            {reason: "a node refused it", object: reporting("nmstate.io/v1", "NodeNetworkConfigurationPolicy", `conditions: [{type: Available, status: "False"}, {type: Degraded, status: "True", reason: FailedToConfigure, message: 1/3 nodes failed}]`), want: Degraded, says: "1/3"},
		"binding":            {reason: "scheduled is not applied", object: reporting("work.karmada.io/v1alpha2", "ResourceBinding", `conditions: [{type: Scheduled, status: "True"}, {type: FullyApplied, status: "False"}]`), want: Progressing},
		"schema":             {reason: "statements are being run", object: reporting("db.atlasgo.io/v1alpha1", "AtlasSchema", `conditions: [{type: Ready, status: "False", reason: Reconciling}]`), want: Progressing},
		"password":           {reason: "there is no such item", object: reporting("onepassword.com/v1", "OnePasswordItem", `conditions: [{type: Ready, status: "False", message: item not found}]`), want: Degraded, says: "not found"},
		"tenant":             {reason: "its spec is refused", object: reporting("capabilities.3scale.net/v1beta1", "Product", `conditions: [{type: Synced, status: "False"}, {type: Invalid, status: "True", message: no such metric}]`), want: Degraded, says: "metric"},
		"strategy":           {reason: "its word says so", object: reporting("promoter.argoproj.io/v1alpha1", "PromotionStrategy", `conditions: [{type: Ready, status: "True", observedGeneration: 2}]`), want: Healthy},
		"former secret":      {reason: "the text is its error", object: former(`status: "ERROR, access denied"`), want: Degraded, says: "denied"},
		"former secret, ok":  {reason: "the text says so", object: former("status: SUCCESS"), want: Healthy},
	})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestDatabases(t *testing.T) {
	zalando := func(status string) string { return reporting("acid.zalan.do/v1", "postgresql", status) }
	rabbit := func(spec, status string) string {
		return object("rabbitmq.com/v1beta1", "RabbitmqCluster", ", spec: {"+spec+"}, status: {"+status+"}")
	}
	tenant := func(status string) string { return reporting("minio.min.io/v2", "Tenant", status) }
	run(t, map[string]verdict{
		"zalando, new":      {reason: "no word", object: zalando(""), want: Progressing},
		"zalando, creating": {reason: "its word says so", object: zalando("PostgresClusterStatus: Creating"), want: Progressing, because: "Creating"},
		"zalando":           {reason: "its word says so", object: zalando("PostgresClusterStatus: Running"), want: Healthy},
		"zalando, failed":   {reason: "its word says so", object: zalando("PostgresClusterStatus: SyncFailed"), want: Degraded},

		"rabbit, forms":  {reason: "instances are missing", object: rabbit("", `observedGeneration: 2, conditions: [{type: ClusterAvailable, status: "False", reason: NoEndpointsAvailable}, {type: AllReplicasReady, status: "False"}, {type: ReconcileSuccess, status: Unknown}]`), want: Progressing, because: "NoEndpointsAvailable"},
		"rabbit":         {reason: "all instances are ready", object: rabbit("", `observedGeneration: 2, conditions: [{type: ClusterAvailable, status: "True"}, {type: AllReplicasReady, status: "True"}]`), want: Healthy},
		"rabbit, wrong":  {reason: "the spec cannot be carried out", object: rabbit("", `observedGeneration: 2, conditions: [{type: ClusterAvailable, status: "True"}, {type: AllReplicasReady, status: "True"}, {type: ReconcileSuccess, status: "False", reason: FailedReconcilePVC, message: shrinking is not supported}]`), want: Degraded, says: "shrinking"},
		"rabbit, off":    {reason: "its owner scaled it to nothing", object: rabbit("replicas: 0", `conditions: [{type: AllReplicasReady, status: "False", reason: ScaledToZero}]`), want: Suspended},
		"queue":          {reason: "declared", object: reporting("rabbitmq.com/v1beta1", "Queue", `observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: SuccessfulCreateOrUpdate}]`), want: Healthy},
		"queue, refused": {reason: "the broker said no", object: reporting("rabbitmq.com/v1beta1", "Queue", `observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: FailedCreateOrUpdate, message: inequivalent arg}]`), want: Degraded, says: "inequivalent"},

		"minio, new":     {reason: "no state", object: tenant(""), want: Progressing, because: "NoStatus"},
		"minio, waits":   {reason: "a sentence nobody listed is work in progress", object: tenant("currentState: Waiting for Pods to be ready"), want: Progressing, because: "Phase", says: "Waiting for Pods"},
		"minio":          {reason: "it serves", object: tenant("currentState: Initialized"), want: Healthy},
		"minio, foreign": {reason: "a person has to tidy up", object: tenant("currentState: Statefulset not controlled by operator"), want: Degraded},

		"percona":         {reason: "its word says so", object: reporting("pxc.percona.com/v1", "PerconaXtraDBCluster", "observedGeneration: 2, state: ready"), want: Healthy},
		"percona, starts": {reason: "its word says so", object: reporting("psmdb.percona.com/v1", "PerconaServerMongoDB", "observedGeneration: 2, state: initializing"), want: Progressing},
		"percona, error":  {reason: "its message says why", object: reporting("pxc.percona.com/v1", "PerconaXtraDBCluster", "state: error, message: secrets not found"), want: Degraded, because: "error", says: "error: secrets not found"},
		"mariadb, starts": {reason: "not ready yet is all that False means", object: reporting("k8s.mariadb.com/v1alpha1", "MariaDB", `conditions: [{type: Ready, status: "False", reason: StatefulSetNotReady}]`), want: Progressing},
		"clickhouse":      {reason: "done", object: reporting("clickhouse.altinity.com/v1", "ClickHouseInstallation", "status: Completed"), want: Healthy},
	})
}

func TestElastic(t *testing.T) {
	es := func(status string) string {
		return object("elasticsearch.k8s.elastic.co/v1", "Elasticsearch", ", spec: {nodeSets: [{name: hot, count: 2}, {name: cold, count: 1}]}, status: {"+status+"}")
	}
	kibana := func(status string) string { return reporting("kibana.k8s.elastic.co/v1", "Kibana", status) }
	run(t, map[string]verdict{
		"new":           {reason: "nothing is reported", object: es(""), want: Progressing, because: "NoStatus"},
		"nodes start":   {reason: "red is how it begins", object: es("observedGeneration: 2, phase: ApplyingChanges, health: red, availableNodes: 1"), want: Progressing, says: "1 of 3"},
		"changes":       {reason: "all nodes are there, not all done", object: es("phase: ApplyingChanges, health: yellow, availableNodes: 3"), want: Progressing},
		"green":         {reason: "all is well", object: es("observedGeneration: 2, phase: Ready, health: green, availableNodes: 3"), want: Healthy},
		"yellow":        {reason: "shards have no copy and nothing is in progress", object: es("phase: Ready, health: yellow, availableNodes: 3"), want: Degraded},
		"invalid":       {reason: "the spec was refused", object: es("phase: Invalid"), want: Degraded},
		"of before":     {reason: "green before the change", object: es("observedGeneration: 1, phase: Ready, health: green, availableNodes: 3"), want: Progressing},
		"kibana starts": {reason: "red is how it begins", object: kibana("observedGeneration: 2, health: red"), want: Progressing},
		"kibana":        {reason: "it serves", object: kibana("observedGeneration: 2, health: green, availableNodes: 1"), want: Healthy, says: "1 instances"},
	})
}

func TestBackups(t *testing.T) {
	velero := func(kind, spec, status string) string {
		return object("velero.io/v1", kind, ", spec: {"+spec+"}, status: {"+status+"}")
	}
	snapshot := func(status string) string {
		return reporting("snapshot.storage.k8s.io/v1", "VolumeSnapshot", status)
	}
	run(t, map[string]verdict{
		"backup, new":       {reason: "not begun", object: velero("Backup", "", ""), want: Progressing},
		"backup, runs":      {reason: "it copies", object: velero("Backup", "", "phase: InProgress"), want: Progressing},
		"backup, finishing": {reason: "partly failed, yet not at its end", object: velero("Backup", "", "phase: FinalizingPartiallyFailed"), want: Progressing},
		"backup":            {reason: "done", object: velero("Backup", "", "phase: Completed"), want: Healthy},
		"backup, in part":   {reason: "something is missing from it", object: velero("Backup", "", "phase: PartiallyFailed, failureReason: 2 volumes"), want: Degraded, says: "2 volumes"},
		"schedule":          {reason: "its cron line is good", object: velero("Schedule", "", "phase: Enabled"), want: Healthy},
		"schedule, paused":  {reason: "its owner did that", object: velero("Schedule", "paused: true", "phase: Enabled"), want: Suspended},
		"location":          {reason: "the bucket cannot be reached", object: velero("BackupStorageLocation", "", "phase: Unavailable, message: AccessDenied"), want: Degraded, says: "AccessDenied"},

		"snapshot, new":    {reason: "not taken", object: snapshot(""), want: Progressing},
		"snapshot":         {reason: "it can be restored", object: snapshot("readyToUse: true"), want: Healthy},
		"snapshot, failed": {reason: "the driver's words say why", object: snapshot("readyToUse: false, error: {message: no snapshot class}"), want: Degraded, says: "snapshot class"},
		"snapshot, healed": {reason: "an error of before does not count", object: snapshot("readyToUse: true, error: {message: timeout}"), want: Healthy},
	})
}

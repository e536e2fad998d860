// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import "fmt"

// zalandoRule: the operator sums up in one field of its own.
func zalandoRule(kind string) rule {
	if kind != "postgresql" {
		return nil
	}
	return byPhase(phases{
		at: []string{"PostgresClusterStatus"}, good: []string{"Running"},
		bad: []string{"CreateFailed", "UpdateFailed", "SyncFailed", "DeleteFailed", "Invalid"},
	})
}

func rabbitMQRule(kind string) rule {
	switch kind {
	case "RabbitmqCluster":
		return rabbitMQCluster
	case "Binding", "Exchange", "Federation", "OperatorPolicy", "Permission", "Policy", "Queue", "SchemaReplication", "Shovel",
		"SuperStream", "TopicPermission", "User", "Vhost":
		return ready()
	}
	return nil
}

// rabbitMQCluster is at work as long as instances are missing; only a spec that cannot be carried out is a failure.
func rabbitMQCluster(s subject) Result {
	if n, ok := s.spec.number("replicas"); ok && n == 0 {
		if c, ok := s.condition("AllReplicasReady"); ok && c.Reason == "ScaledToZero" {
			return suspended(c.Reason, c.words())
		}
	}
	r := s.byOutlook(outlook{good: []string{"ClusterAvailable", "AllReplicasReady"}, patient: true})
	if c, ok := s.condition("ReconcileSuccess"); ok && c.isFalse() && !s.behind() {
		return degraded(c.Reason, c.words())
	}
	return r
}

// minIORule: the state is a sentence; those named are for a person to solve.
func minIORule(kind string) rule {
	if kind != "Tenant" {
		return nil
	}
	return byPhase(phases{
		at: []string{"currentState"}, good: []string{"Initialized"},
		bad: []string{
			"Statefulset not controlled by operator", "Another MinIO Tenant already exists in the namespace", "Different versions across MinIO Pools",
		},
	})
}

// perconaRule covers the operators for MySQL and MongoDB.
func perconaRule(kind string) rule {
	switch kind {
	case "PerconaXtraDBCluster", "PerconaServerMongoDB", "PerconaServerMySQL", "PerconaPGCluster":
		return byPhase(phases{at: []string{"state"}, good: []string{"ready"}, bad: []string{"error"}, paused: []string{"paused"}})
	}
	return nil
}

// mariaDBRule: Ready is False until the first instance runs.
func mariaDBRule(kind string) rule {
	switch kind {
	case "MariaDB", "MaxScale":
		return byOutlook(outlook{good: []string{"Ready"}, patient: true, paused: []string{"Suspended"}})
	case "Connection", "Database", "Grant", "User":
		return ready()
	case "Backup", "PhysicalBackup", "Restore", "SqlJob":
		return byOutlook(outlook{good: []string{"Complete"}, passing: []string{"JobNotComplete", "JobRunning", "CronJobScheduled"}})
	}
	return nil
}

func clickHouseRule(kind string) rule {
	switch kind {
	case "ClickHouseInstallation", "ClickHouseKeeperInstallation":
		return byPhase(phases{at: []string{"status"}, words: []string{"error"}, good: []string{"Completed"}, bad: []string{"Aborted", "Failed"}})
	}
	return nil
}

// solrRule counts nodes as a StatefulSet counts Pods.
func solrRule(kind string) rule {
	if kind != "SolrCloud" {
		return nil
	}
	return func(s subject) Result {
		// Three is what its operator fills in.
		desired := s.spec.countOr(3, "replicas")
		ready, updated := s.status.count("readyReplicas"), s.status.count("upToDateNodes")
		switch {
		case s.behind():
			return s.unobserved()
		case ready < desired:
			return progressing("NodesNotReady", fmt.Sprintf("%d of %d nodes are ready", ready, desired))
		case updated < desired:
			return progressing("NodesNotUpdated", fmt.Sprintf("%d of %d nodes are updated", updated, desired))
		}
		return healthy("Ready", fmt.Sprintf("%d of %d nodes are ready", ready, desired))
	}
}

// zooKeeperRule: the operator of Pravega reports an upgrade that failed as Error.
func zooKeeperRule(kind string) rule {
	return onlyKind(kind, "ZookeeperCluster", byOutlook(outlook{good: []string{"PodsReady"}, bad: []string{"Error"}, patient: true}))
}

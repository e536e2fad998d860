// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ruleFor returns the rule made for a kind, nil if there is none.
func ruleFor(gk schema.GroupKind) rule {
	switch gk.Group {
	case "":
		return coreRule(gk.Kind)
	case "apps":
		return appsRule(gk.Kind)
	case "batch":
		return batchRule(gk.Kind)
	case "autoscaling":
		return autoscalingRule(gk.Kind)
	case "networking.k8s.io", "extensions":
		return networkingRule(gk.Kind)
	case "policy":
		return policyRule(gk.Kind)
	case "apiextensions.k8s.io":
		return apiextensionsRule(gk.Kind)
	case "apiregistration.k8s.io":
		return apiregistrationRule(gk.Kind)
	case "gateway.networking.k8s.io", "gateway.networking.x-k8s.io":
		return gatewayAPIRule(gk.Kind)
	case "snapshot.storage.k8s.io", "groupsnapshot.storage.k8s.io":
		return snapshotRule(gk.Kind)
	}
	return operatorRule(gk)
}

// operatorRule returns the rule for a kind of an operator that many clusters have.
func operatorRule(gk schema.GroupKind) rule {
	switch gk.Group {
	case "argoproj.io":
		return argoprojRule(gk.Kind)
	case "bitnami.com":
		return sealedSecretsRule(gk.Kind)
	case "cert-manager.io", "certmanager.k8s.io":
		return certManagerRule(gk.Kind)
	case "acme.cert-manager.io":
		return acmeRule(gk.Kind)
	case "external-secrets.io":
		return externalSecretsRule(gk.Kind)
	case "flagger.app":
		return flaggerRule(gk.Kind)
	case "install.istio.io", "sailoperator.io":
		return istioRule(gk.Group, gk.Kind)
	case "k8s.keycloak.org":
		return keycloakRule(gk.Kind)
	case "karpenter.sh", "karpenter.k8s.aws", "karpenter.azure.com":
		return karpenterRule(gk.Kind)
	case "keda.sh", "eventing.keda.sh":
		return kedaRule(gk.Kind)
	case "kyverno.io", "policies.kyverno.io":
		return kyvernoRule(gk.Group, gk.Kind)
	case "monitoring.coreos.com":
		return prometheusRule(gk.Kind)
	case "operator.victoriametrics.com":
		return victoriaMetricsRule(gk.Kind)
	case "projectcontour.io":
		return contourRule(gk.Kind)
	case "velero.io":
		return veleroRule(gk.Kind)
	}
	for _, find := range []func(schema.GroupKind) rule{dataRule, systemRule, familyRule} {
		if judge := find(gk); judge != nil {
			return judge
		}
	}
	return nil
}

// systemRule returns the rule for a kind of what turns a cluster into more than Kubernetes: distributions, machines,
// meshes, observation, and what runs programs or manages other systems.
func systemRule(gk schema.GroupKind) rule {
	switch gk.Group {
	case "apps.openshift.io", "build.openshift.io", "machineconfiguration.openshift.io", "ocs.openshift.io", "operator.openshift.io", "route.openshift.io":
		return openShiftRule(gk.Group, gk.Kind)
	case "operators.coreos.com", "olm.operatorframework.io":
		return lifecycleManagerRule(gk.Group, gk.Kind)
	case "apps.kruise.io", "rollouts.kruise.io", "game.kruise.io":
		return kruiseRule(gk.Group, gk.Kind)
	case "kubevirt.io", "cdi.kubevirt.io":
		return kubeVirtRule(gk.Group, gk.Kind)
	case "networking.istio.io", "security.istio.io", "telemetry.istio.io", "extensions.istio.io":
		return istioConfigRule(gk.Kind)
	case "grafana.integreatly.org":
		return grafanaRule(gk.Kind)
	case "opentelemetry.io", "jaegertracing.io", "kiali.io", "datadoghq.com":
		return tracingRule(gk.Group, gk.Kind)
	case "core.humio.com":
		return humioRule(gk.Kind)
	}
	if judge := computeRule(gk.Group, gk.Kind); judge != nil {
		return judge
	}
	return managementRule(gk.Group, gk.Kind)
}

// dataRule returns the rule for a kind of an operator that runs databases and queues.
func dataRule(gk schema.GroupKind) rule {
	switch gk.Group {
	case "acid.zalan.do":
		return zalandoRule(gk.Kind)
	case "clickhouse.altinity.com", "clickhouse-keeper.altinity.com":
		return clickHouseRule(gk.Kind)
	case "k8s.mariadb.com", "mariadb.mmontes.io":
		return mariaDBRule(gk.Kind)
	case "kafka.banzaicloud.io":
		return banzaiRule(gk.Kind)
	case "kafka.strimzi.io":
		return strimziRule(gk.Kind)
	case "minio.min.io":
		return minIORule(gk.Kind)
	case "platform.confluent.io":
		return confluentRule(gk.Kind)
	case "postgresql.cnpg.io":
		return cnpgRule(gk.Kind)
	case "ps.percona.com", "psmdb.percona.com", "pxc.percona.com":
		return perconaRule(gk.Kind)
	case "rabbitmq.com":
		return rabbitMQRule(gk.Kind)
	case "solr.apache.org":
		return solrRule(gk.Kind)
	case "zookeeper.pravega.io":
		return zooKeeperRule(gk.Kind)
	case "ceph.rook.io":
		return rookRule(gk.Kind)
	case "objectbucket.io":
		return objectBucketRule(gk.Kind)
	case "trident.netapp.io":
		return tridentRule(gk.Kind)
	}
	return nil
}

// familyRule returns the rule for a kind whose group is one of a family.
func familyRule(gk schema.GroupKind) rule {
	switch {
	case gk.Group == "cluster.x-k8s.io":
		return clusterAPIRule(gk.Kind)
	case below(gk.Group, "cluster.x-k8s.io"):
		return clusterAPIProviderRule(gk.Kind)
	case below(gk.Group, "toolkit.fluxcd.io"):
		return fluxRule(gk.Kind)
	case below(gk.Group, "knative.dev"):
		return knativeRule(gk.Group, gk.Kind)
	case below(gk.Group, "k8s.elastic.co"):
		return elasticRule(gk.Kind)
	}
	return cloudRule(gk)
}

// cloudRule returns the rule for a kind that stands for something outside of the cluster.
func cloudRule(gk schema.GroupKind) rule {
	switch {
	case below(gk.Group, "crossplane.io"), below(gk.Group, "upbound.io"):
		return crossplaneRule(gk.Kind)
	case below(gk.Group, "cnrm.cloud.google.com"):
		return configConnectorRule(gk.Kind)
	case below(gk.Group, "services.k8s.aws"):
		return ackRule(gk.Kind)
	}
	return nil
}

// below tells whether a group is one of a family: "s3.aws.upbound.io" of "upbound.io".
func below(group, family string) bool { return strings.HasSuffix(group, "."+family) }

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/field"
)

// link says where objects of one kind mention objects of another.
//
// The value at path is either the other object's name or a map with "name" and
// whatever of "kind", "group", "apiGroup", "apiVersion", "namespace" and "key" it
// has; group and kind are what the map leaves open.
type link struct {
	path        string
	group, kind string
	// only restricts the link to maps of this kind.
	only     string
	cluster  bool
	optional bool
}

// ofKind adds what fields other than the Pod spec mention.
func (r *referrer) ofKind(gk schema.GroupKind, object map[string]any) {
	for _, l := range links(gk) {
		field.Each(object, l.path, func(path string, value any) { r.follow(l, path, value) })
	}
	switch {
	case gk.Group == groupExternalSecrets && (gk.Kind == "SecretStore" || gk.Kind == "ClusterSecretStore"):
		r.credentials(field.Map(object, "spec.provider"), "spec.provider")
	case gk.Group == groupCertManager && gk.Kind == "Issuer":
		r.credentials(field.Map(object, "spec"), "spec")
	case gk.Group == groupStrimzi:
		r.strimziCluster(gk.Kind, object)
	}
}

// follow adds the reference that value, found by l at path, stands for.
func (r *referrer) follow(l link, path string, value any) {
	target := Key{Group: l.group, Kind: l.kind, Namespace: r.namespace}
	var needed string
	switch v := value.(type) {
	case string:
		target.Name = v
	case map[string]any:
		target.Name = field.Text(v, "name")
		needed = field.Text(v, "key")
		if kind := field.Text(v, "kind"); kind != "" {
			target.Kind = kind
		}
		if namespace := field.Text(v, "namespace"); namespace != "" {
			target.Namespace = namespace
		}
		if group, ok := writtenGroup(v); ok {
			target.Group = group
		}
	}
	if l.only != "" && target.Kind != l.only || everywhere(target) {
		return
	}
	if l.cluster || strings.HasPrefix(target.Kind, "Cluster") && target.Kind != "Cluster" {
		target.Namespace = ""
	}
	ref := []func(*Reference){keys(needed)}
	if l.optional {
		ref = append(ref, optional)
	}
	r.key(target, path, ref...)
}

// writtenGroup returns the API group that a reference writes out.
func writtenGroup(ref map[string]any) (string, bool) {
	for _, name := range []string{"group", "apiGroup"} {
		if group, ok := ref[name].(string); ok {
			return group, true
		}
	}
	if version := field.Text(ref, "apiVersion"); version != "" {
		return groupOf(version), true
	}
	return "", false
}

// everywhere reports whether every cluster has the object by itself.
func everywhere(k Key) bool {
	switch k.Kind {
	case "ServiceAccount":
		return k.Name == "default"
	case "ClusterRole":
		switch k.Name {
		case "cluster-admin", "admin", "edit", "view":
			return true
		}
		return strings.HasPrefix(k.Name, "system:")
	case "AppProject":
		return k.Name == "default"
	}
	return false
}

// links returns the mentions that objects of the given kind may have.
func links(gk schema.GroupKind) []link {
	switch gk.Group {
	case "":
		return coreLinks(gk.Kind)
	case groupApps:
		if gk.Kind == "StatefulSet" {
			return []link{
				{path: "spec.serviceName", kind: "Service", optional: true},
				{path: "spec.volumeClaimTemplates[*].spec.storageClassName", group: groupStorage, kind: "StorageClass", cluster: true},
			}
		}
	case groupNetworking, "extensions", groupGateway:
		return networkLinks(gk.Kind)
	case groupAutoscaling, "autoscaling.k8s.io", "keda.sh":
		return []link{
			{path: "spec.scaleTargetRef", group: groupApps, kind: "Deployment"},
			{path: "spec.targetRef", group: groupApps, kind: "Deployment"},
			{path: "spec.triggers[*].authenticationRef", group: "keda.sh", kind: "TriggerAuthentication"},
			{path: "spec.secretTargetRef[*]", kind: "Secret"},
		}
	case groupRBAC:
		return []link{
			{path: "roleRef", group: groupRBAC, kind: "Role"},
			{path: "subjects[*]", only: "ServiceAccount"},
		}
	case "admissionregistration.k8s.io":
		return []link{{path: "webhooks[*].clientConfig.service", kind: "Service"}}
	case "apiregistration.k8s.io":
		return []link{{path: "spec.service", kind: "Service"}}
	case groupExtensions:
		return []link{{path: "spec.conversion.webhook.clientConfig.service", kind: "Service"}}
	case groupExternalSecrets:
		return externalSecretLinks(gk.Kind)
	case groupCertManager:
		return certManagerLinks(gk.Kind)
	case groupCNPG:
		return cnpgLinks(gk.Kind)
	case "argoproj.io":
		return []link{{path: "spec.project", group: "argoproj.io", kind: "AppProject"}}
	}
	return nil
}

func coreLinks(kind string) []link {
	switch kind {
	case "PersistentVolumeClaim":
		return []link{
			{path: "spec.storageClassName", group: groupStorage, kind: "StorageClass", cluster: true},
			{path: "spec.volumeName", kind: "PersistentVolume", cluster: true},
		}
	case "ServiceAccount":
		return []link{
			{path: "imagePullSecrets[*]", kind: "Secret", optional: true},
			{path: "secrets[*]", kind: "Secret", optional: true},
		}
	}
	return nil
}

// networkLinks covers Ingress in its present and its former form and the routes
// and gateways of the Gateway API.
func networkLinks(kind string) []link {
	switch kind {
	case "Ingress":
		return []link{
			{path: "spec.ingressClassName", group: groupNetworking, kind: "IngressClass", cluster: true, optional: true},
			{path: "spec.defaultBackend.service", kind: "Service"},
			{path: "spec.defaultBackend.resource"},
			{path: "spec.backend.serviceName", kind: "Service"},
			{path: "spec.rules[*].http.paths[*].backend.service", kind: "Service"},
			{path: "spec.rules[*].http.paths[*].backend.resource"},
			{path: "spec.rules[*].http.paths[*].backend.serviceName", kind: "Service"},
			{path: "spec.tls[*].secretName", kind: "Secret", optional: true},
		}
	case "Gateway":
		return []link{
			{path: "spec.gatewayClassName", group: groupGateway, kind: "GatewayClass", cluster: true},
			{path: "spec.listeners[*].tls.certificateRefs[*]", kind: "Secret", optional: true},
		}
	case "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute":
		return []link{
			{path: "spec.parentRefs[*]", group: groupGateway, kind: "Gateway"},
			{path: "spec.rules[*].backendRefs[*]", kind: "Service"},
		}
	}
	return nil
}

func externalSecretLinks(kind string) []link {
	store := func(path string) link { return link{path: path, group: groupExternalSecrets, kind: "SecretStore"} }
	switch kind {
	case "ExternalSecret":
		return []link{
			store("spec.secretStoreRef"),
			store("spec.data[*].sourceRef.storeRef"),
			store("spec.dataFrom[*].sourceRef.storeRef"),
			{path: "spec.dataFrom[*].sourceRef.generatorRef", group: "generators.external-secrets.io"},
			{path: "spec.target.template.templateFrom[*].configMap", kind: "ConfigMap"},
			{path: "spec.target.template.templateFrom[*].secret", kind: "Secret"},
		}
	case "ClusterExternalSecret":
		return []link{store("spec.externalSecretSpec.secretStoreRef")}
	case "PushSecret":
		return []link{
			store("spec.secretStoreRefs[*]"),
			{path: "spec.selector.secret", kind: "Secret"},
		}
	}
	return nil
}

func certManagerLinks(kind string) []link {
	switch kind {
	case "Certificate", "CertificateRequest":
		return []link{
			{path: "spec.issuerRef", group: groupCertManager, kind: "Issuer"},
			{path: "spec.keystores.jks.passwordSecretRef", kind: "Secret"},
			{path: "spec.keystores.pkcs12.passwordSecretRef", kind: "Secret"},
		}
	case "Issuer":
		return []link{{path: "spec.ca.secretName", kind: "Secret"}}
	}
	return nil
}

func cnpgLinks(kind string) []link {
	switch kind {
	case "Cluster":
		secrets := []string{
			"spec.superuserSecret", "spec.bootstrap.initdb.secret", "spec.bootstrap.recovery.secret", "spec.bootstrap.pg_basebackup.secret",
			"spec.bootstrap.initdb.postInitApplicationSQLRefs.secretRefs[*]", "spec.managed.roles[*].passwordSecret",
			"spec.monitoring.customQueriesSecret[*]", "spec.externalClusters[*].password", "spec.externalClusters[*].sslCert",
			"spec.externalClusters[*].sslKey", "spec.externalClusters[*].sslRootCert", "spec.imagePullSecrets[*]",
			"spec.backup.barmanObjectStore.s3Credentials.accessKeyId", "spec.backup.barmanObjectStore.s3Credentials.secretAccessKey",
			"spec.certificates.serverCASecret", "spec.certificates.serverTLSSecret", "spec.certificates.clientCASecret",
		}
		list := make([]link, 0, len(secrets)+5)
		for _, path := range secrets {
			list = append(list, link{path: path, kind: "Secret"})
		}
		return append(list,
			link{path: "spec.bootstrap.initdb.postInitApplicationSQLRefs.configMapRefs[*]", kind: "ConfigMap"},
			link{path: "spec.monitoring.customQueriesConfigMap[*]", kind: "ConfigMap"},
			link{path: "spec.imageCatalogRef", group: groupCNPG, kind: "ImageCatalog"},
			link{path: "spec.storage.storageClass", group: groupStorage, kind: "StorageClass", cluster: true},
			link{path: "spec.walStorage.storageClass", group: groupStorage, kind: "StorageClass", cluster: true},
		)
	case "Pooler", "Backup", "ScheduledBackup", "Database", "Publication", "Subscription":
		return []link{{path: "spec.cluster", group: groupCNPG, kind: "Cluster"}}
	}
	return nil
}

// credentials adds the Secrets, ConfigMaps and ServiceAccounts that a store or an
// issuer authenticates with. Providers are many and alike: a field whose name
// ends in "secretRef" or is "serviceAccountRef" or "caProvider".
func (r *referrer) credentials(m map[string]any, path string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value, ok := m[name].(map[string]any)
		if !ok {
			continue
		}
		here := field.Join(path, name)
		lower := strings.ToLower(name)
		switch {
		case lower == "privatekeysecretref":
			// The issuer writes this Secret itself.
		case strings.HasSuffix(lower, "secretref") && field.Text(value, "name") != "":
			r.follow(link{kind: "Secret"}, here, value)
		case lower == "serviceaccountref":
			r.follow(link{kind: "ServiceAccount"}, here, value)
		case lower == "caprovider":
			r.follow(link{kind: field.Text(value, "type")}, here, value)
		default:
			r.credentials(value, here)
		}
	}
}

// strimziCluster adds the cluster that a label of Strimzi's resources names.
func (r *referrer) strimziCluster(kind string, object map[string]any) {
	labels := field.Map(object, "metadata.labels")
	name, _ := labels["strimzi.io/cluster"].(string)
	target := "Kafka"
	if kind == "KafkaConnector" {
		target = "KafkaConnect"
	}
	if kind != target {
		r.named(groupStrimzi, target, name, "metadata.labels[strimzi.io/cluster]")
	}
}

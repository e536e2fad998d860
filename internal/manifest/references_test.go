// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// referenceLine writes a reference on one line: target, keys, flags, field.
func referenceLine(r Reference) string {
	parts := []string{r.Target.String()}
	if len(r.Keys) > 0 {
		parts = append(parts, "keys="+strings.Join(r.Keys, ","))
	}
	if r.Optional {
		parts = append(parts, "optional")
	}
	if r.AtStart {
		parts = append(parts, "start")
	}
	return strings.Join(append(parts, "@"+r.Field), " ")
}

func TestReferencesOfPods(t *testing.T) {
	tests := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"Deployment": {
			reason: "Environment, volumes, pull secrets and identity of every container.",
			text: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: prod}
spec:
  template:
    spec:
      serviceAccountName: api
      priorityClassName: high
      runtimeClassName: gvisor
      imagePullSecrets: [{name: registry}]
      initContainers:
      - {name: wait, envFrom: [{configMapRef: {name: init}}]}
      containers:
      - name: main
        env:
        - {name: A, value: x}
        - {name: B, valueFrom: {secretKeyRef: {name: db, key: password}}}
        - {name: C, valueFrom: {configMapKeyRef: {name: conf, key: mode, optional: true}}}
        - {name: D, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        envFrom: [{secretRef: {name: env, optional: false}}]
      volumes:
      - {name: a, secret: {secretName: tls, items: [{key: tls.crt, path: c}, {key: tls.key, path: k}]}}
      - {name: b, configMap: {name: files, optional: true}}
      - {name: c, persistentVolumeClaim: {claimName: data}}
      - {name: d, emptyDir: {}}
      - name: e
        projected:
          sources:
          - {serviceAccountToken: {path: t}}
          - {secret: {name: p, items: [{key: one, path: one}]}}
          - {configMap: {name: q}}
      - {name: f, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {secretProviderClass: vault}}}
      - {name: g, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}
`,
			want: []string{
				"ConfigMap/prod/init start @spec.template.spec.initContainers[0].envFrom[0].configMapRef",
				"Secret/prod/db keys=password start @spec.template.spec.containers[0].env[1].valueFrom.secretKeyRef",
				"ConfigMap/prod/conf keys=mode optional start @spec.template.spec.containers[0].env[2].valueFrom.configMapKeyRef",
				"Secret/prod/env start @spec.template.spec.containers[0].envFrom[0].secretRef",
				"Secret/prod/tls keys=tls.crt,tls.key start @spec.template.spec.volumes[0].secret.secretName",
				"ConfigMap/prod/files optional start @spec.template.spec.volumes[1].configMap.name",
				"PersistentVolumeClaim/prod/data start @spec.template.spec.volumes[2].persistentVolumeClaim.claimName",
				"Secret/prod/p keys=one start @spec.template.spec.volumes[4].projected.sources[1].secret.name",
				"ConfigMap/prod/q start @spec.template.spec.volumes[4].projected.sources[2].configMap.name",
				"secrets-store.csi.x-k8s.io/SecretProviderClass/prod/vault start @spec.template.spec.volumes[5].csi.volumeAttributes.secretProviderClass",
				"storage.k8s.io/StorageClass/fast start @spec.template.spec.volumes[6].ephemeral.volumeClaimTemplate.spec.storageClassName",
				"Secret/prod/registry start @spec.template.spec.imagePullSecrets[0]",
				"ServiceAccount/prod/api start @spec.template.spec.serviceAccountName",
				"scheduling.k8s.io/PriorityClass/high start @spec.template.spec.priorityClassName",
				"node.k8s.io/RuntimeClass/gvisor start @spec.template.spec.runtimeClassName",
			},
		},
		"BuiltIn": {
			reason: "What every cluster has is no reference.",
			text:   `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {serviceAccountName: default, priorityClassName: system-node-critical, containers: [{name: c}]}}`,
		},
		"DeprecatedServiceAccount": {
			reason: "The former field counts when the present one is empty.",
			text:   `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {serviceAccount: old}}`,
			want:   []string{"ServiceAccount/old start @spec.serviceAccount"},
		},
		"CronJob": {
			reason: "A CronJob's Pods are two templates deep.",
			text:   `{apiVersion: batch/v1, kind: CronJob, metadata: {name: c, namespace: ns}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{envFrom: [{secretRef: {name: s}}]}]}}}}}}`,
			want:   []string{"Secret/ns/s start @spec.jobTemplate.spec.template.spec.containers[0].envFrom[0].secretRef"},
		},
		"Job": {
			reason: "Jobs count like every workload.",
			text:   `{apiVersion: batch/v1, kind: Job, metadata: {name: c, namespace: ns}, spec: {template: {spec: {containers: [{envFrom: [{secretRef: {name: s}}]}]}}}}`,
			want:   []string{"Secret/ns/s start @spec.template.spec.containers[0].envFrom[0].secretRef"},
		},
		"StatefulSet": {
			reason: "The governing Service and the classes of claims.",
			text:   `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: c, namespace: ns}, spec: {serviceName: head, template: {spec: {}}, volumeClaimTemplates: [{spec: {storageClassName: ssd}}]}}`,
			want: []string{
				"Service/ns/head optional @spec.serviceName",
				"storage.k8s.io/StorageClass/ssd @spec.volumeClaimTemplates[0].spec.storageClassName",
			},
		},
		"Malformed": {
			reason: "Fields of the wrong type mention nothing and break nothing.",
			text:   `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {serviceAccountName: 3, imagePullSecrets: x, volumes: [y, {secret: z}], containers: {a: b}}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { checkReferences(t, tt.reason, tt.text, tt.want) })
	}
}

func checkReferences(t *testing.T, reason, text string, want []string) {
	t.Helper()
	var got []string
	for _, r := range References(object(t, text)) {
		got = append(got, referenceLine(r))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func TestReferencesOfKinds(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"Ingress": {
			`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: ns}, spec: {ingressClassName: nginx, defaultBackend: {service: {name: d}}, rules: [{http: {paths: [{backend: {service: {name: a, port: {number: 80}}}}, {backend: {resource: {apiGroup: x.y, kind: Bucket, name: b}}}]}}], tls: [{secretName: t}, {hosts: [h]}]}}`,
			[]string{
				"networking.k8s.io/IngressClass/nginx optional @spec.ingressClassName",
				"Service/ns/d @spec.defaultBackend.service",
				"Service/ns/a @spec.rules[0].http.paths[0].backend.service",
				"x.y/Bucket/ns/b @spec.rules[0].http.paths[1].backend.resource",
				"Secret/ns/t optional @spec.tls[0].secretName",
			},
		},
		"IngressV1beta1": {
			`{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: i, namespace: ns}, spec: {backend: {serviceName: d}, rules: [{http: {paths: [{backend: {serviceName: a}}]}}]}}`,
			[]string{"Service/ns/d @spec.backend.serviceName", "Service/ns/a @spec.rules[0].http.paths[0].backend.serviceName"},
		},
		"HTTPRoute": {
			`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: ns}, spec: {parentRefs: [{name: g, namespace: infra}], rules: [{backendRefs: [{name: s, port: 80}]}]}}`,
			[]string{"gateway.networking.k8s.io/Gateway/infra/g @spec.parentRefs[0]", "Service/ns/s @spec.rules[0].backendRefs[0]"},
		},
		"Gateway": {
			`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: ns}, spec: {gatewayClassName: c, listeners: [{tls: {certificateRefs: [{name: t}]}}]}}`,
			[]string{"gateway.networking.k8s.io/GatewayClass/c @spec.gatewayClassName", "Secret/ns/t optional @spec.listeners[0].tls.certificateRefs[0]"},
		},
		"HPA": {
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: s}}}`,
			[]string{"apps/StatefulSet/ns/s @spec.scaleTargetRef"},
		},
		"VPA": {
			`{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: h, namespace: ns}, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}`,
			[]string{"apps/Deployment/ns/d @spec.targetRef"},
		},
		"ScaledObject": {
			`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: h, namespace: ns}, spec: {scaleTargetRef: {name: d}, triggers: [{authenticationRef: {name: a}}, {type: cpu}]}}`,
			[]string{"apps/Deployment/ns/d @spec.scaleTargetRef", "keda.sh/TriggerAuthentication/ns/a @spec.triggers[0].authenticationRef"},
		},
		"RoleBinding": {
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: ns}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}, subjects: [{kind: ServiceAccount, name: a}, {kind: ServiceAccount, name: o, namespace: other}, {kind: User, name: u}, {kind: ServiceAccount, name: default}]}`,
			[]string{"rbac.authorization.k8s.io/ClusterRole/reader @roleRef", "ServiceAccount/ns/a @subjects[0]", "ServiceAccount/other/o @subjects[1]"},
		},
		"BuiltInClusterRole": {
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: cluster-admin}}`, nil,
		},
		"Role": {
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: ns}, roleRef: {kind: Role, name: r}}`,
			[]string{"rbac.authorization.k8s.io/Role/ns/r @roleRef"},
		},
		"Webhook": {
			`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{clientConfig: {service: {name: s, namespace: ns}}}, {clientConfig: {url: x}}]}`,
			[]string{"Service/ns/s @webhooks[0].clientConfig.service"},
		},
		"ConversionWebhook": {
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: w}, spec: {conversion: {webhook: {clientConfig: {service: {name: s, namespace: ns}}}}}}`,
			[]string{"Service/ns/s @spec.conversion.webhook.clientConfig.service"},
		},
		"APIService": {
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: w}, spec: {service: {name: s, namespace: ns}}}`,
			[]string{"Service/ns/s @spec.service"},
		},
		"PersistentVolumeClaim": {
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: ns}, spec: {storageClassName: fast, volumeName: v}}`,
			[]string{"storage.k8s.io/StorageClass/fast @spec.storageClassName", "PersistentVolume/v @spec.volumeName"},
		},
		"DisabledStorageClass": {
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: ns}, spec: {storageClassName: ""}}`, nil,
		},
		"ServiceAccount": {
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: ns}, imagePullSecrets: [{name: p}]}`,
			[]string{"Secret/ns/p optional @imagePullSecrets[0]"},
		},
		"ExternalSecret": {
			`{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {secretStoreRef: {kind: ClusterSecretStore, name: vault}, data: [{secretKey: a}, {secretKey: b, sourceRef: {storeRef: {name: own}}}], dataFrom: [{sourceRef: {generatorRef: {apiVersion: generators.external-secrets.io/v1alpha1, kind: Password, name: g}}}]}}`,
			[]string{
				"external-secrets.io/ClusterSecretStore/vault @spec.secretStoreRef",
				"external-secrets.io/SecretStore/ns/own @spec.data[1].sourceRef.storeRef",
				"generators.external-secrets.io/Password/ns/g @spec.dataFrom[0].sourceRef.generatorRef",
			},
		},
		"ExternalSecretV1beta1": {
			`{apiVersion: external-secrets.io/v1beta1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {secretStoreRef: {name: vault}}}`,
			[]string{"external-secrets.io/SecretStore/ns/vault @spec.secretStoreRef"},
		},
		"PushSecret": {
			`{apiVersion: external-secrets.io/v1alpha1, kind: PushSecret, metadata: {name: e, namespace: ns}, spec: {secretStoreRefs: [{name: vault, kind: SecretStore}], selector: {secret: {name: s}}}}`,
			[]string{"external-secrets.io/SecretStore/ns/vault @spec.secretStoreRefs[0]", "Secret/ns/s @spec.selector.secret"},
		},
		"SecretStore": {
			`{apiVersion: external-secrets.io/v1, kind: SecretStore, metadata: {name: s, namespace: ns}, spec: {provider: {vault: {server: x, caProvider: {type: ConfigMap, name: ca, key: ca.crt}, auth: {tokenSecretRef: {name: token, key: t}, kubernetes: {serviceAccountRef: {name: sa}}}}}}}`,
			[]string{
				"ServiceAccount/ns/sa @spec.provider.vault.auth.kubernetes.serviceAccountRef",
				"Secret/ns/token keys=t @spec.provider.vault.auth.tokenSecretRef",
				"ConfigMap/ns/ca keys=ca.crt @spec.provider.vault.caProvider",
			},
		},
		"Certificate": {
			`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: ns}, spec: {secretName: t, issuerRef: {kind: ClusterIssuer, name: le}, keystores: {jks: {create: true, passwordSecretRef: {name: pw, key: p}}}}}`,
			[]string{"cert-manager.io/ClusterIssuer/le @spec.issuerRef", "Secret/ns/pw keys=p @spec.keystores.jks.passwordSecretRef"},
		},
		"ForeignIssuer": {
			`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: ns}, spec: {issuerRef: {group: awspca.cert-manager.io, kind: AWSPCAIssuer, name: i}}}`,
			[]string{"awspca.cert-manager.io/AWSPCAIssuer/ns/i @spec.issuerRef"},
		},
		"Issuer": {
			`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: i, namespace: ns}, spec: {ca: {secretName: root}, acme: {privateKeySecretRef: {name: made-by-the-issuer}}, vault: {auth: {tokenSecretRef: {name: t, key: k}}}}}`,
			[]string{"Secret/ns/root @spec.ca.secretName", "Secret/ns/t keys=k @spec.vault.auth.tokenSecretRef"},
		},
		"CNPG": {
			`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: pg, namespace: ns}, spec: {superuserSecret: {name: su}, storage: {storageClass: ssd}, bootstrap: {initdb: {secret: {name: app}}}, externalClusters: [{password: {name: old, key: password}}]}}`,
			[]string{
				"Secret/ns/su @spec.superuserSecret", "Secret/ns/app @spec.bootstrap.initdb.secret",
				"Secret/ns/old keys=password @spec.externalClusters[0].password", "storage.k8s.io/StorageClass/ssd @spec.storage.storageClass",
			},
		},
		"CNPGDatabase": {
			`{apiVersion: postgresql.cnpg.io/v1, kind: Database, metadata: {name: d, namespace: ns}, spec: {cluster: {name: pg}}}`,
			[]string{"postgresql.cnpg.io/Cluster/ns/pg @spec.cluster"},
		},
		"KafkaTopic": {
			`{apiVersion: kafka.strimzi.io/v1, kind: KafkaTopic, metadata: {name: t, namespace: ns, labels: {strimzi.io/cluster: k}}}`,
			[]string{"kafka.strimzi.io/Kafka/ns/k @metadata.labels[strimzi.io/cluster]"},
		},
		"Application": {
			`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, namespace: ns}, spec: {project: team}}`,
			[]string{"argoproj.io/AppProject/ns/team @spec.project"},
		},
		"UnknownKind": {`{apiVersion: x.y/v1, kind: Z, metadata: {name: z}, spec: {secretRef: {name: s}}}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { checkReferences(t, name, tt.text, tt.want) })
	}
}

func TestPodSpec(t *testing.T) {
	for text, want := range map[string]string{
		`{apiVersion: v1, kind: Pod, spec: {}}`:                                                               "spec",
		`{apiVersion: v1, kind: ReplicationController, spec: {template: {spec: {}}}}`:                         "spec.template.spec",
		`{apiVersion: apps/v1, kind: DaemonSet, spec: {template: {spec: {}}}}`:                                "spec.template.spec",
		`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {template: {spec: {}}}}`:                     "spec.template.spec",
		`{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {}}}}}}`:          "spec.jobTemplate.spec.template.spec",
		`{apiVersion: keda.sh/v1alpha1, kind: ScaledJob, spec: {jobTargetRef: {template: {spec: {}}}}}`:       "spec.jobTargetRef.template.spec",
		`{apiVersion: x.y/v1, kind: Deployment, spec: {template: {spec: {}}}}`:                                "",
		`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {workloadRef: {name: d, kind: Deployment}}}`: "",
	} {
		_, path, ok := PodSpec(object(t, text))
		if ok != (want != "") || ok && path != want {
			t.Errorf("PodSpec(%s) = %q, %v, want %q", text, path, ok, want)
		}
	}
}

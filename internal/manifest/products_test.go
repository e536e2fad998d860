// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProducts(t *testing.T) {
	tests := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"ExternalSecret": {
			reason: "The Secret has the target's name and the keys listed.",
			text:   `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {target: {name: s}, data: [{secretKey: b}, {secretKey: a}]}}`,
			want:   []string{"Secret/ns/s a,b"},
		},
		"ExternalSecretUnnamed": {
			reason: "Without a target the Secret has the ExternalSecret's name.",
			text:   `{apiVersion: external-secrets.io/v1beta1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {data: [{secretKey: a}]}}`,
			want:   []string{"Secret/ns/e a"},
		},
		"ExternalSecretDataFrom": {
			reason: "dataFrom fetches keys nobody can know.",
			text:   `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {data: [{secretKey: a}], dataFrom: [{extract: {key: x}}]}}`,
			want:   []string{"Secret/ns/e a …"},
		},
		"ExternalSecretMerge": {
			reason: "Merge and None make no Secret of their own.",
			text:   `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {target: {name: s, creationPolicy: Merge}, data: [{secretKey: a}]}}`,
		},
		"ExternalSecretTemplate": {
			reason: "A template replaces what was fetched.",
			text:   `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {target: {template: {data: {url: x}}}, data: [{secretKey: a}], dataFrom: [{extract: {key: x}}]}}`,
			want:   []string{"Secret/ns/e url"},
		},
		"ExternalSecretTemplateMerge": {
			reason: "A merged template adds to what was fetched.",
			text:   `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {target: {template: {mergePolicy: Merge, data: {url: x}}}, data: [{secretKey: a}]}}`,
			want:   []string{"Secret/ns/e a,url"},
		},
		"ExternalSecretTemplateFrom": {
			reason: "Templates kept elsewhere hide the keys.",
			text:   `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {target: {template: {templateFrom: [{configMap: {name: c}}]}}, data: [{secretKey: a}]}}`,
			want:   []string{"Secret/ns/e  …"},
		},
		"ExternalSecretTemplateMetadataOnly": {
			reason: "A template of labels only changes no keys.",
			text:   `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: e, namespace: ns}, spec: {target: {template: {metadata: {labels: {a: b}}}}, data: [{secretKey: a}]}}`,
			want:   []string{"Secret/ns/e a"},
		},
		"PushSecret": {
			reason: "A PushSecret reads a Secret.",
			text:   `{apiVersion: external-secrets.io/v1alpha1, kind: PushSecret, metadata: {name: e, namespace: ns}, spec: {}}`,
		},
		"SealedSecret": {
			reason: "The template may rename the Secret.",
			text:   `{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, metadata: {name: e, namespace: ns}, spec: {encryptedData: {a: x}, template: {metadata: {name: s}, data: {b: y}}}}`,
			want:   []string{"Secret/ns/s a,b"},
		},
		"Certificate": {
			reason: "Key stores and formats add entries.",
			text:   `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: ns}, spec: {secretName: t, keystores: {pkcs12: {create: true}, jks: {create: false}}, additionalOutputFormats: [{type: CombinedPEM}]}}`,
			want:   []string{"Secret/ns/t ca.crt,keystore.p12,tls-combined.pem,tls.crt,tls.key,truststore.p12"},
		},
		"CNPG": {
			reason: "Superuser access is off unless it is switched on.",
			text:   `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: pg, namespace: ns}, spec: {}}`,
			want: []string{
				"Secret/ns/pg-app dbname,fqdn-jdbc-uri,fqdn-uri,host,jdbc-uri,password,pgpass,port,uri,user,username",
				"Secret/ns/pg-ca ca.crt,ca.key", "Secret/ns/pg-server tls.crt,tls.key", "Secret/ns/pg-replication tls.crt,tls.key",
				"Service/ns/pg-rw ", "Service/ns/pg-ro ", "Service/ns/pg-r ",
			},
		},
		"CNPGOwnSecrets": {
			reason: "Secrets that the owner brings are not produced.",
			text:   `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: pg, namespace: ns}, spec: {enableSuperuserAccess: true, bootstrap: {initdb: {secret: {name: own}}}, certificates: {serverCASecret: a, serverTLSSecret: b, replicationTLSSecret: c}}}`,
			want: []string{
				"Secret/ns/pg-superuser dbname,fqdn-jdbc-uri,fqdn-uri,host,jdbc-uri,password,pgpass,port,uri,user,username",
				"Service/ns/pg-rw ", "Service/ns/pg-ro ", "Service/ns/pg-r ",
			},
		},
		"KafkaUser": {
			reason: "The Secret depends on the kind of authentication.",
			text:   `{apiVersion: kafka.strimzi.io/v1beta2, kind: KafkaUser, metadata: {name: u, namespace: ns}, spec: {authentication: {type: scram-sha-512}}}`,
			want:   []string{"Secret/ns/u password,sasl.jaas.config"},
		},
		"StatefulSet": {
			reason: "Every replica has a claim per template.",
			text:   `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: ns}, spec: {replicas: 2, ordinals: {start: 1}, volumeClaimTemplates: [{metadata: {name: data}}]}}`,
			want:   []string{"PersistentVolumeClaim/ns/data-db-1 ", "PersistentVolumeClaim/ns/data-db-2 "},
		},
		"Deployment": {reason: "A Deployment's Pods have no names to refer to.", text: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range Products(object(t, tt.text)) {
				line := p.Object.String() + " " + strings.Join(p.Keys, ",")
				if !p.KeysKnown {
					line += " …"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestProductsAreBounded(t *testing.T) {
	u := object(t, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 2000000000, volumeClaimTemplates: [{metadata: {name: a}}, {metadata: {name: b}}]}}`)
	if got := len(Products(u)); got != maxClaims {
		t.Errorf("a hostile number of replicas lists %d claims, want %d", got, maxClaims)
	}
}

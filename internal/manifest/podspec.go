// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/field"
)

// API groups whose kinds this room knows by name.
const (
	groupApps            = "apps"
	groupAutoscaling     = "autoscaling"
	groupBatch           = "batch"
	groupCertManager     = "cert-manager.io"
	groupCNPG            = "postgresql.cnpg.io"
	groupExtensions      = "apiextensions.k8s.io"
	groupExternalSecrets = "external-secrets.io"
	groupGateway         = "gateway.networking.k8s.io"
	groupNetworking      = "networking.k8s.io"
	groupRBAC            = "rbac.authorization.k8s.io"
	groupScheduling      = "scheduling.k8s.io"
	groupStorage         = "storage.k8s.io"
	groupStrimzi         = "kafka.strimzi.io"
)

// PodSpec returns the Pod spec of a Pod or of the Pod template in a workload of
// any kind, and its path in the object. The spec must not be changed.
func PodSpec(u *unstructured.Unstructured) (spec map[string]any, path string, ok bool) {
	path = podSpecPath(u.GroupVersionKind().GroupKind())
	if path == "" {
		return nil, "", false
	}
	spec, ok = field.At(u.Object, path).(map[string]any)
	return spec, path, ok
}

func podSpecPath(gk schema.GroupKind) string {
	switch gk.Group {
	case "":
		switch gk.Kind {
		case "Pod":
			return "spec"
		case "PodTemplate":
			return "template.spec"
		case "ReplicationController":
			return "spec.template.spec"
		}
	case groupApps, "extensions", "apps.kruise.io":
		switch gk.Kind {
		case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CloneSet":
			return "spec.template.spec"
		}
	case groupBatch:
		switch gk.Kind {
		case "Job":
			return "spec.template.spec"
		case "CronJob":
			return "spec.jobTemplate.spec.template.spec"
		}
	case "argoproj.io":
		if gk.Kind == "Rollout" {
			return "spec.template.spec"
		}
	case "serving.knative.dev":
		switch gk.Kind {
		case "Service", "Configuration":
			return "spec.template.spec"
		}
	case "keda.sh":
		if gk.Kind == "ScaledJob" {
			return "spec.jobTargetRef.template.spec"
		}
	}
	return ""
}

// DefinesKind returns the group and kind that a CustomResourceDefinition
// defines; ok is false for every other object.
func DefinesKind(u *unstructured.Unstructured) (defined schema.GroupKind, ok bool) {
	gk := u.GroupVersionKind().GroupKind()
	if gk.Group != groupExtensions || gk.Kind != "CustomResourceDefinition" {
		return schema.GroupKind{}, false
	}
	defined = schema.GroupKind{Group: field.Text(u.Object, "spec.group"), Kind: field.Text(u.Object, "spec.names.kind")}
	return defined, defined.Kind != ""
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/base64"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// needed reports whether the object of a step cannot become healthy before the
// target of a reference is there.
func needed(s *stage, ref manifest.Reference) bool {
	if ref.AtStart {
		return startsPods(s.Object.Unstructured)
	}
	switch s.Key.Group {
	case "external-secrets.io", "cert-manager.io", "postgresql.cnpg.io", "kafka.strimzi.io":
		return true
	case "autoscaling", "keda.sh":
		return s.Key.Kind == "HorizontalPodAutoscaler" || s.Key.Kind == "ScaledObject"
	case "apiregistration.k8s.io":
		return true
	case "gateway.networking.k8s.io":
		return s.Key.Kind == "Gateway" && ref.Target.Kind == "GatewayClass"
	case "apps":
		return ref.Target.Kind == "StorageClass"
	case "":
		return s.Key.Kind == "PersistentVolumeClaim"
	}
	return false
}

// startsPods reports whether a rollout has Pods of the object start: a CronJob,
// a suspended Job and a workload scaled to nothing have not.
func startsPods(u *unstructured.Unstructured) bool {
	switch u.GetKind() {
	case "CronJob", "PodTemplate", "ScaledJob":
		return false
	case "Job":
		suspended, _ := field.At(u.Object, "spec.suspend").(bool)
		return !suspended
	}
	replicas, set := number(field.At(u.Object, "spec.replicas"))
	return !set || replicas > 0
}

// number reads a number of decoded JSON or YAML.
func number(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	}
	return 0, false
}

// decoded returns base64 text decoded, or as it is if it is none.
func decoded(text string) string {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	return string(data)
}

// maxNamed is how many names a message lists.
const maxNamed = 5

// some lists the first names and counts the rest.
func some(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxNamed:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	default:
		return strings.Join(names, ", ")
	}
}

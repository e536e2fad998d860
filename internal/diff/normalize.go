// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/base64"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// serverSet are fields of metadata that the API server writes.
func serverSet() []string {
	return []string{
		"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds",
	}
}

// Normalize returns a copy of a desired object in the form in which it is
// applied and compared: without status and what the API server writes, and with
// a Secret's stringData folded into data, because the server keeps nothing else.
func Normalize(desired *unstructured.Unstructured) *unstructured.Unstructured {
	u := desired.DeepCopy()
	delete(u.Object, "status")
	if meta, ok := u.Object["metadata"].(map[string]any); ok {
		for _, f := range serverSet() {
			delete(meta, f)
		}
	}
	if isSecret(u) {
		foldStringData(u.Object)
	}
	if builtin(u) {
		fillProtocols(u.Object)
	}
	return u
}

// builtin tells whether an object is of a kind that comes with Kubernetes.
func builtin(u *unstructured.Unstructured) bool {
	group := u.GroupVersionKind().Group
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// fillProtocols takes empty protocols out of ports, where they are a part of the
// key: the server fills in TCP, and would take the port of the next apply for
// another one.
func fillProtocols(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if ports, ok := field.([]any); ok && name == "ports" {
				for _, item := range ports {
					if port, ok := item.(map[string]any); ok && (port["protocol"] == "" || port["protocol"] == nil) {
						delete(port, "protocol")
					}
				}
			}
			fillProtocols(field)
		}
	case []any:
		for _, item := range v {
			fillProtocols(item)
		}
	}
}

func isSecret(u *unstructured.Unstructured) bool {
	return u != nil && u.GetKind() == "Secret" && u.GetAPIVersion() == "v1"
}

func foldStringData(secret map[string]any) {
	text, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	delete(secret, "stringData")
	if len(text) == 0 {
		return
	}
	data, ok := secret["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		secret["data"] = data
	}
	for k, v := range text {
		if s, ok := v.(string); ok {
			data[k] = base64.StdEncoding.EncodeToString([]byte(s))
		} else {
			data[k] = v
		}
	}
}

// bare returns a copy of a live or predicted object without what never
// counts as a difference.
func bare(u *unstructured.Unstructured) *unstructured.Unstructured {
	c := Normalize(u)
	unstructured.RemoveNestedField(c.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	return c
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestHolder(t *testing.T) {
	settings := manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "settings"}
	const uses = "containers: [{name: a, image: i, envFrom: [{configMapRef: {name: settings}}]}]"
	const template = "template: {spec: {" + uses + "}}"
	tests := map[string]struct {
		reason, user string
		held         bool
	}{
		"Pod":          {"a Pod that runs", "{apiVersion: v1, kind: Pod, metadata: {name: u, namespace: ns}, spec: {" + uses + "}, status: {phase: Running}}", true},
		"NewPod":       {"a Pod without a status", "{apiVersion: v1, kind: Pod, metadata: {name: u, namespace: ns}, spec: {" + uses + "}}", true},
		"EndedPod":     {"a Pod that has ended needs nothing", "{apiVersion: v1, kind: Pod, metadata: {name: u, namespace: ns}, spec: {" + uses + "}, status: {phase: Succeeded}}", false},
		"OtherPod":     {"a Pod that does not use it", "{apiVersion: v1, kind: Pod, metadata: {name: u, namespace: ns}, spec: {containers: [{name: a}]}, status: {phase: Running}}", false},
		"Elsewhere":    {"a Pod of another namespace uses another object", "{apiVersion: v1, kind: Pod, metadata: {name: u, namespace: other}, spec: {" + uses + "}}", false},
		"ReplicaSet":   {"a ReplicaSet that wants Pods", "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: u, namespace: ns}, spec: {replicas: 1, " + template + "}}", true},
		"OldReplicas":  {"one of an earlier revision wants none", "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: u, namespace: ns}, spec: {replicas: 0, " + template + "}}", false},
		"Job":          {"a Job that has not ended", "{apiVersion: batch/v1, kind: Job, metadata: {name: u, namespace: ns}, spec: {" + template + "}}", true},
		"FinishedJob":  {"a finished Job holds nothing", "{apiVersion: batch/v1, kind: Job, metadata: {name: u, namespace: ns}, spec: {" + template + "}, status: {conditions: [{type: Complete, status: 'True'}]}}", false},
		"SuspendedJob": {"a suspended one may go on", "{apiVersion: batch/v1, kind: Job, metadata: {name: u, namespace: ns}, spec: {" + template + "}, status: {conditions: [{type: Suspended, status: 'True'}]}}", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			data, err := yaml.YAMLToJSON([]byte(tt.user))
			if err != nil {
				t.Fatal(err)
			}
			if err := u.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			holder := Holder(settings, []*unstructured.Unstructured{u})
			if held := holder != (manifest.Key{}); held != tt.held {
				t.Errorf("%s: holder %v, want held=%v", tt.reason, holder, tt.held)
			}
		})
	}
}

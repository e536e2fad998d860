// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// TestContains: in what is owned as a whole more than Git sets is a default or was dropped from Git.
func TestContains(t *testing.T) {
	parse := func(text string) map[string]any {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for name, row := range map[string]struct {
		want, live string
		custom     bool
		contains   bool
	}{
		"equal":              {want: "tolerations: [{key: a}]", live: "tolerations: [{key: a}]", contains: true},
		"dropped":            {want: "tolerations: [{key: a}]", live: "tolerations: [{key: a, effect: NoSchedule}]"},
		"resource names":     {want: "rules: [{verbs: [get], resources: [secrets]}]", live: "rules: [{verbs: [get], resources: [secrets], resourceNames: [one]}]"},
		"an item":            {want: "rules: [{verbs: [get]}]", live: "rules: [{verbs: [get]}, {verbs: [list]}]"},
		"a protocol":         {want: "ports: [{port: 80}]", live: "ports: [{port: 80, protocol: TCP}]", contains: true},
		"another protocol":   {want: "ports: [{port: 80}]", live: "ports: [{port: 80, protocol: UDP}]"},
		"of a custom kind":   {want: "ports: [{port: 80}]", live: "ports: [{port: 80, protocol: TCP}]", custom: true},
		"a version":          {want: "fieldRef: {fieldPath: a}", live: "fieldRef: {fieldPath: a, apiVersion: v1}", contains: true},
		"a group of roles":   {want: "subjects: [{kind: User, name: a}]", live: "subjects: [{kind: User, name: a, apiGroup: rbac.authorization.k8s.io}]", contains: true},
		"a claim":            {want: "volumeClaimTemplates: [{metadata: {name: a}, spec: {accessModes: [x]}}]", live: "volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, creationTimestamp: null}, spec: {accessModes: [x], volumeMode: Filesystem}, status: {phase: Pending}}]", contains: true},
		"a claim of a class": {want: "volumeClaimTemplates: [{metadata: {name: a}, spec: {accessModes: [x]}}]", live: "volumeClaimTemplates: [{metadata: {name: a}, spec: {accessModes: [x], storageClassName: fast}}]"},
		"a mode elsewhere":   {want: "items: [{spec: {a: b}}]", live: "items: [{spec: {a: b, volumeMode: Filesystem}}]"},
	} {
		if got := contains(path{}.field("spec"), parse(row.want), parse(row.live), filler{builtin: !row.custom}); got != row.contains {
			t.Errorf("%s: %v, want %v", name, got, row.contains)
		}
	}
}

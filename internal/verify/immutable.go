// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// immutableChanges finds changes that the API server refuses.
func immutableChanges(w *world) {
	for _, s := range w.stages {
		if s.hook() && recreated(s) || replaced(s.Object.Unstructured) {
			continue
		}
		before, _ := w.before(s.Key)
		if before == nil {
			continue
		}
		for _, path := range changedImmutables(before, s.Object.Unstructured) {
			f := problem("immutable-change", diag.Error, path,
				fmt.Sprintf("%s changes %s, which cannot be changed on an existing %s", s.Key.Short(), path, s.Key.Kind),
				immutableHint(s))
			w.add(s, f)
		}
	}
}

// recreated reports whether a hook is deleted before it is made.
func recreated(s *stage) bool {
	return len(s.Policies) == 0 || slices.Contains(s.Policies, manifest.BeforeHookCreation) || s.Object.GetName() == ""
}

func replaced(u *unstructured.Unstructured) bool {
	options := manifest.SyncOptions(u)
	return options.Has("Replace=true") && options.Has("Force=true")
}

func immutableHint(s *stage) string {
	if s.Key.Kind == "Job" {
		return "make the Job a hook, which is deleted and made again, or give it the sync options Replace=true,Force=true, or a name that changes with its content"
	}
	return "give the object another name, or let it be deleted and made again with the sync options Replace=true,Force=true"
}

// immutables returns the fields of a kind that only a new object can have
// otherwise, by the API server's validation.
func immutables(k manifest.Key) []string {
	switch k.Group + "/" + k.Kind {
	case "batch/Job":
		return []string{"spec.selector", "spec.template", "spec.completionMode", "spec.podFailurePolicy", "spec.backoffLimitPerIndex", "spec.managedBy"}
	case "apps/Deployment", "apps/DaemonSet", "apps/ReplicaSet":
		return []string{"spec.selector"}
	case "apps/StatefulSet":
		return []string{"spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates"}
	case "/Service":
		return []string{"spec.clusterIP"}
	case "/PersistentVolumeClaim":
		return []string{"spec.accessModes", "spec.storageClassName", "spec.volumeName", "spec.volumeMode", "spec.selector", "spec.dataSource"}
	case "/PersistentVolume":
		return []string{"spec.volumeMode", "spec.nodeAffinity"}
	case "/Secret":
		return []string{"type"}
	case "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding":
		return []string{"roleRef"}
	case "storage.k8s.io/StorageClass":
		return []string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"}
	case "scheduling.k8s.io/PriorityClass":
		return []string{"value", "preemptionPolicy"}
	case "networking.k8s.io/IngressClass":
		return []string{"spec.controller"}
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return []string{"spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"}
	}
	return nil
}

// changedImmutables returns the immutable fields in which desired differs from
// what was there. A field that desired leaves open keeps its value.
func changedImmutables(before, desired *unstructured.Unstructured) []string {
	k := manifest.KeyOf(desired)
	var changed []string
	for _, path := range immutables(k) {
		want := field.At(desired.Object, path)
		if want == nil || covers(field.At(before.Object, path), want) {
			continue
		}
		changed = append(changed, path)
	}
	if frozen, _ := before.Object["immutable"].(bool); frozen && (k.Kind == "ConfigMap" || k.Kind == "Secret") {
		if keys := changedEntries(before, desired, nil); len(keys) > 0 {
			changed = append(changed, "data")
		}
	}
	if k.Group == "" && k.Kind == "PersistentVolumeClaim" && shrinks(before, desired) {
		changed = append(changed, "spec.resources.requests.storage")
	}
	return changed
}

// covers reports whether a live value has all that a desired one asks for: the
// API server adds defaults to what was written.
func covers(live, want any) bool {
	switch want := want.(type) {
	case nil:
		return true
	case map[string]any:
		have, ok := live.(map[string]any)
		if !ok {
			return len(want) == 0
		}
		for key, value := range want {
			if !covers(have[key], value) && !emptyValue(value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := live.([]any)
		if !ok || len(have) != len(want) {
			return len(want) == 0 && !ok
		}
		for i := range want {
			if !covers(have[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(live, want) || sameQuantity(live, want)
	}
}

func emptyValue(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return v == nil
}

// sameQuantity compares numbers and texts as the API server reads quantities.
func sameQuantity(a, b any) bool {
	one, errOne := resource.ParseQuantity(strings.TrimSpace(fmt.Sprint(a)))
	other, errOther := resource.ParseQuantity(strings.TrimSpace(fmt.Sprint(b)))
	return errOne == nil && errOther == nil && one.Cmp(other) == 0
}

func shrinks(before, desired *unstructured.Unstructured) bool {
	const path = "spec.resources.requests.storage"
	was, errWas := resource.ParseQuantity(field.Text(before.Object, path))
	wants, errWants := resource.ParseQuantity(field.Text(desired.Object, path))
	return errWas == nil && errWants == nil && wants.Cmp(was) < 0
}

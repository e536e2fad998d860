// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// builtIn returns the types of the kinds that every cluster serves.
func builtIn() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
		coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme,
		policyv1.AddToScheme, rbacv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			// Each adds types of a group of its own.
			panic(err)
		}
	}
	return scheme
}

// schemas finds fields that a built-in kind does not have, and values of the wrong
// type.
func schemas(w *world) {
	scheme := builtIn()
	shapes := shapes{}
	all := w.every()
	objects := make([]*unstructured.Unstructured, len(all))
	for i, s := range all {
		objects[i] = s.Object.Unstructured
	}
	custom := plan.NewSchemas(w.definitions(), objects)
	for _, s := range all {
		typed, known := scheme.AllKnownTypes()[s.Object.GroupVersionKind()]
		if !known {
			w.customFaults(s, custom.Faults(s.Object.Unstructured))
			continue
		}
		for _, fault := range shapes.faults(typed, s.content()) {
			w.schemaFault(s, fault)
		}
	}
}

// definitions are those of the rendered set, and of other applications beside it.
func (w *world) definitions() map[schema.GroupKind]*unstructured.Unstructured {
	all := map[schema.GroupKind]*unstructured.Unstructured{}
	maps.Copy(all, w.in.Definitions)
	for gk, s := range w.defined {
		all[gk] = s.Object.Unstructured
	}
	return all
}

// maxFaults bounds how many faults of one object are told.
const maxFaults = 10

// customFaults tells what the definition of a custom resource does not allow.
func (w *world) customFaults(s *stage, faults []plan.Fault) {
	for _, f := range faults[:min(len(faults), maxFaults)] {
		if f.Unknown {
			w.add(s, problem("unknown-field", diag.Warning, f.Field,
				fmt.Sprintf("%s has the field %s, which the definition of its kind does not know: the API server drops it", s.Key.Short(), f.Field),
				"correct the name or the indentation"))
			continue
		}
		w.add(s, problem("invalid-schema", diag.Error, f.Field,
			fmt.Sprintf("%s: %s", s.Key.Short(), f.Text), "correct it as the CustomResourceDefinition of the kind says"))
	}
}

// every returns all steps that make an object.
func (w *world) every() []*stage {
	return slices.DeleteFunc(slices.Concat(w.stages, w.fails, w.deletion), func(s *stage) bool { return s.Object == nil })
}

func (w *world) schemaFault(s *stage, f shapeFault) {
	if f.wants == "" {
		w.add(s, problem("unknown-field", diag.Warning, f.path,
			fmt.Sprintf("%s has the field %s, which %s does not know: the API server drops it", s.Key.Short(), f.path, s.Object.GetAPIVersion()),
			"correct the name or the indentation"))
		return
	}
	if s.Key.Group == "" && s.Key.Kind == "Secret" {
		// Of what stands in a Secret nothing is told but its type.
		f.has = strings.Join(strings.Fields(f.has)[:min(2, len(strings.Fields(f.has)))], " ")
	}
	w.add(s, problem("invalid-schema", diag.Error, f.path,
		fmt.Sprintf("%s: %s is %s, and must be %s", s.Key.Short(), f.path, f.has, f.wants),
		"correct the value; put text that looks like a number or true into quotes"))
}

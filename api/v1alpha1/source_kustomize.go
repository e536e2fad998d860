// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ApplicationSourceKustomize holds changes made to a kustomization before it is built.
type ApplicationSourceKustomize struct {
	// NamePrefix is put before every name.
	// +optional
	NamePrefix string `json:"namePrefix,omitempty"`
	// NameSuffix is put after every name.
	// +optional
	NameSuffix string `json:"nameSuffix,omitempty"`
	// Images replace images, each as "[OLD=]NEW[:TAG|@DIGEST]".
	// +optional
	Images []string `json:"images,omitempty"`
	// CommonLabels are labels for every object.
	// +optional
	CommonLabels map[string]string `json:"commonLabels,omitempty"`
	// Version chooses among configured binaries; accepted for compatibility.
	// +optional
	Version string `json:"version,omitempty"`
	// CommonAnnotations are annotations for every object.
	// +optional
	CommonAnnotations map[string]string `json:"commonAnnotations,omitempty"`
	// ForceCommonLabels replaces labels that the kustomization itself adds.
	// +optional
	ForceCommonLabels bool `json:"forceCommonLabels,omitempty"`
	// ForceCommonAnnotations replaces annotations that the kustomization itself adds.
	// +optional
	ForceCommonAnnotations bool `json:"forceCommonAnnotations,omitempty"`
	// Namespace is the namespace of every object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// CommonAnnotationsEnvsubst substitutes build variables in the values of commonAnnotations.
	// +optional
	CommonAnnotationsEnvsubst bool `json:"commonAnnotationsEnvsubst,omitempty"`
	// Replicas set replica counts by name.
	// +optional
	Replicas []KustomizeReplica `json:"replicas,omitempty"`
	// Patches are applied to the kustomization.
	// +optional
	Patches []KustomizePatch `json:"patches,omitempty"`
	// Components are added to the kustomization.
	// +optional
	Components []string `json:"components,omitempty"`
	// IgnoreMissingComponents skips components that do not exist.
	// +optional
	IgnoreMissingComponents bool `json:"ignoreMissingComponents,omitempty"`
	// LabelWithoutSelector keeps commonLabels out of selectors.
	// +optional
	LabelWithoutSelector bool `json:"labelWithoutSelector,omitempty"`
	// KubeVersion is the Kubernetes version for charts that the kustomization inflates.
	// +optional
	KubeVersion string `json:"kubeVersion,omitempty"`
	// APIVersions are the API versions for charts that the kustomization inflates.
	// +optional
	APIVersions []string `json:"apiVersions,omitempty"`
	// LabelIncludeTemplates puts commonLabels on pod templates, too.
	// +optional
	LabelIncludeTemplates bool `json:"labelIncludeTemplates,omitempty"`
}

// KustomizeReplica sets the replica count of the workloads with one name.
type KustomizeReplica struct {
	// Name of the workload.
	Name string `json:"name"`
	// Count of replicas, as a number or as text.
	Count intstr.IntOrString `json:"count"`
}

// KustomizePatch is one patch, inline or in a file.
type KustomizePatch struct {
	// Path is the file with the patch.
	// +optional
	Path string `json:"path,omitempty"`
	// Patch is the patch itself.
	// +optional
	Patch string `json:"patch,omitempty"`
	// Target selects the objects to patch.
	// +optional
	Target *KustomizeSelector `json:"target,omitempty"`
	// Options of the patch, like allowNameChange.
	// +optional
	Options map[string]bool `json:"options,omitempty"`
}

// KustomizeSelector selects objects of a kustomization. Empty fields match everything.
type KustomizeSelector struct {
	// Group of the API.
	// +optional
	Group string `json:"group,omitempty"`
	// Version of the API.
	// +optional
	Version string `json:"version,omitempty"`
	// Kind of the object.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Namespace of the object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +optional
	Name string `json:"name,omitempty"`
	// AnnotationSelector is a selector over annotations.
	// +optional
	AnnotationSelector string `json:"annotationSelector,omitempty"`
	// LabelSelector is a selector over labels.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

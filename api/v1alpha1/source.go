// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// ApplicationSource is one origin of manifests: a directory in Git, a chart, or an OCI artifact, and the tool that
// turns it into manifests.
type ApplicationSource struct {
	// RepoURL is the address of the Git repository, Helm repository or OCI artifact.
	RepoURL string `json:"repoURL"`
	// Path is the directory inside a Git repository or OCI artifact.
	// +optional
	Path string `json:"path,omitempty"`
	// TargetRevision is a branch, tag, commit or ref in Git (empty: HEAD), a semantic version constraint over tags, or
	// the version or constraint of a chart.
	// +optional
	TargetRevision string `json:"targetRevision,omitempty"`
	// Helm holds options for Helm charts.
	// +optional
	Helm *ApplicationSourceHelm `json:"helm,omitempty"`
	// Kustomize holds options for kustomizations.
	// +optional
	Kustomize *ApplicationSourceKustomize `json:"kustomize,omitempty"`
	// Directory holds options for plain manifests.
	// +optional
	Directory *ApplicationSourceDirectory `json:"directory,omitempty"`
	// Plugin holds options for a config management plugin.
	// +optional
	Plugin *ApplicationSourcePlugin `json:"plugin,omitempty"`
	// Chart is the name of a chart in a Helm repository; targetRevision is then mandatory.
	// +optional
	Chart string `json:"chart,omitempty"`
	// Ref is an alias: other sources may use "$REF/path" for value files of this one.
	// +optional
	Ref string `json:"ref,omitempty"`
	// Name is a label for people and command lines.
	// +optional
	Name string `json:"name,omitempty"`
	// TagPrefix limits a semantic version constraint to tags with this prefix, which is not part of the version.
	// +optional
	TagPrefix string `json:"tagPrefix,omitempty"`
}

// ApplicationSourceHelm holds options for rendering a Helm chart. Precedence rises from the chart's defaults over
// valueFiles (in order) and values or valuesObject to parameters and fileParameters.
type ApplicationSourceHelm struct {
	// ValueFiles are value files in order; later ones win.
	// +optional
	ValueFiles []string `json:"valueFiles,omitempty"`
	// Parameters set single values, like --set.
	// +optional
	Parameters []HelmParameter `json:"parameters,omitempty"`
	// ReleaseName is the name of the release. Empty means the Application's name.
	// +optional
	ReleaseName string `json:"releaseName,omitempty"`
	// Values is YAML text with values. It is ignored when valuesObject is given.
	// +optional
	Values string `json:"values,omitempty"`
	// FileParameters set single values to the content of files, like --set-file.
	// +optional
	FileParameters []HelmFileParameter `json:"fileParameters,omitempty"`
	// Version is accepted for compatibility and has no effect.
	// +optional
	Version string `json:"version,omitempty"`
	// PassCredentials forwards the repository's credentials to other domains.
	// +optional
	PassCredentials bool `json:"passCredentials,omitempty"`
	// IgnoreMissingValueFiles skips value files that do not exist.
	// +optional
	IgnoreMissingValueFiles bool `json:"ignoreMissingValueFiles,omitempty"`
	// SkipCrds leaves out the chart's crds directory.
	// +optional
	SkipCrds bool `json:"skipCrds,omitempty"`
	// ValuesObject holds values as an object. It wins over values.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	ValuesObject *runtime.RawExtension `json:"valuesObject,omitempty"`
	// Namespace is the namespace to render with. Empty means the destination's.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// KubeVersion is the Kubernetes version to render for. Empty means that of the destination.
	// +optional
	KubeVersion string `json:"kubeVersion,omitempty"`
	// APIVersions are the API versions to render for. Empty means those of the destination.
	// +optional
	APIVersions []string `json:"apiVersions,omitempty"`
	// SkipTests leaves out test hooks.
	// +optional
	SkipTests bool `json:"skipTests,omitempty"`
	// SkipSchemaValidation skips the chart's values schema.
	// +optional
	SkipSchemaValidation bool `json:"skipSchemaValidation,omitempty"`
}

// HelmParameter sets one value.
type HelmParameter struct {
	// Name is the path of the value, like "image.tag".
	// +optional
	Name string `json:"name,omitempty"`
	// Value is its text.
	// +optional
	Value string `json:"value,omitempty"`
	// ForceString keeps the text a string even if it looks like a number or a boolean.
	// +optional
	ForceString bool `json:"forceString,omitempty"`
}

// HelmFileParameter sets one value to the content of a file.
type HelmFileParameter struct {
	// Name is the path of the value.
	// +optional
	Name string `json:"name,omitempty"`
	// Path is the file.
	// +optional
	Path string `json:"path,omitempty"`
}

// ApplicationSourceDirectory holds options for a directory of plain manifests.
type ApplicationSourceDirectory struct {
	// Recurse descends into subdirectories.
	// +optional
	Recurse bool `json:"recurse,omitempty"`
	// Jsonnet holds options for .jsonnet files.
	// +optional
	Jsonnet ApplicationSourceJsonnet `json:"jsonnet,omitzero"`
	// Exclude is a glob over relative paths to leave out; it is looked at before include.
	// +optional
	Exclude string `json:"exclude,omitempty"`
	// Include is a glob over relative paths to read.
	// +optional
	Include string `json:"include,omitempty"`
	// DisableExtensionFilter reads every file as a manifest, whatever its name.
	// +optional
	DisableExtensionFilter bool `json:"disableExtensionFilter,omitempty"`
}

// ApplicationSourceJsonnet holds options for evaluating Jsonnet.
type ApplicationSourceJsonnet struct {
	// ExtVars are external variables.
	// +optional
	ExtVars []JsonnetVar `json:"extVars,omitempty"`
	// TLAs are top-level arguments.
	// +optional
	TLAs []JsonnetVar `json:"tlas,omitempty"`
	// Libs are additional library directories.
	// +optional
	Libs []string `json:"libs,omitempty"`
}

// JsonnetVar is a variable handed to Jsonnet.
type JsonnetVar struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value is its text, or an expression when code is set.
	Value string `json:"value"`
	// Code evaluates the value as an expression.
	// +optional
	Code bool `json:"code,omitempty"`
}

// ApplicationSourcePlugin holds options for a config management plugin. Keys that are not known here are kept, since
// what a plugin understands is its own affair.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ApplicationSourcePlugin struct {
	// Name of the plugin. Empty means the first plugin that recognises the source.
	// +optional
	Name string `json:"name,omitempty"`
	// Env are variables; the plugin sees them with the prefix ARGOCD_ENV_.
	// +optional
	Env []EnvEntry `json:"env,omitempty"`
	// Parameters are typed parameters.
	// +optional
	Parameters []PluginParameter `json:"parameters,omitempty"`
}

// EnvEntry is one environment variable.
type EnvEntry struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value of the variable.
	Value string `json:"value"`
}

// PluginParameter is one parameter of a plugin: a string, a list or a map. An empty list or map differs from an
// absent one.
type PluginParameter struct {
	// Name of the parameter.
	// +optional
	Name string `json:"name,omitempty"`
	// String is the value of a string parameter.
	// +optional
	String *string `json:"string,omitempty"`
	// Map is the value of a map parameter.
	// +optional
	Map map[string]string `json:"map,omitzero"`
	// Array is the value of a list parameter.
	// +optional
	Array []string `json:"array,omitzero"`
}

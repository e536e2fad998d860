// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/field"
)

// Reference is a mention of another object.
type Reference struct {
	Target Key
	// Keys are the entries of the ConfigMap or Secret that are needed; empty when
	// the whole object is.
	Keys []string
	// Optional is true when the object works without the target.
	Optional bool
	// AtStart is true when a Pod cannot start before the target exists: it is
	// refused, or stays Pending or in a waiting state.
	AtStart bool
	// Declared is true for what only the repository's own table knows.
	Declared bool
	// Field is the path of the mention in the object.
	Field string
}

// References returns what an object mentions, in the order of its fields. What
// every cluster has by itself (the ServiceAccount "default", built-in
// ClusterRoles and PriorityClasses) is left out. Targets in the object's own
// namespace have its namespace, empty if it has none yet.
func References(u *unstructured.Unstructured) []Reference {
	r := referrer{namespace: u.GetNamespace()}
	if spec, path, ok := PodSpec(u); ok {
		r.pod(spec, path)
	}
	r.ofKind(u.GroupVersionKind().GroupKind(), u.Object)
	return r.found
}

// referrer collects the references of one object.
type referrer struct {
	namespace string
	found     []Reference
}

// named adds a reference to an object in the referrer's namespace.
func (r *referrer) named(group, kind, name, mention string, set ...func(*Reference)) {
	r.key(Key{Group: group, Kind: kind, Namespace: r.namespace, Name: name}, mention, set...)
}

// global adds a reference to a cluster-scoped object.
func (r *referrer) global(group, kind, name, mention string, set ...func(*Reference)) {
	r.key(Key{Group: group, Kind: kind, Name: name}, mention, set...)
}

func (r *referrer) key(target Key, mention string, set ...func(*Reference)) {
	if target.Name == "" {
		return
	}
	ref := Reference{Target: target, Field: mention}
	for _, fn := range set {
		fn(&ref)
	}
	r.found = append(r.found, ref)
}

func optional(ref *Reference) { ref.Optional = true }
func atStart(ref *Reference)  { ref.AtStart = true }

func optionalIf(v any) func(*Reference) {
	yes, _ := v.(bool)
	return func(ref *Reference) { ref.Optional = yes }
}

func keys(names ...string) func(*Reference) {
	return func(ref *Reference) {
		for _, name := range names {
			if name != "" {
				ref.Keys = append(ref.Keys, name)
			}
		}
	}
}

// pod adds what a Pod spec at path mentions.
func (r *referrer) pod(spec map[string]any, path string) {
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for i, c := range field.List(spec, list) {
			r.container(c, field.Index(field.Join(path, list), i))
		}
	}
	for i, v := range field.List(spec, "volumes") {
		r.volume(v, field.Index(field.Join(path, "volumes"), i))
	}
	for i, s := range field.List(spec, "imagePullSecrets") {
		r.named("", "Secret", field.Text(s, "name"), field.Index(path+".imagePullSecrets", i), atStart)
	}
	account, mention := field.Text(spec, "serviceAccountName"), path+".serviceAccountName"
	if account == "" {
		account, mention = field.Text(spec, "serviceAccount"), path+".serviceAccount"
	}
	if account != "default" {
		r.named("", "ServiceAccount", account, mention, atStart)
	}
	if class := field.Text(spec, "priorityClassName"); !strings.HasPrefix(class, "system-") {
		r.global(groupScheduling, "PriorityClass", class, path+".priorityClassName", atStart)
	}
	r.global("node.k8s.io", "RuntimeClass", field.Text(spec, "runtimeClassName"), path+".runtimeClassName", atStart)
}

func (r *referrer) container(c any, path string) {
	for i, env := range field.List(c, "env") {
		from := field.Index(path+".env", i) + ".valueFrom"
		if ref := field.Map(env, "valueFrom.secretKeyRef"); ref != nil {
			r.source("Secret", field.Text(ref, "name"), from+".secretKeyRef", ref, keys(field.Text(ref, "key")))
		}
		if ref := field.Map(env, "valueFrom.configMapKeyRef"); ref != nil {
			r.source("ConfigMap", field.Text(ref, "name"), from+".configMapKeyRef", ref, keys(field.Text(ref, "key")))
		}
	}
	for i, from := range field.List(c, "envFrom") {
		mention := field.Index(path+".envFrom", i)
		if ref := field.Map(from, "secretRef"); ref != nil {
			r.source("Secret", field.Text(ref, "name"), mention+".secretRef", ref)
		}
		if ref := field.Map(from, "configMapRef"); ref != nil {
			r.source("ConfigMap", field.Text(ref, "name"), mention+".configMapRef", ref)
		}
	}
}

// source adds a ConfigMap or Secret that a container is configured from.
func (r *referrer) source(kind, name, mention string, ref map[string]any, set ...func(*Reference)) {
	r.named("", kind, name, mention, append(set, atStart, optionalIf(ref["optional"]))...)
}

func (r *referrer) volume(v any, path string) {
	volume, _ := v.(map[string]any)
	if s := field.Map(volume, "secret"); s != nil {
		r.source("Secret", field.Text(s, "secretName"), path+".secret.secretName", s, keys(itemKeys(s)...))
	}
	if c := field.Map(volume, "configMap"); c != nil {
		r.source("ConfigMap", field.Text(c, "name"), path+".configMap.name", c, keys(itemKeys(c)...))
	}
	for i, source := range field.List(volume, "projected.sources") {
		mention := field.Index(path+".projected.sources", i)
		if s := field.Map(source, "secret"); s != nil {
			r.source("Secret", field.Text(s, "name"), mention+".secret.name", s, keys(itemKeys(s)...))
		}
		if c := field.Map(source, "configMap"); c != nil {
			r.source("ConfigMap", field.Text(c, "name"), mention+".configMap.name", c, keys(itemKeys(c)...))
		}
	}
	r.named("", "PersistentVolumeClaim", field.Text(volume, "persistentVolumeClaim.claimName"), path+".persistentVolumeClaim.claimName", atStart)
	r.global(groupStorage, "StorageClass", field.Text(volume, "ephemeral.volumeClaimTemplate.spec.storageClassName"),
		path+".ephemeral.volumeClaimTemplate.spec.storageClassName", atStart)
	if csi := field.Map(volume, "csi"); csi != nil {
		r.named("", "Secret", field.Text(csi, "nodePublishSecretRef.name"), path+".csi.nodePublishSecretRef", atStart)
		r.named("secrets-store.csi.x-k8s.io", "SecretProviderClass", field.Text(csi, "volumeAttributes.secretProviderClass"),
			path+".csi.volumeAttributes.secretProviderClass", atStart)
	}
	for _, driver := range []string{"cephfs", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		r.named("", "Secret", field.Text(volume[driver], "secretRef.name"), path+"."+driver+".secretRef", atStart)
	}
}

// itemKeys returns the keys that a volume projects one by one.
func itemKeys(source map[string]any) []string {
	var list []string
	for _, item := range field.List(source, "items") {
		list = append(list, field.Text(item, "key"))
	}
	return list
}

// groupOf returns the group of an apiVersion.
func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	return gv.Group
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
func (r *referrer) named(group, kind, name, field string, set ...func(*Reference)) {
	r.key(Key{Group: group, Kind: kind, Namespace: r.namespace, Name: name}, field, set...)
}

// global adds a reference to a cluster-scoped object.
func (r *referrer) global(group, kind, name, field string, set ...func(*Reference)) {
	r.key(Key{Group: group, Kind: kind, Name: name}, field, set...)
}

func (r *referrer) key(target Key, field string, set ...func(*Reference)) {
	if target.Name == "" {
		return
	}
	ref := Reference{Target: target, Field: field}
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
		for i, c := range listAt(spec, list) {
			r.container(c, index(join(path, list), i))
		}
	}
	for i, v := range listAt(spec, "volumes") {
		r.volume(v, index(join(path, "volumes"), i))
	}
	for i, s := range listAt(spec, "imagePullSecrets") {
		r.named("", "Secret", textAt(s, "name"), index(path+".imagePullSecrets", i), atStart)
	}
	account, field := textAt(spec, "serviceAccountName"), path+".serviceAccountName"
	if account == "" {
		account, field = textAt(spec, "serviceAccount"), path+".serviceAccount"
	}
	if account != "default" {
		r.named("", "ServiceAccount", account, field, atStart)
	}
	if class := textAt(spec, "priorityClassName"); !strings.HasPrefix(class, "system-") {
		r.global(groupScheduling, "PriorityClass", class, path+".priorityClassName", atStart)
	}
	r.global("node.k8s.io", "RuntimeClass", textAt(spec, "runtimeClassName"), path+".runtimeClassName", atStart)
}

func (r *referrer) container(c any, path string) {
	for i, env := range listAt(c, "env") {
		from := index(path+".env", i) + ".valueFrom"
		if ref := mapAt(env, "valueFrom.secretKeyRef"); ref != nil {
			r.source("Secret", textAt(ref, "name"), from+".secretKeyRef", ref, keys(textAt(ref, "key")))
		}
		if ref := mapAt(env, "valueFrom.configMapKeyRef"); ref != nil {
			r.source("ConfigMap", textAt(ref, "name"), from+".configMapKeyRef", ref, keys(textAt(ref, "key")))
		}
	}
	for i, from := range listAt(c, "envFrom") {
		field := index(path+".envFrom", i)
		if ref := mapAt(from, "secretRef"); ref != nil {
			r.source("Secret", textAt(ref, "name"), field+".secretRef", ref)
		}
		if ref := mapAt(from, "configMapRef"); ref != nil {
			r.source("ConfigMap", textAt(ref, "name"), field+".configMapRef", ref)
		}
	}
}

// source adds a ConfigMap or Secret that a container is configured from.
func (r *referrer) source(kind, name, field string, ref map[string]any, set ...func(*Reference)) {
	r.named("", kind, name, field, append(set, atStart, optionalIf(ref["optional"]))...)
}

func (r *referrer) volume(v any, path string) {
	volume, _ := v.(map[string]any)
	if s := mapAt(volume, "secret"); s != nil {
		r.source("Secret", textAt(s, "secretName"), path+".secret.secretName", s, keys(itemKeys(s)...))
	}
	if c := mapAt(volume, "configMap"); c != nil {
		r.source("ConfigMap", textAt(c, "name"), path+".configMap.name", c, keys(itemKeys(c)...))
	}
	for i, source := range listAt(volume, "projected.sources") {
		field := index(path+".projected.sources", i)
		if s := mapAt(source, "secret"); s != nil {
			r.source("Secret", textAt(s, "name"), field+".secret.name", s, keys(itemKeys(s)...))
		}
		if c := mapAt(source, "configMap"); c != nil {
			r.source("ConfigMap", textAt(c, "name"), field+".configMap.name", c, keys(itemKeys(c)...))
		}
	}
	r.named("", "PersistentVolumeClaim", textAt(volume, "persistentVolumeClaim.claimName"), path+".persistentVolumeClaim.claimName", atStart)
	r.global(groupStorage, "StorageClass", textAt(volume, "ephemeral.volumeClaimTemplate.spec.storageClassName"),
		path+".ephemeral.volumeClaimTemplate.spec.storageClassName", atStart)
	if csi := mapAt(volume, "csi"); csi != nil {
		r.named("", "Secret", textAt(csi, "nodePublishSecretRef.name"), path+".csi.nodePublishSecretRef", atStart)
		r.named("secrets-store.csi.x-k8s.io", "SecretProviderClass", textAt(csi, "volumeAttributes.secretProviderClass"),
			path+".csi.volumeAttributes.secretProviderClass", atStart)
	}
	for _, driver := range []string{"cephfs", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		r.named("", "Secret", textAt(volume[driver], "secretRef.name"), path+"."+driver+".secretRef", atStart)
	}
}

// itemKeys returns the keys that a volume projects one by one.
func itemKeys(source map[string]any) []string {
	var list []string
	for _, item := range listAt(source, "items") {
		list = append(list, textAt(item, "key"))
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

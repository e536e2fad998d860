// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// storeTakes and syncTakes are how long the operator is busy with a new generation.
	storeTakes = 200 * time.Millisecond
	syncTakes  = time.Second
	// keysAnnotation names the keys, with commas, that the simulated provider has for a dataFrom entry.
	keysAnnotation = "wavetrain.dev/simulated-keys"
)

// secretStore validates at once: the simulated provider is always there.
func secretStore(o *unstructured.Unstructured, now, since time.Time) Reaction {
	if due := since.Add(storeTakes); now.Before(due) {
		return Reaction{Wake: due}
	}
	valid, news := ready(o, "True", "Valid", "store validated", now)
	if !news {
		return Reaction{}
	}
	return Reaction{Status: map[string]any{"capabilities": "ReadWrite", "conditions": []any{valid}}}
}

// externalSecret makes the Secret that the object asks for, then reports it synced. It does so for every
// generation, and again when the Secret is lost.
func externalSecret(o *unstructured.Unstructured, now, since time.Time, world World) Reaction {
	if due := since.Add(syncTakes); now.Before(due) {
		return Reaction{Wake: due}
	}
	name := targetName(o)
	version := fmt.Sprintf("%d-%s", o.GetGeneration(), fingerprint(o.Object["spec"]))
	if synced(o, version) && world.SecretData(o.GetNamespace(), name) != nil {
		// The store is asked again for the next generation only.
		return Reaction{}
	}
	if problem, wait := storeProblem(o, world); wait || problem != "" {
		out := Reaction{Waits: true}
		if wait {
			return out
		}
		if failed, news := ready(o, "False", "SecretSyncedError", problem, now); news {
			out.Status = map[string]any{"conditions": []any{failed}}
		}
		return out
	}
	var out Reaction
	data := secretData(o)
	switch policy, _, _ := unstructured.NestedString(o.Object, "spec", "target", "creationPolicy"); policy {
	case "None":
	case "Merge":
		live := world.SecretData(o.GetNamespace(), name)
		if live == nil {
			out.Waits = true
			if failed, news := ready(o, "False", "SecretSyncedError", fmt.Sprintf("could not update secret: Secret %q not found", name), now); news {
				out.Status = map[string]any{"conditions": []any{failed}}
			}
			return out
		}
		if !holds(live, data) {
			all := maps.Clone(live)
			maps.Copy(all, data)
			out.Objects = append(out.Objects, secretObject(o, name, all, false))
		}
	default:
		if live := world.SecretData(o.GetNamespace(), name); len(live) != len(data) || !holds(live, data) {
			out.Objects = append(out.Objects, secretObject(o, name, data, policy != "Orphan"))
		}
	}
	if len(out.Objects) == 0 && synced(o, version) {
		return out
	}
	is, _ := ready(o, "True", "SecretSynced", "secret synced", now)
	out.Status = map[string]any{
		"conditions": []any{is}, "syncedResourceVersion": version,
		"refreshTime": now.UTC().Format(time.RFC3339), "binding": map[string]any{"name": name},
	}
	return out
}

// synced reports whether the status says that this version is synced.
func synced(o *unstructured.Unstructured, version string) bool {
	has, _, _ := unstructured.NestedString(o.Object, "status", "syncedResourceVersion")
	c := condition(o, "Ready")
	return has == version && c["status"] == "True" && c["reason"] == "SecretSynced"
}

// storeProblem is why the store cannot be asked; wait says that it is not validated yet. A store that is
// not in this cluster counts as reachable: it is often set up by somebody else.
func storeProblem(o *unstructured.Unstructured, world World) (problem string, wait bool) {
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "secretStoreRef", "kind")
	name, _, _ := unstructured.NestedString(o.Object, "spec", "secretStoreRef", "name")
	namespace := o.GetNamespace()
	if kind == "" {
		kind = "SecretStore"
	}
	if kind == "ClusterSecretStore" {
		namespace = ""
	}
	if name == "" {
		return "", false
	}
	store := world.Object(kind, namespace, name)
	if store == nil {
		return "", false
	}
	c := condition(store, "Ready")
	if c == nil {
		return "", true
	}
	if c["status"] == "True" {
		return "", false
	}
	problem = fmt.Sprintf("could not get secret data from provider: %s %q is not ready", kind, name)
	if message, _ := c["message"].(string); message != "" {
		problem += ": " + message
	}
	return problem, false
}

func targetName(o *unstructured.Unstructured) string {
	if name, _, _ := unstructured.NestedString(o.Object, "spec", "target", "name"); name != "" {
		return name
	}
	return o.GetName()
}

// secretData is what the simulated provider answers: values that depend on nothing but where they come
// from, so that they are the same in every run.
func secretData(o *unstructured.Unstructured) map[string][]byte {
	out := map[string][]byte{}
	if template, ok, _ := unstructured.NestedMap(o.Object, "spec", "target", "template", "data"); ok {
		for key, text := range template {
			out[key] = value(text)
		}
		return out
	}
	entries, _, _ := unstructured.NestedSlice(o.Object, "spec", "data")
	for _, entry := range entries {
		m, _ := entry.(map[string]any)
		if key, _ := m["secretKey"].(string); key != "" {
			out[key] = value(m["remoteRef"])
		}
	}
	sources, _, _ := unstructured.NestedSlice(o.Object, "spec", "dataFrom")
	for _, source := range sources {
		keys := "username,password,url"
		if named := o.GetAnnotations()[keysAnnotation]; named != "" {
			keys = named
		}
		for key := range strings.SplitSeq(keys, ",") {
			key = strings.TrimSpace(key)
			out[key] = value([]any{source, key})
		}
	}
	return out
}

// value is the secret that a source stands for.
func value(source any) []byte { return []byte("simulated-" + fingerprint(source)) }

func fingerprint(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		data = fmt.Append(nil, v)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// holds reports whether live has all of data.
func holds(live, data map[string][]byte) bool {
	for key, want := range data {
		if has, ok := live[key]; !ok || string(has) != string(want) {
			return false
		}
	}
	return true
}

func secretObject(o *unstructured.Unstructured, name string, data map[string][]byte, owner bool) *unstructured.Unstructured {
	out := owned(o, "v1", "Secret", name)
	if !owner {
		unstructured.RemoveNestedField(out.Object, "metadata", "ownerReferences")
	}
	template := []string{"spec", "target", "template"}
	labels, _, _ := unstructured.NestedStringMap(o.Object, append(slices.Clone(template), "metadata", "labels")...)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["reconcile.external-secrets.io/managed"] = "true"
	out.SetLabels(labels)
	annotations, _, _ := unstructured.NestedStringMap(o.Object, append(slices.Clone(template), "metadata", "annotations")...)
	out.SetAnnotations(annotations)
	out.Object["type"] = "Opaque"
	if kind, _, _ := unstructured.NestedString(o.Object, append(slices.Clone(template), "type")...); kind != "" {
		out.Object["type"] = kind
	}
	encoded := make(map[string]any, len(data))
	for key, v := range data {
		encoded[key] = base64.StdEncoding.EncodeToString(v)
	}
	out.Object["data"] = encoded
	return out
}

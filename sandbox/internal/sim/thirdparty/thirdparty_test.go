// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// world is a cluster in which reactions take effect at once.
type world struct {
	objects map[string]*unstructured.Unstructured
	secrets map[string]map[string][]byte
}

func newWorld() *world {
	return &world{objects: map[string]*unstructured.Unstructured{}, secrets: map[string]map[string][]byte{}}
}

func (w *world) Object(kind, namespace, name string) *unstructured.Unstructured {
	return w.objects[kind+"/"+namespace+"/"+name]
}
func (w *world) SecretData(_, name string) map[string][]byte { return w.secrets[name] }

func (w *world) apply(t *testing.T, o *unstructured.Unstructured, r Reaction) {
	t.Helper()
	for _, object := range r.Objects {
		data, _, err := unstructured.NestedStringMap(object.Object, "data")
		if err != nil {
			t.Fatal(err)
		}
		secret := map[string][]byte{}
		for key, text := range data {
			if secret[key], err = base64.StdEncoding.DecodeString(text); err != nil {
				t.Fatal(err)
			}
		}
		w.secrets[object.GetName()] = secret
	}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	maps.Copy(status, r.Status)
	o.Object["status"] = status
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const externalSecretYAML = `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {namespace: shop, name: web, generation: 1, uid: u}
spec:
  secretStoreRef: {kind: ClusterSecretStore, name: vault}
  target: {name: web-secret}
  data:
    - {secretKey: URL, remoteRef: {key: kv/web, property: url}}
    - {secretKey: KEY, remoteRef: {key: kv/web, property: key}}
`

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func react(t *testing.T, behaviour string, o *unstructured.Unstructured, age time.Duration, w *world) Reaction {
	t.Helper()
	r, err := React(behaviour, o, start().Add(age), start(), w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readiness(o *unstructured.Unstructured) string {
	c := condition(o, "Ready")
	if c == nil {
		return ""
	}
	return strings.TrimSpace(strings.Join([]string{c["status"].(string), c["reason"].(string)}, " "))
}

func TestExternalSecret(t *testing.T) {
	o, w := parse(t, externalSecretYAML), newWorld()
	if r := react(t, "external-secret", o, 0, w); r.Status != nil || len(r.Objects) > 0 || !r.Wake.Equal(start().Add(syncTakes)) {
		t.Errorf("at first nothing happens for %s: %+v", syncTakes, r)
	}
	r := react(t, "external-secret", o, syncTakes, w)
	w.apply(t, o, r)
	if got := readiness(o); got != "True SecretSynced" {
		t.Errorf("ready is %q", got)
	}
	if keys := len(w.secrets["web-secret"]); keys != 2 {
		t.Errorf("the Secret has %d keys, want 2: %v", keys, w.secrets)
	}
	if owner := r.Objects[0].GetOwnerReferences(); len(owner) != 1 || owner[0].UID != "u" {
		t.Errorf("owner is %v", owner)
	}
	version, _, _ := unstructured.NestedString(o.Object, "status", "syncedResourceVersion")
	if !strings.HasPrefix(version, "1-") {
		t.Errorf("syncedResourceVersion is %q, want one of generation 1", version)
	}
	if r := react(t, "external-secret", o, time.Hour, w); r.Status != nil || len(r.Objects) > 0 {
		t.Errorf("synced and nothing changed, yet it writes %+v", r)
	}

	o.SetGeneration(2)
	data, _, _ := unstructured.NestedSlice(o.Object, "spec", "data")
	_ = unstructured.SetNestedSlice(o.Object, append(data, map[string]any{"secretKey": "NEW", "remoteRef": map[string]any{"key": "k"}}), "spec", "data")
	before := w.secrets["web-secret"]
	w.apply(t, o, react(t, "external-secret", o, time.Hour, w))
	after, _, _ := unstructured.NestedString(o.Object, "status", "syncedResourceVersion")
	if !strings.HasPrefix(after, "2-") || after[2:] == version[2:] || len(w.secrets["web-secret"]) != 3 {
		t.Errorf("a new generation is synced anew: version %q after %q, keys %v", after, version, w.secrets["web-secret"])
	}
	if diff := cmp.Diff(before["URL"], w.secrets["web-secret"]["URL"]); diff != "" {
		t.Errorf("values of the same source stay: %s", diff)
	}

	w.objects["ClusterSecretStore//vault"] = parse(t, `{kind: ClusterSecretStore, status: {conditions: [{type: Ready, status: "False"}]}}`)
	if r := react(t, "external-secret", o, time.Hour, w); r.Status != nil {
		t.Errorf("the store fails after the sync, which is of no interest before the next: %+v", r)
	}
	delete(w.objects, "ClusterSecretStore//vault")
	delete(w.secrets, "web-secret")
	w.apply(t, o, react(t, "external-secret", o, time.Hour, w))
	if w.secrets["web-secret"] == nil {
		t.Error("a Secret that was lost is not made again")
	}
}

func TestExternalSecretAndItsStore(t *testing.T) {
	cases := map[string]struct{ reason, status, want, message string }{
		"NoStatusYet": {reason: "a store that is not validated yet is waited for", status: "{}", want: ""},
		"Ready":       {reason: "a ready store", status: `{conditions: [{type: Ready, status: "True"}]}`, want: "True SecretSynced"},
		"Denied": {
			reason: "a store that is not ready", status: `{conditions: [{type: Ready, status: "False", message: permission denied 403}]}`,
			want: "False SecretSyncedError", message: "permission denied 403",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, w := parse(t, externalSecretYAML), newWorld()
			w.objects["ClusterSecretStore//vault"] = parse(t, "kind: ClusterSecretStore\nstatus: "+tc.status)
			r := react(t, "external-secret", o, time.Minute, w)
			w.apply(t, o, r)
			if got, waits := readiness(o), tc.want != "True SecretSynced"; got != tc.want || r.Waits != waits {
				t.Errorf("%s: ready is %q (waits %v), want %q (%v)", tc.reason, got, r.Waits, tc.want, waits)
			}
			if tc.message != "" && (!strings.Contains(condition(o, "Ready")["message"].(string), tc.message) || len(w.secrets) > 0) {
				t.Errorf("%s: %v, Secrets %v", tc.reason, condition(o, "Ready"), w.secrets)
			}
		})
	}
}

func TestExternalSecretTargets(t *testing.T) {
	cases := map[string]struct {
		reason, target string
		owner          bool
		objects        int
		name           string
		keys           []string
	}{
		"OwnName":  {"without a target name it is the object's", "{}", true, 1, "web", []string{"URL", "KEY"}},
		"Template": {"a template's keys are the Secret's", "{name: s, template: {type: kubernetes.io/tls, data: {tls.crt: x}}}", true, 1, "s", []string{"tls.crt"}},
		"Orphan":   {"no owner", "{name: s, creationPolicy: Orphan}", false, 1, "s", []string{"URL", "KEY"}},
		"None":     {"no Secret", "{name: s, creationPolicy: None}", false, 0, "", nil},
		"Merge":    {"only into one that exists", "{name: s, creationPolicy: Merge}", false, 0, "", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := parse(t, strings.Replace(externalSecretYAML, "{name: web-secret}", tc.target, 1))
			r := react(t, "external-secret", o, time.Minute, newWorld())
			if len(r.Objects) != tc.objects {
				t.Fatalf("%s: %d objects, want %d", tc.reason, len(r.Objects), tc.objects)
			}
			if tc.objects == 0 {
				return
			}
			secret := r.Objects[0]
			data, _, _ := unstructured.NestedMap(secret.Object, "data")
			for _, key := range tc.keys {
				if data[key] == nil {
					t.Errorf("%s: key %s is missing in %v", tc.reason, key, data)
				}
			}
			if secret.GetName() != tc.name || (len(secret.GetOwnerReferences()) > 0) != tc.owner || len(data) != len(tc.keys) {
				t.Errorf("%s: %v", tc.reason, secret.Object)
			}
		})
	}
}

func TestCNPGCluster(t *testing.T) {
	o, w := parse(t, `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {namespace: db, name: core-pg, uid: u}
spec: {instances: 3, bootstrap: {initdb: {database: core, owner: coreuser}}}
`), newWorld()
	w.apply(t, o, react(t, "cnpg-cluster", o, 0, w))
	if got := readiness(o); got != "False ClusterIsNotReady" {
		t.Errorf("a new cluster is set up first: %q", got)
	}
	app, super := w.secrets["core-pg-app"], w.secrets["core-pg-superuser"]
	if string(app["username"]) != "coreuser" || string(app["dbname"]) != "core" || string(super["username"]) != "postgres" {
		t.Errorf("app %q, superuser %q", app, super)
	}
	for _, key := range []string{"username", "password", "host", "uri"} {
		if len(app[key]) == 0 || len(super[key]) == 0 {
			t.Errorf("key %s is missing", key)
		}
	}
	w.apply(t, o, react(t, "cnpg-cluster", o, clusterTakes, w))
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	instances, _, _ := unstructured.NestedInt64(o.Object, "status", "readyInstances")
	if phase != "Cluster in healthy state" || instances != 3 || readiness(o) != "True ClusterIsReady" {
		t.Errorf("later: phase %q, %d instances, ready %q", phase, instances, readiness(o))
	}
	if r := react(t, "cnpg-cluster", o, time.Hour, w); r.Status != nil || len(r.Objects) > 0 {
		t.Errorf("nothing changed, yet it writes %+v", r)
	}
}

func TestSets(t *testing.T) {
	if diff := cmp.Diff([]string{"cnpg", "external-secrets"}, Sets()); diff != "" {
		t.Errorf("Sets: %s", diff)
	}
	all, err := Rules(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if _, err := React(all[i].Behaves, parse(t, "kind: A"), start(), start(), newWorld()); err != nil {
			t.Errorf("%s: %v", all[i].Source, err)
		}
	}
	if _, err := Rules([]string{"vault"}); err == nil || !strings.Contains(err.Error(), "external-secrets") {
		t.Errorf("an unknown set must be refused, naming those that exist: %v", err)
	}
	if list, err := Rules([]string{}); err != nil || len(list) != 0 {
		t.Errorf("no set, no rule: %v, %v", list, err)
	}
	crds, err := CRDs(nil)
	if err != nil || len(crds) != 4 {
		t.Fatalf("CRDs: %d, %v", len(crds), err)
	}
	for _, crd := range crds {
		if crd.GetKind() != "CustomResourceDefinition" {
			t.Errorf("%s is a %s", crd.GetName(), crd.GetKind())
		}
	}
	if _, err := React("nonsense", parse(t, "kind: A"), start(), start(), newWorld()); err == nil {
		t.Error("an unknown behaviour must be refused")
	}
}

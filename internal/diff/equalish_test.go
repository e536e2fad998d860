// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

func containers(t testing.TB, u *unstructured.Unstructured) []any {
	t.Helper()
	list, ok, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if err != nil || !ok {
		t.Fatal("no containers")
	}
	return list
}

func TestEqualish(t *testing.T) {
	app := func(u *unstructured.Unstructured) map[string]any { return containers(t, u)[0].(map[string]any) }
	setContainers := func(u *unstructured.Unstructured, list ...any) {
		set(t, list, "spec", "template", "spec", "containers")(u)
	}
	cases := map[string]struct {
		reason string
		// applied is what Wavetrain applied, then edit happens on the cluster and
		// git in the repository.
		edit func(server)
		git  func(*unstructured.Unstructured)
		opts Options
		want bool
	}{
		"Untouched": {reason: "what was applied is in sync", want: true},
		"Status": {
			reason: "status is not part of the desired state",
			git:    set(t, int64(3), "status", "replicas"),
			want:   true,
		},
		"ForeignAnnotation": {
			reason: "fields nobody sets in Git are no drift",
			edit: func(s server) {
				s.edit("kubectl-annotate", set(t, "yes", "metadata", "annotations", "paged"))
			},
			want: true,
		},
		"InjectedSidecar": {
			reason: "a container of another manager stays",
			edit: func(s server) {
				s.edit("istio", func(u *unstructured.Unstructured) {
					setContainers(u, append(containers(t, u), map[string]any{"name": "istio-proxy", "image": "istio:1"})...)
				})
			},
			want: true,
		},
		"DefaultsInOwnedWhole": {
			reason: "fieldRef is atomic: the server's default inside it is ours and no drift",
			edit: func(s server) {
				u := s.live()
				c := containers(t, u)
				env := c[0].(map[string]any)["env"].([]any)
				env[1].(map[string]any)["valueFrom"].(map[string]any)["fieldRef"].(map[string]any)["apiVersion"] = "v1"
				setContainers(u, c...)
			},
			want: true,
		},
		"EditedReplicas": {
			reason: "a changed value is drift",
			edit:   func(s server) { s.edit("kubectl-scale", set(t, int64(5), "spec", "replicas")) },
		},
		"EditedImage": {
			reason: "a changed value inside a list is drift",
			edit: func(s server) {
				s.edit("kubectl-edit", func(u *unstructured.Unstructured) {
					c := containers(t, u)
					c[0].(map[string]any)["image"] = "web:hacked"
					setContainers(u, c...)
				})
			},
		},
		"RemovedLabel": {
			reason: "a removed field is drift",
			edit: func(s server) {
				s.edit("kubectl-edit", func(u *unstructured.Unstructured) {
					unstructured.RemoveNestedField(u.Object, "metadata", "labels", "app")
				})
			},
		},
		"RemovedContainer": {
			reason: "a removed item is drift",
			edit: func(s server) {
				s.edit("kubectl-edit", func(u *unstructured.Unstructured) { setContainers(u, containers(t, u)[0]) })
			},
		},
		"DroppedFromGit": {
			reason: "a field that Git no longer sets must go",
			git:    func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "spec", "replicas") },
		},
		"DroppedEnvFromGit": {
			reason: "an item that Git no longer sets must go",
			git: func(u *unstructured.Unstructured) {
				c := app(u)
				c["env"] = c["env"].([]any)[:1]
				setContainers(u, c, containers(t, u)[1])
			},
		},
		"AddedInGit": {
			reason: "a new field is not there yet",
			git:    set(t, int64(5), "spec", "revisionHistoryLimit"),
		},
		"ChangedArgs": {
			reason: "an atomic list differs",
			git: func(u *unstructured.Unstructured) {
				c := app(u)
				c["args"] = []any{"serve"}
				setContainers(u, c, containers(t, u)[1])
			},
		},
		"Reordered": {
			reason: "the order of containers can matter, so the server is asked",
			git:    func(u *unstructured.Unstructured) { c := containers(t, u); setContainers(u, c[1], c[0]) },
		},
		"QuantityInOtherWords": {
			reason: "1 is 1000m",
			git: func(u *unstructured.Unstructured) {
				c := app(u)
				c["resources"] = map[string]any{"limits": map[string]any{"cpu": int64(1), "memory": "1024Mi"}}
				setContainers(u, c, containers(t, u)[1])
			},
			want: true,
		},
		"ProtocolLeftToDefault": {
			reason: "a key field that the manifest leaves out matches the only item it can mean",
			git: func(u *unstructured.Unstructured) {
				c := app(u)
				c["ports"] = []any{map[string]any{"containerPort": int64(8080)}}
				setContainers(u, c, containers(t, u)[1])
			},
			// protocol is owned on the live object, but no longer set: the server decides.
			want: false,
		},
		"OtherVersion": {
			reason: "field sets of another API version cannot be compared",
			git:    func(u *unstructured.Unstructured) { u.SetAPIVersion("apps/v1beta2") },
		},
		"IgnoredDrift": {
			reason: "an ignored field does not count, whoever has it",
			edit:   func(s server) { s.edit("hpa", set(t, int64(9), "spec", "replicas")) },
			opts: Options{Ignore: []v1alpha1.ResourceIgnoreDifferences{
				{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}},
			}},
			want: true,
		},
		"IgnoredElsewhere": {
			reason: "a rule for another group ignores nothing",
			edit:   func(s server) { s.edit("hpa", set(t, int64(9), "spec", "replicas")) },
			opts: Options{Ignore: []v1alpha1.ResourceIgnoreDifferences{
				{Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}},
			}},
		},
		"NullInGit": {
			reason: "null says nothing: what we own of the field has to go",
			git:    func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["replicas"] = nil },
		},
		"NullEdited": {
			reason: "null says nothing: somebody else's value is theirs",
			want:   true,
			edit:   func(s server) { s.edit("kubectl-scale", set(t, int64(5), "spec", "replicas")) },
			git:    func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["replicas"] = nil },
		},
		"Superseded": {
			reason: "while another tool's ownership has not moved, the server decides",
			edit: func(s server) {
				s.edit("kubectl-client-side-apply", set(t, "x", "metadata", "annotations", "a"))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired := object(t, deployment)
			s := newServer(t, desired).apply(desired)
			if tc.edit != nil {
				tc.edit(s)
			}
			if tc.git != nil {
				tc.git(desired)
			}
			if got := Equalish(desired, s.live(), tc.opts); got != tc.want {
				t.Errorf("%s: Equalish = %v, want %v (managers %v)", tc.reason, got, tc.want, managers(s.ManagedFields()))
			}
		})
	}
}

func TestEqualishNeverApplied(t *testing.T) {
	desired := object(t, deployment)
	if Equalish(desired, desired, Options{}) {
		t.Error("an object that Wavetrain never applied must be checked by the server, even if it looks the same")
	}
	if Equalish(desired, nil, Options{}) || Equalish(nil, desired, Options{}) {
		t.Error("a missing object is never in sync")
	}
}

func TestEqualishSecret(t *testing.T) {
	desired := object(t, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, stringData: {user: admin}, data: {pass: c2VjcmV0}}")
	s := newServer(t, desired).apply(Normalize(desired))
	if !Equalish(desired, s.live(), Options{}) {
		t.Error("stringData must compare as the data it becomes")
	}
	s.edit("kubectl-edit", set(t, "aGFja2Vk", "data", "user"))
	if Equalish(desired, s.live(), Options{}) {
		t.Error("a changed value must be seen")
	}
}

func TestEqualishDefaultedKey(t *testing.T) {
	desired := object(t, deployment)
	list := containers(t, desired)
	list[0].(map[string]any)["ports"] = []any{
		map[string]any{"containerPort": int64(8080), "name": "http"},
		map[string]any{"containerPort": int64(9090)},
	}
	set(t, list, "spec", "template", "spec", "containers")(desired)
	live := newServer(t, desired).apply(desired).live()
	defaulted := containers(t, live)
	for _, port := range defaulted[0].(map[string]any)["ports"].([]any) {
		port.(map[string]any)["protocol"] = "TCP"
	}
	set(t, defaulted, "spec", "template", "spec", "containers")(live)
	if !Equalish(desired, live, Options{}) {
		t.Errorf("ports whose protocol is left to the default must be found: %v", live.GetManagedFields())
	}
	list[0].(map[string]any)["ports"].([]any)[0].(map[string]any)["protocol"] = "UDP"
	set(t, list, "spec", "template", "spec", "containers")(desired)
	if Equalish(desired, live, Options{}) {
		t.Error("another protocol is another port")
	}
}

func TestEqualishValuesThatTypedObjectsLeaveOut(t *testing.T) {
	desired := object(t, deployment)
	set(t, false, "spec", "paused")(desired)
	set(t, false, "spec", "template", "spec", "hostNetwork")(desired)
	s := newServer(t, desired).apply(desired)
	leaveOut := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		unstructured.RemoveNestedField(u.Object, "spec", "paused")
		unstructured.RemoveNestedField(u.Object, "spec", "template", "spec", "hostNetwork")
		return u
	}
	if !Equalish(desired, leaveOut(s.live()), Options{}) {
		t.Error("false and absent are the same as long as we own the field")
	}
	s.edit("kubectl-edit", func(u *unstructured.Unstructured) { leaveOut(u) })
	if Equalish(desired, s.live(), Options{}) {
		t.Error("somebody removed the fields")
	}
}

func BenchmarkEqualish(b *testing.B) {
	desired := object(b, deployment)
	live := newServer(b, desired).apply(desired).live()
	opts := Options{ManagedFields: live.GetManagedFields()}
	live.SetManagedFields(nil)
	b.ReportAllocs()
	for b.Loop() {
		if !Equalish(desired, live, opts) {
			b.Fatal("not in sync")
		}
	}
}

// widgets is what an API server publishes about a kind with a list of each sort.
const widgets = `{"components": {"schemas": {"com.example.v1.Widget": {
  "type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
  "properties": {
    "apiVersion": {"type": "string"}, "kind": {"type": "string"},
    "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}, "annotations": {"type": "object", "additionalProperties": {"type": "string"}}}},
    "spec": {"type": "object", "properties": {
      "size": {"type": "string", "default": "small"},
      "port": {"x-kubernetes-int-or-string": true},
      "since": {"type": "string", "format": "date-time"},
      "limits": {"type": "object", "additionalProperties": {"type": "string"}},
      "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
      "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "string", "default": "d"}}}},
      "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
      "steps": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}}}}}}}}}`

// TestSettled needs nobody to own anything: what matters is what comes out.
func TestSettled(t *testing.T) {
	schema, err := ReadSchema([]byte(widgets))
	if err != nil {
		t.Fatal(err)
	}
	widget := func(spec string) *unstructured.Unstructured {
		return object(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {"+spec+"}}")
	}
	for name, tc := range map[string]struct {
		reason, desired, live string
		want                  bool
	}{
		"equal":              {"nothing comes out that is not there", "size: large", "size: large", true},
		"another value":      {"it differs", "size: large", "size: small", false},
		"default":            {"what the server filled in is not wanted otherwise", "", "size: small", true},
		"missing":            {"it has to be set", "size: small", "", false},
		"quantity":           {"another way of writing the amount", `limits: {cpu: "1"}`, "limits: {cpu: 1000m}", true},
		"other amount":       {"it differs", `limits: {cpu: "1"}`, "limits: {cpu: 1001m}", false},
		"moment":             {"another way of writing the time", `since: "2026-01-01T00:00:00Z"`, `since: "2026-01-01T01:00:00+01:00"`, true},
		"port":               {"a number is not its text", "port: 80", `port: "80"`, false},
		"item of others":     {"a list with keys has room for others' items", "parts: [{name: a}]", "parts: [{name: b, v: d}, {name: a, v: d}]", true},
		"item missing":       {"it has to be added", "parts: [{name: a}, {name: c}]", "parts: [{name: a, v: d}]", false},
		"tag of others":      {"a set has room for others' members", "tags: [a]", "tags: [b, a]", true},
		"tag missing":        {"it has to be added", "tags: [a, c]", "tags: [a]", false},
		"step of others":     {"a whole has no room", "steps: [a]", "steps: [a, b]", false},
		"same steps":         {"nothing comes out that is not there", "steps: [a, b]", "steps: [a, b]", true},
		"steps in order":     {"the order of a whole counts", "steps: [a, b]", "steps: [b, a]", false},
		"free":               {"what has no schema is merged by its fields", "free: {a: {b: 1}}", "free: {a: {b: 1, c: 2}}", true},
		"free, other value":  {"it differs", "free: {a: {b: 1}}", "free: {a: {b: 2}}", false},
		"unknown field":      {"the server says what becomes of it", "nonsense: 1", "", false},
		"two of one key":     {"the server says what becomes of it", "parts: [{name: a}, {name: a}]", "parts: [{name: a}]", false},
		"null":               {"the server says what it means", "size: null", "size: small", false},
		"null of nothing":    {"there is nothing to take away", "size: null", "", true},
		"null in a free map": {"the server says what it means", "free: {a: null}", "free: {a: 1}", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, shared := range []bool{true, false} {
				if got := Settled(widget(tc.desired), widget(tc.live), Options{}, shared, schema); got != tc.want {
					t.Errorf("%s: settled %t, want %t (shared %t)", tc.reason, got, tc.want, shared)
				}
			}
			if Settled(widget(tc.desired), widget(tc.live), Options{}, true, nil) {
				t.Error("settled without a schema")
			}
		})
	}
}

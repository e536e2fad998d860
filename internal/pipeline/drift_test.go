// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// TestWhatWasAppliedIsInSync applies objects of all built-in kinds, with parts left out, emptied, doubled or written in
// another way, and compares them three times: what was just applied does not differ from what is wanted, however it is
// written. Objects that the API server refuses say nothing.
func TestWhatWasAppliedIsInSync(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	dest := connect(t, env)
	namespace := env.Namespace(t)
	kinds := builtinKinds(t)
	watchAll(t, dest, kinds)
	count := struct{ tried, refused, compared, asked int }{}
	rapid.Check(t, func(rt *rapid.T) {
		for range 3 {
			obj := rapid.SampledFrom(kinds).Draw(rt, "kind").DeepCopy()
			for range rapid.IntRange(0, 4).Draw(rt, "changes") {
				rewrite(rt, obj.Object)
			}
			policy := rapid.SampledFrom([]cluster.Policy{{}, {}, {}, {ClientSide: true}, {Replace: true}}).Draw(rt, "policy")
			count.tried++
			name(obj, count.tried, namespace, dest)
			compared, asked := compareThrice(t, rt, dest, policy, obj)
			if compared == 0 {
				count.refused++
			}
			count.compared, count.asked = count.compared+compared, count.asked+asked
		}
	})
	t.Logf("%d objects, %d refused; %d comparisons, of which %d asked the API server", count.tried, count.refused, count.compared, count.asked)
	if count.refused > count.tried*2/3 {
		t.Errorf("%d of %d objects were refused: the test shows too little", count.refused, count.tried)
	}
}

// compareThrice applies an object and compares it three times, with another apply between. It returns how many
// comparisons were made — none if the API server refuses the object — and how many of them asked the API server.
func compareThrice(t *testing.T, rt *rapid.T, dest *cluster.Cluster, policy cluster.Policy, obj *unstructured.Unstructured) (compared, asked int) {
	t.Helper()
	live, err := dest.Apply(t.Context(), obj, policy.For(obj, nil))
	// There are definitions over which the API server panics; it breaks the connection off.
	if cluster.IsUnreachable(err) && !strings.Contains(err.Error(), "INTERNAL_ERROR") {
		rt.Fatal(err)
	}
	if err != nil {
		return 0, 0
	}
	key := manifest.KeyOf(obj)
	defer func() {
		if err := dest.Delete(context.WithoutCancel(t.Context()), key, cluster.DeleteOptions{UID: live.GetUID()}); err != nil {
			rt.Fatal(err)
		}
	}()
	asking := &counting{Cluster: dest}
	for compared = range 3 {
		now, owners, _ := dest.GetOwned(key)
		v, err := verdictOn(t.Context(), asking, Subject{Write: policy}, plan.Step{Key: key, Object: &manifest.Object{Unstructured: obj}}, now, owners)
		switch {
		case err != nil:
			rt.Fatal(err)
		case v.Live == nil:
			rt.Fatalf("comparison %d: %s is not seen", compared, key)
		case v.Rejected != "":
			rt.Fatalf("comparison %d: rejected: %s\n%s", compared, v.Rejected, text(t, obj))
		case len(v.Changes) > 0:
			rt.Fatalf("comparison %d: %+v\n%s", compared, v.Changes, text(t, obj))
		}
		// Some objects cannot be replaced by the manifest they were made from: a Job has a selector by now.
		if compared == 1 && !policy.Replace {
			if _, err := dest.Apply(t.Context(), obj, policy.For(obj, v.Live)); err != nil {
				rt.Fatalf("apply again: %v\n%s", err, text(t, obj))
			}
		}
	}
	return compared + 1, asking.dryRuns
}

// counting counts the dry runs that comparisons ask for.
type counting struct {
	*cluster.Cluster
	dryRuns int
}

func (c *counting) Apply(ctx context.Context, obj *unstructured.Unstructured, opts cluster.ApplyOptions) (*unstructured.Unstructured, error) {
	c.dryRuns++
	return c.Cluster.Apply(ctx, obj, opts)
}

func connect(t *testing.T, env *sandboxtest.Env) *cluster.Cluster {
	t.Helper()
	c, err := cluster.New(env.Config, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

func watchAll(t *testing.T, dest *cluster.Cluster, kinds []*unstructured.Unstructured) {
	t.Helper()
	var watched []schema.GroupKind
	for _, u := range kinds {
		watched = append(watched, u.GroupVersionKind().GroupKind())
	}
	if err := dest.Watch(t.Context(), watched...); err != nil {
		t.Fatal(err)
	}
}

// builtinKinds reads an object of each kind, with the parts that several kinds share put in.
func builtinKinds(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("testdata/kinds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no kinds: %v", err)
	}
	var all []*unstructured.Unstructured
	parts := map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if u.GetKind() == "Parts" {
				parts = u.Object
			} else {
				all = append(all, u)
			}
		}
	}
	for _, u := range all {
		u.Object, _ = complete(u.Object, parts).(map[string]any)
	}
	return all
}

func complete(v any, parts map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = complete(field, parts)
		}
	case []any:
		for i, item := range v {
			v[i] = complete(item, parts)
		}
	case string:
		if part, ok := strings.CutPrefix(v, "$"); ok {
			return complete(runtime.DeepCopyJSONValue(parts[part]), parts)
		}
	case float64:
		// As in a manifest: whole numbers are integers.
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// name gives an object a name that no other has.
func name(obj *unstructured.Unstructured, n int, namespace string, dest *cluster.Cluster) {
	unique := fmt.Sprintf("%s-%d", namespace, n)
	switch gk := obj.GroupVersionKind().GroupKind(); gk {
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		group := unique + ".example.test"
		obj.SetName("xs." + group)
		_ = unstructured.SetNestedField(obj.Object, group, "spec", "group")
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		group := unique + ".example.test"
		obj.SetName("v1." + group)
		_ = unstructured.SetNestedField(obj.Object, group, "spec", "group")
	default:
		obj.SetName(unique)
		if namespaced, _ := dest.Scope(gk); namespaced {
			obj.SetNamespace(namespace)
		}
	}
}

// site is a place in an object: a field of a map or an item of a list.
type site struct {
	path  string
	value any
	set   func(any)
	drop  func()
	// twice writes an item a second time.
	twice func()
}

// rewrite changes one place of an object.
func rewrite(rt *rapid.T, obj map[string]any) {
	var all []site
	for _, top := range slices.Sorted(maps.Keys(obj)) {
		if top != "apiVersion" && top != "kind" && top != "metadata" {
			all = append(all, field(obj, top, top)...)
		}
	}
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		for _, name := range []string{"labels", "annotations"} {
			if _, ok := metadata[name]; ok {
				all = append(all, field(metadata, name, "metadata."+name)...)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	at := all[rapid.IntRange(0, len(all)-1).Draw(rt, "place")]
	ways := map[string]func(){"drop": at.drop, "null": func() { at.set(nil) }, "empty": func() { at.set(emptied(at.value)) }}
	if at.twice != nil {
		ways["twice"] = at.twice
	}
	for i, other := range otherwise(at.value) {
		ways[fmt.Sprintf("otherwise %d", i)] = func() { at.set(other) }
	}
	ways[rapid.SampledFrom(slices.Sorted(maps.Keys(ways))).Draw(rt, "change of "+at.path)]()
}

func field(m map[string]any, name, path string) []site {
	s := site{path: path, value: m[name], set: func(v any) { m[name] = v }, drop: func() { delete(m, name) }}
	all := []site{s}
	switch v := m[name].(type) {
	case map[string]any:
		for _, below := range slices.Sorted(maps.Keys(v)) {
			all = append(all, field(v, below, path+"."+below)...)
		}
	case []any:
		for i, item := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			all = append(all, site{
				path: at, value: item, set: func(x any) { v[i] = x },
				drop:  func() { m[name] = slices.Delete(slices.Clone(v), i, i+1) },
				twice: func() { m[name] = append(slices.Clone(v), runtime.DeepCopyJSONValue(item)) },
			})
			if inner, ok := item.(map[string]any); ok {
				for _, below := range slices.Sorted(maps.Keys(inner)) {
					all = append(all, field(inner, below, at+"."+below)...)
				}
			}
		}
	}
	return all
}

func emptied(v any) any {
	switch v.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	case string:
		return ""
	case bool:
		return false
	}
	return int64(0)
}

// otherwise returns other ways of writing what may be a quantity, a port, or a percentage.
func otherwise(v any) []any {
	switch v := v.(type) {
	case int64:
		return []any{strconv.FormatInt(v, 10), float64(v), v + 1}
	case string:
		switch v {
		case "1", "2", "4", "100":
			n, _ := strconv.ParseInt(v, 10, 64)
			return []any{n, v + "000m", v + ".0", v + "e0", v + "E0"}
		case "100m", "500m", "10m":
			n, _ := strconv.ParseFloat(strings.TrimSuffix(v, "m"), 64)
			return []any{n / 1000, strconv.FormatFloat(n/1000, 'f', -1, 64), "0" + v}
		case "1Gi":
			return []any{"1024Mi", int64(1 << 30), "1073741824", "1.0Gi", 1073741824.0}
		case "2G":
			return []any{"2000M", "2e9", 2e9, "2E9"}
		case "128Mi", "500Mi", "16Mi", "64Mi", "512Mi":
			n, _ := strconv.ParseInt(strings.TrimSuffix(v, "Mi"), 10, 64)
			return []any{fmt.Sprintf("%dKi", n<<10), n << 20, fmt.Sprintf("%d.5Mi", n)}
		case "http":
			return []any{int64(8080), "8080"}
		case "25%", "50%":
			return []any{int64(1), "1%"}
		}
	}
	return nil
}

func text(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	data, err := yaml.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

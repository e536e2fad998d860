// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// name draws from few values, so that collisions happen.
func name() *rapid.Generator[string] { return rapid.SampledFrom([]string{"a", "b", "c.d/e", "app"}) }

func scalar() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.Int64Range(-2, 2), func(v int64) any { return v }),
		rapid.Map(rapid.Float64Range(0, 2), func(v float64) any { return v }),
		rapid.Map(rapid.SampledFrom([]string{"", "x", "1000m", "1"}), func(v string) any { return v }),
	)
}

func tree(depth int) *rapid.Generator[any] {
	if depth == 0 {
		return scalar()
	}
	below := tree(depth - 1)
	return rapid.OneOf(
		scalar(),
		rapid.Map(rapid.SliceOfN(below, 0, 3), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(name(), below, 0, 3), func(v map[string]any) any { return v }),
		rapid.Map(rapid.SliceOfNDistinct(name(), 0, 3, rapid.ID), func(names []string) any {
			list := make([]any, len(names))
			for i, n := range names {
				list[i] = map[string]any{"name": n, "i": int64(i)}
			}
			return list
		}),
	)
}

func anything(kind string) *rapid.Generator[*unstructured.Unstructured] {
	return rapid.Custom(func(t *rapid.T) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind,
			"metadata": map[string]any{"name": "x", "namespace": "n"},
		}}
		for _, f := range []string{"spec", "data", "stringData", "status"} {
			if v := tree(3).Draw(t, f); v != nil {
				u.Object[f] = v
			}
		}
		return u
	})
}

func TestCompareWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anything(rapid.SampledFrom([]string{"Widget", "Secret"}).Draw(t, "kind")).Draw(t, "x")
		if changes := Compare(x, x, x, Options{}); len(changes) > 0 {
			t.Errorf("an object differs from itself: %v", changes)
		}
		if changes := Compare(Normalize(x), Normalize(x), nil, Options{}); len(changes) > 0 {
			t.Errorf("an object differs from its own prediction: %v", changes)
		}
		if text, err := Unified(x, x); err != nil || text != "" {
			t.Errorf("unified difference with itself: %q, %v", text, err)
		}
	})
}

func TestCompareFindsEveryDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live, want := anything("Widget").Draw(t, "live"), anything("Widget").Draw(t, "want")
		equal := same(Options{}.bare(live).Object, Options{}.bare(want).Object)
		if changes := Compare(want, live, want, Options{}); (len(changes) == 0) != equal {
			t.Errorf("equal=%v, changes=%v", equal, changes)
		}
	})
}

func TestObjectsAreNotChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live, want := anything("Secret").Draw(t, "live"), anything("Secret").Draw(t, "want")
		before := fmt.Sprint(live.Object, want.Object)
		Compare(want, live, nil, Options{})
		Equalish(want, live, Options{})
		RedactPair(live, want)
		if after := fmt.Sprint(live.Object, want.Object); before != after {
			t.Errorf("an argument was changed:\n%s\n%s", before, after)
		}
	})
}

func TestSecretsNeverLeak(t *testing.T) {
	secret := func(marker string) *rapid.Generator[*unstructured.Unstructured] {
		return rapid.Custom(func(t *rapid.T) *unstructured.Unstructured {
			u := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Secret",
				"metadata": map[string]any{"name": "x", "annotations": map[string]any{
					"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"a":"` + marker + `"}}`,
				}},
			}}
			for _, f := range []string{"data", "stringData"} {
				values := map[string]any{}
				for _, k := range rapid.SliceOfDistinct(name(), rapid.ID).Draw(t, f) {
					values[k] = fmt.Sprint(marker, rapid.IntRange(0, 1).Draw(t, k))
				}
				u.Object[f] = values
			}
			return u
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		// stringData is encoded, so its marker is watched for in both forms.
		live, want := secret("TUFSSzE5").Draw(t, "live"), secret("TUFSSzE5").Draw(t, "want")
		var out []string
		for _, pair := range [][2]*unstructured.Unstructured{{live, want}, {live, nil}, {nil, want}} {
			text, err := Unified(pair[0], pair[1])
			if err != nil {
				t.Fatal(err)
			}
			b, a := RedactPair(pair[0], pair[1])
			data, err := json.Marshal([]any{Compare(pair[1], pair[0], pair[1], Options{}), Compare(pair[1], pair[0], nil, Options{}), b, a})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, text, string(data))
		}
		all := strings.Join(out, "\n")
		for _, marker := range []string{"TUFSSzE5", "VFVGU1N6RTU"} {
			if strings.Contains(all, marker) {
				t.Fatalf("a secret value leaked:\n%s", all)
			}
		}
		changed := len(Compare(want, live, want, Options{})) > 0
		text, _ := Unified(live, want)
		if changed != (text != "") {
			t.Errorf("changes and text disagree: %v, %q", changed, text)
		}
	})
}

// TestEqualishIsSound applies an object, lets somebody else change one field, and
// demands that Equalish never calls the result in sync.
func TestEqualishIsSound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		desired := object(t, deployment)
		s := newServer(t, desired).apply(desired)
		if !Equalish(desired, s.live(), Options{}) {
			rt.Fatal("not in sync right after the apply")
		}
		live := s.live()
		var leaves [][]any
		collect(live.Object["spec"], []any{"spec"}, &leaves)
		leaf := rapid.SampledFrom(leaves).Draw(rt, "leaf")
		s.edit("somebody", func(u *unstructured.Unstructured) { mutate(u.Object, leaf) })
		if Equalish(desired, s.live(), Options{}) {
			rt.Errorf("changed %v and it was not seen", leaf)
		}
		if changes := Compare(desired, s.live(), nil, Options{}); len(changes) == 0 {
			rt.Errorf("changed %v and the local comparison does not show it", leaf)
		}
	})
}

// collect lists the ways to all strings and integers below v.
func collect(v any, at []any, leaves *[][]any) {
	step := func(s any) []any { return append(append([]any{}, at...), s) }
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			// Changing what a list's items are told apart by is a removal and an
			// addition, which TestEqualish has.
			if k != "name" && k != "mountPath" && k != "containerPort" && k != "protocol" {
				collect(x[k], step(k), leaves)
			}
		}
	case []any:
		for i := range x {
			collect(x[i], step(i), leaves)
		}
	case string, int64:
		*leaves = append(*leaves, at)
	}
}

func mutate(v any, at []any) {
	switch s := at[0].(type) {
	case string:
		m := v.(map[string]any)
		if len(at) > 1 {
			mutate(m[s], at[1:])
		} else if i, ok := m[s].(int64); ok {
			m[s] = i + 1
		} else {
			m[s] = "7"
		}
	case int:
		l := v.([]any)
		if len(at) > 1 {
			mutate(l[s], at[1:])
		} else {
			l[s] = "7"
		}
	}
}

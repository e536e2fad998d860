// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package unstable_test

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/unstable"
)

func objects(t *testing.T, text string) []manifest.Object {
	t.Helper()
	list, err := manifest.Decode("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// chance are the random values of the renderings here.
func made(t *testing.T, text string) unstable.Rendering {
	t.Helper()
	return unstable.Rendering{Objects: objects(t, text), Chance: []string{"random1-abc", "random2-xyz", "random3-123"}}
}

func TestCompare(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	secret := func(s string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {c: " + encode(s) + "}\n"
	}
	cases := map[string]struct {
		reason string
		a, b   string
		want   []unstable.Field
	}{
		"Same":       {"Nothing differs.", head + "data: {a: x}", head + "data: {a: x}", nil},
		"Value":      {"A value of its own.", head + "data: {a: random1-abc}", head + "data: {a: random2-xyz}", []unstable.Field{{Path: []string{"data", "a"}}}},
		"Part":       {"Part of a text: the rest is known.", head + "data: {a: \"user: root\\npassword: random1-abc\"}", head + "data: {a: \"user: root\\npassword: random2-xyz\"}", []unstable.Field{{Path: []string{"data", "a"}, Pattern: "user: root\npassword: " + unstable.Gap}}},
		"Derived":    {"Of a text that is computed nothing is known.", head + "data: {a: \"sum: 11\"}", head + "data: {a: \"sum: 12\"}", []unstable.Field{{Path: []string{"data", "a"}}}},
		"Mixed":      {"Nor of one that is partly computed.", head + "data: {a: \"sum: 11, random1-abc\"}", head + "data: {a: \"sum: 12, random2-xyz\"}", []unstable.Field{{Path: []string{"data", "a"}}}},
		"Encoded":    {"Inside a Secret the decoded text counts.", secret("url=http://u:random1-abc@h"), secret("url=http://u:random2-xyz@h"), []unstable.Field{{Path: []string{"data", "c"}, Pattern: "url=http://u:" + unstable.Gap + "@h", Encoded: true}}},
		"Named":      {"Elements of lists go by their name.", head + "list: [{name: p, v: random1-abc}, {name: q, v: z}]", head + "list: [{name: p, v: random2-xyz}, {name: q, v: z}]", []unstable.Field{{Path: []string{"list", "[name=p]", "v"}}}},
		"Indexed":    {"Or by their place.", head + "list: [random1-abc, z]", head + "list: [random2-xyz, z]", []unstable.Field{{Path: []string{"list", "[0]"}}}},
		"Length":     {"A list of another length differs as a whole.", head + "list: [a]", head + "list: [a, b]", []unstable.Field{{Path: []string{"list"}}}},
		"Key":        {"So does a key that is not always there.", head + "data: {a: x}", head + "data: {b: x}", []unstable.Field{{Path: []string{"data", "a"}}, {Path: []string{"data", "b"}}}},
		"Name":       {"An object with another name is another object.", head, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", []unstable.Field{{}}},
		"TwoOfAKind": {"Objects of one key are compared in order.", head + "data: {a: x}\n---\n" + head + "data: {a: y}", head + "data: {a: x}\n---\n" + head + "data: {a: y}", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := made(t, tc.a), made(t, tc.b)
			var got unstable.Fields
			got.Compare(a, b, false)
			if diff := cmp.Diff(tc.want, got.Fields); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			var other unstable.Fields
			other.Compare(b, a, false)
			if name != "Name" && name != "Key" && name != "Length" && got.Digest(a.Objects) != other.Digest(b.Objects) {
				t.Error("two renderings of one input have two digests")
			}
		})
	}
}

// A change in Git must not hide behind a value that is kept.
func TestTheRestOfATextCounts(t *testing.T) {
	text := func(level, token string) unstable.Rendering {
		return made(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"level: "+level+"\\ntoken: "+token+"\"}\n")
	}
	var f, changed unstable.Fields
	f.Compare(text("LEVEL", "random1-abc"), text("LEVEL", "random2-xyz"), false)
	for value, fits := range map[string]bool{
		"level: LEVEL\ntoken: live": true, "level: other\ntoken: live": false, "level: LEVEL\ntoken: live\n": true, "": false,
	} {
		if got := f.Fields[0].Fits(value); got != fits {
			t.Errorf("a live value %q: fits %v, want %v", value, got, fits)
		}
	}
	changed.Compare(text("other", "random1-abc"), text("other", "random2-xyz"), false)
	if f.Digest(text("LEVEL", "random1-abc").Objects) == changed.Digest(text("other", "random1-abc").Objects) {
		t.Error("the digest does not see the change")
	}
}

func TestWhatTheClusterAnsweredDoesNotCountAsAChange(t *testing.T) {
	text := func(value string) unstable.Rendering {
		return made(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "+value+", b: user "+value+", c: x}\n")
	}
	var before, after unstable.Fields
	before.Compare(text("random1-abc"), text("random2-xyz"), false)
	after.Compare(text("live"), text("random3-123"), true)
	if before.Digest(text("random1-abc").Objects) != after.Digest(text("live").Objects) {
		t.Error("as soon as the object exists the set would be another one")
	}
	if !after.Fields[0].Looked || after.Fields[1].Pattern != "user "+unstable.Gap {
		t.Errorf("the cluster decides it, it is not random: %+v", after.Fields)
	}
	var absent unstable.Fields
	absent.Compare(unstable.Rendering{}, text("live"), true)
	if len(absent.Absent) != 1 || absent.Absent[0].Name != "a" {
		t.Errorf("an object that is only left out because it exists: %+v", absent)
	}
}

func TestWithChangesACopy(t *testing.T) {
	before := map[string]any{"a": []any{map[string]any{"name": "x", "v": "1"}}, "b": "c"}
	after := unstable.With(before, []string{"a", "[name=x]", "v"}, "2")
	if got, _ := unstable.Get(before, []string{"a", "[0]", "v"}); got != "1" {
		t.Error("the original was changed")
	}
	if got, _ := unstable.Get(after, []string{"a", "[0]", "v"}); got != "2" {
		t.Errorf("got %v", got)
	}
	if got, _ := unstable.Get(unstable.With(before, []string{"m", "n"}, "2"), []string{"m", "n"}); got != "2" {
		t.Errorf("a map that is not there yet: %v", got)
	}
}

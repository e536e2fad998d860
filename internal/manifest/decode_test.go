// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestDecode(t *testing.T) {
	type object struct {
		Name string
		Line int
	}
	cases := map[string]struct {
		reason string
		file   string
		in     string
		want   []object
	}{
		"Documents": {
			reason: "Documents without content are left out; the line is that of the first key, not of a comment.",
			in:     "# only a comment\n---\n---\n# about a\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nnull\n---\n\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n...\n",
			want:   []object{{"a", 5}, {"b", 12}},
		},
		"List": {
			reason: "A list becomes its items, each with its own line.",
			in:     "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: b}\n",
			want:   []object{{"a", 4}, {"b", 7}},
		},
		"TypedList": {
			reason: "Items of a typed list take kind and version from the list.",
			in:     "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n",
			want:   []object{{"a", 4}},
		},
		"EmptyList": {
			reason: "An empty list holds no objects.",
			in:     "apiVersion: v1\nkind: List\nitems: []\n",
		},
		"ItemsThatAreNoList": {
			reason: "A kind that merely has a field called items is an object.",
			in:     "apiVersion: example.com/v1\nkind: Basket\nmetadata: {name: a}\nitems: [1, 2]\n",
			want:   []object{{"a", 1}},
		},
		"GenerateName": {
			reason: "A generated name is a name.",
			in:     "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}\n",
			want:   []object{{"", 1}},
		},
		"JSON": {
			reason: "JSON streams and JSON lists have lines too.",
			file:   "a.json",
			in:     "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n \"metadata\": {\"name\": \"a\"}}\n{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n  {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"b\"}}]}\n",
			want:   []object{{"a", 1}, {"b", 4}},
		},
		"FlowMapping": {
			reason: "YAML that starts with a brace is still YAML.",
			in:     "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}} # no JSON\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
			want:   []object{{"a", 1}, {"b", 3}},
		},
		"Empty": {reason: "An empty file holds no objects.", in: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.file == "" {
				tc.file = "dir/a.yaml"
			}
			objects, err := manifest.Decode(tc.file, []byte(tc.in))
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			var got []object
			for _, o := range objects {
				got = append(got, object{o.GetName(), o.Provenance.Line})
				if o.Provenance.File != tc.file || o.GetKind() == "" || o.GetAPIVersion() == "" {
					t.Errorf("%s\nincomplete object: %+v", tc.reason, o)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\n"
	cases := map[string]struct {
		reason string
		file   string
		in     string
		line   int
		words  []string
	}{
		"Scanner":         {reason: "A tab cannot indent.", in: head + "metadata:\n\tname: a\n", line: 4, words: []string{"invalid YAML"}},
		"Structure":       {reason: "A mapping inside a scalar.", in: head + "metadata:\n  name: a\ndata:\n  a: b: c\n", line: 6, words: []string{"invalid YAML", "mapping values are not allowed"}},
		"SecondDocument":  {reason: "Lines count through the whole file.", in: head + "metadata: {name: a}\n---\n" + head + "metadata:\n  - a\n  b: c\n", line: 9, words: []string{"invalid YAML"}},
		"Indentation":     {reason: "The line is where the text goes wrong, give or take the parser's view.", in: head + "metadata:\n  name: a\n labels: {}\n", line: 5, words: []string{"invalid YAML"}},
		"UnknownAnchor":   {reason: "An alias needs its anchor.", in: head + "metadata: {name: *a}\n", line: 3, words: []string{"anchor"}},
		"RepeatedKey":     {reason: "The second one is named.", in: head + "metadata: {name: a}\ndata:\n  a: one\n  b: two\n  a: three\n", line: 7, words: []string{`key "a"`}},
		"NoKind":          {reason: "What is missing is named.", in: "apiVersion: v1\nmetadata: {name: a}\n", line: 1, words: []string{"not a Kubernetes object", "kind is missing"}},
		"Values":          {reason: "A values file is no manifest.", in: "replicas: 3\n", line: 1, words: []string{"apiVersion and kind are missing"}},
		"NoName":          {reason: "An object needs a name.", in: head + "metadata: {labels: {a: b}}\n", line: 1, words: []string{"ConfigMap: metadata.name is missing"}},
		"NoMetadata":      {reason: "An object needs metadata.", in: head, line: 1, words: []string{"metadata.name is missing"}},
		"NumberAsName":    {reason: "A number is no name.", in: head + "metadata: {name: 17}\n", line: 1, words: []string{"metadata.name is the number 17", "quotes"}},
		"UnquotedWave":    {reason: "The accessors would read every annotation as absent.", in: head + "metadata:\n  name: a\n  annotations: {argocd.argoproj.io/sync-wave: 1}\n", line: 1, words: []string{"argocd.argoproj.io/sync-wave is the number 1", "quotes"}},
		"List":            {reason: "A bare list is no object.", in: "- a\n- b\n", line: 1, words: []string{"a list, not a mapping"}},
		"Text":            {reason: "Prose is no object.", in: "hello\n", line: 1, words: []string{"a string, not a mapping"}},
		"BadItem":         {reason: "An error in a list item has the item's line.", in: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- foo: bar\n", line: 7, words: []string{"are missing"}},
		"JSONSyntax":      {reason: "A file called JSON must be JSON.", file: "a.json", in: "{\"apiVersion\": \"v1\",\n\"kind\" \"ConfigMap\"}\n", line: 2, words: []string{"invalid JSON"}},
		"JSONEnd":         {reason: "Truncated JSON.", file: "a.json", in: "{\"apiVersion\": \"v1\",\n\"kind\": \"ConfigMap\"", line: 2, words: []string{"invalid JSON", "unexpected end"}},
		"JSONRepeatedKey": {reason: "JSON hides repeated keys otherwise.", file: "a.json", in: "{\"apiVersion\": \"v1\",\n\"kind\": \"ConfigMap\",\n\"kind\": \"Secret\"}", line: 3, words: []string{`key "kind"`}},
		"Infinity":        {reason: "JSON has no infinity.", in: head + "metadata: {name: a}\nx: .inf\n", line: 4, words: []string{".inf"}},
		"SelfAlias":       {reason: "A cycle cannot be expanded.", in: head + "metadata: {name: a}\nx: &x\n  y: *x\n", line: 5, words: []string{"contains itself"}},
		"Laughs":          {reason: "Aliases must not fill the memory.", in: head + "metadata: {name: a}\n" + laughs(), line: 4, words: []string{"aliases expand"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.file == "" {
				tc.file = "dir/a.yaml"
			}
			_, err := manifest.Decode(tc.file, []byte(tc.in))
			var fault *manifest.ParseError
			if !errors.As(err, &fault) {
				t.Fatalf("%s\nwant a ParseError, got %v", tc.reason, err)
			}
			if fault.File != tc.file || fault.Line != tc.line {
				t.Errorf("%s\nwant line %d, got %v", tc.reason, tc.line, err)
			}
			for _, w := range tc.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s\nwant %q in: %v", tc.reason, w, err)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s\nmore than one line: %q", tc.reason, err)
			}
		})
	}
}

// laughs is a document of a few lines that aliases blow up to 10^9 values.
func laughs() string {
	var b strings.Builder
	b.WriteString("l0: &l0 [a, a, a, a, a, a, a, a, a, a]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	return b.String()
}

func TestDecodeTolerant(t *testing.T) {
	objects, repeated, err := manifest.DecodeTolerant("t.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: one\n  a: two\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := objects[0].Object["data"].(map[string]any)["a"]; got != "two" {
		t.Errorf("the last value must win, got %v", got)
	}
	if len(repeated) != 1 || repeated[0].Line != 6 {
		t.Errorf("want one remark for line 6, got %v", repeated)
	}
}

// Scalars that versions of YAML and decoders read differently.
var scalars = []string{
	"yes", "No", "on", "OFF", "y", "N", "true", "~", "null", "", "Null",
	"0777", "0o17", "0x1F", "0b101", "-0b11", "08", "1_000", "+5", "-7", "12e3", "1.5", "1.0", ".5", "5.", "1e400", "-1.5e-3",
	"9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1e21", "1e3",
	"2001-12-14", "2001-12-14T21:59:43Z", "12:30:45", "1:30", "0.0.1", "1.2.3", "_1", "1__2", "-", "+", ".", "..", "nan", "inf", "-.5", "+.5",
	"'yes'", "\"010\"", "!!str 10", "!!int \"10\"", "!!float 1", "!!bool \"yes\"", "|\n    a\n    b", ">-\n    a\n    b", "=", "0.1e", "1e", "0x", "٣",
}

// kubectl reads YAML with sigs.k8s.io/yaml; so do Helm and Argo CD.
func TestDecodeReadsScalarsLikeKubectl(t *testing.T) {
	for _, s := range scalars {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nspec:\n  x: " + s + "\n"
		sameAsKubectl(t, text)
		if !strings.HasPrefix(s, "9223372036854775808") && !strings.HasPrefix(s, "1844674407370955161") {
			sameAsKubectl(t, strings.Replace(text, "x: "+s, "? "+s+"\n  : v", 1))
		}
	}
}

func sameAsKubectl(t interface {
	Helper()
	Errorf(string, ...any)
}, text string,
) {
	t.Helper()
	var want map[string]any
	asJSON, errWant := sigsyaml.YAMLToJSON([]byte(text))
	if errWant == nil {
		errWant = utiljson.Unmarshal(asJSON, &want)
	}
	objects, err := manifest.Decode("a.yaml", []byte(text))
	if (err == nil) != (errWant == nil) {
		t.Errorf("%s\nkubectl: %v\nDecode: %v", text, errWant, err)
		return
	}
	if err != nil {
		return
	}
	if diff := cmp.Diff(want, objects[0].Object); diff != "" {
		t.Errorf("%s\n-kubectl +Decode\n%s", text, diff)
	}
}

func TestDecodeAgreesWithKubectlOnAnyNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[-+]?[0-9_.]{1,8}([eE][-+]?[0-9]{1,2})?`).Draw(t, "scalar")
		sameAsKubectl(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nx: "+s+"\n")
	})
}

func TestDecodeMergesMappings(t *testing.T) {
	sameAsKubectl(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbase: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\none: {<<: *base, a: 9}\ntwo:\n  <<: [*base, *more]\n  d: 5\n")
}

func TestDecodeTypes(t *testing.T) {
	objects, err := manifest.Decode("a.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {empty: }}\nx: [1, 1.5, yes, text, ~, {a: b}, []]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []any{int64(1), 1.5, true, "text", nil, map[string]any{"a": "b"}, []any{}}
	if diff := cmp.Diff(want, objects[0].Object["x"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"empty": ""}, objects[0].GetLabels()); diff != "" {
		t.Error(diff)
	}
	objects[0].DeepCopy() // panics on types the API machinery does not know
}

func FuzzDecode(f *testing.F) {
	for _, s := range scalars {
		f.Add("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nx: " + s + "\n")
	}
	f.Add("{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{}]}")
	f.Add("apiVersion: v1\nkind: List\nitems:\n- a: &a [*a]\n  <<: *a\n")
	f.Add(laughs())
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := manifest.Decode("a.yaml", []byte(text))
		var fault *manifest.ParseError
		if err != nil && !errors.As(err, &fault) {
			t.Fatalf("an error that names no place: %v", err)
		}
		if fault != nil && (fault.Line < 0 || fault.Line > breaks(text)+2) {
			t.Fatalf("line %d of %d", fault.Line, breaks(text)+1)
		}
		for _, o := range objects {
			if o.GetKind() == "" || o.GetName()+o.GetGenerateName() == "" {
				t.Fatalf("incomplete object: %v", o.Object)
			}
			o.DeepCopy()
		}
	})
}

// breaks counts what YAML takes for the end of a line.
func breaks(text string) int {
	n := 0
	for _, b := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		n += strings.Count(text, b)
	}
	return n
}

func BenchmarkDecode(b *testing.B) {
	doc := "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  labels: {app: a, tier: back}\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: main\n        image: example/a:1\n        env:\n        - {name: A, value: b}\n        - {name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}\n---\n"
	data := []byte(strings.Repeat(doc, 1000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := manifest.Decode("a.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}

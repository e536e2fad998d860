// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// FuzzMutated takes the examples of a page and puts values into them where others
// belong, so that checks meet objects of a known kind and an unknown shape: none may
// panic, and the same input gives the same findings.
func FuzzMutated(f *testing.F) {
	codes := verify.Codes()
	for i := range codes {
		f.Add(uint8(i), []byte{3, 1, 7, 2, 11, 5, 1, 1, 4, 9})
	}
	f.Add(uint8(0), []byte("a longer way through the objects, and many changes on it"))
	f.Fuzz(func(t *testing.T, page uint8, steps []byte) {
		p := readPage(t, codes[int(page)%len(codes)].Name)
		m := mutation{steps: steps}
		before, now := m.objects(p.before), m.objects(slices.Concat(p.bad, p.good))
		run := func() []string {
			in := plan.Input{App: "shop", Namespace: "demo", Objects: now, Options: plan.Options{Prune: true, PruneGuard: true, CreateNamespace: true}}
			base, live := map[manifest.Key]manifest.Object{}, cluster{}
			in.Live = map[manifest.Key]plan.Live{}
			for _, o := range before {
				base[o.Key()], live[o.Key()] = o, o
				in.Prune = append(in.Prune, plan.Live{Object: o})
			}
			built := plan.Build(in)
			texts := texts(verify.Run(verify.Input{Plan: built, Base: base, Live: live, Table: manifest.Table{{Path: "spec.a[*].b"}}}))
			plan.CheckSchemas(built, false)
			verify.Suppressions(built, nil)
			verify.Deadlocks(built)
			return texts
		}
		if a, b := run(), run(); !slices.Equal(a, b) {
			t.Errorf("two runs differ: %q and %q", a, b)
		}
	})
}

// mutation changes objects in places and ways that its steps say.
type mutation struct {
	steps []byte
	at    int
}

func (m *mutation) next() int {
	if len(m.steps) == 0 {
		return 0
	}
	m.at++
	return int(m.steps[m.at%len(m.steps)]) + m.at
}

// maxMutations bounds the changes of one object.
const maxMutations = 3

func (m *mutation) objects(list []manifest.Object) []manifest.Object {
	var out []manifest.Object
	for _, o := range list {
		o.Unstructured = o.DeepCopy()
		for range min(len(m.steps), maxMutations) {
			m.change(o.Object)
		}
		// What decoding guarantees stays so.
		if o.GetName() == "" && o.GetGenerateName() == "" || o.GetKind() == "" || malformed(o) {
			continue
		}
		out = append(out, o)
	}
	return out
}

// malformed reports metadata that no file can have: decoding refuses it.
func malformed(o manifest.Object) bool {
	data, err := o.MarshalJSON()
	if err != nil {
		return true
	}
	_, err = manifest.Decode("f.json", data)
	return err != nil
}

// change walks down from v and replaces the value that it ends at.
func (m *mutation) change(v any) {
	for range 12 {
		switch at := v.(type) {
		case map[string]any:
			if len(at) == 0 {
				at["a"] = m.value()
				return
			}
			names := slices.Sorted(maps.Keys(at))
			name := names[m.next()%len(names)]
			if m.next()%5 == 0 {
				at[name] = m.value()
				return
			}
			v = at[name]
		case []any:
			if len(at) == 0 {
				return
			}
			i := m.next() % len(at)
			if m.next()%4 == 0 {
				at[i] = m.value()
				return
			}
			v = at[i]
		default:
			return
		}
	}
}

// value is one that seldom belongs anywhere.
func (m *mutation) value() any {
	values := []any{
		nil, "", int64(-1), int64(1 << 62), 1e300, true, "a/b/c", strings.Repeat("x", 300),
		[]any{},
		[]any{nil, "x", int64(1)},
		map[string]any{},
		map[string]any{"name": int64(1), "key": []any{}},
		"[*]", "100Mi", "-1", "until nc -z $(A) ${B:-x} $",
		[]any{map[string]any{"name": "shop"}},
	}
	return values[m.next()%len(values)]
}

// FuzzPlaintext reads value files that nobody would write.
func FuzzPlaintext(f *testing.F) {
	for _, seed := range []string{
		"password: zK8fQ2mW7vT1xB4nR6yL", "a: &a [*a]", "url: ://:@/", "x: |\n  -----BEGIN PRIVATE KEY-----", "{\"auths\": {\"a\": {\"auth\": \"\"}}}", "a: postgres://a:b@c@d/e",
		"token: \"\xff\xfe\"", "- - - - password: a", "password: [a, {b: c}]", "? {a: b}\n: c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, finding := range verify.Plaintext("values.yaml", []byte(text)) {
			if finding.At.Line < 1 || finding.At.Line > strings.Count(text, "\n")+1 {
				t.Errorf("line %d of %d", finding.At.Line, strings.Count(text, "\n")+1)
			}
		}
	})
}

// FuzzPaths matches paths and lines that nobody would write.
func FuzzPaths(f *testing.F) {
	f.Add("apps/**/a*.yaml", "apps/x/y/ab.yaml", "kind: Secret")
	f.Add(strings.Repeat("*a", 30), strings.Repeat("a", 60), "kind: \"")
	f.Add(strings.Repeat("**/", 20)+"b", strings.Repeat("a/", 40), "- kind: X # y")
	f.Fuzz(func(t *testing.T, pattern, file, template string) {
		if verify.MatchPath(pattern, file) && pattern == "" && file != "" {
			t.Error("nothing matches something")
		}
		o := decode(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")[0]
		o.Provenance.File = "t"
		found := []verify.Finding{{}}
		found[0].Subject, found[0].At.File = o.Key(), "t"
		verify.Lines(found, []manifest.Object{o}, func(string) []byte { return []byte(template) })
		if found[0].At.Line > strings.Count(template, "\n")+1 {
			t.Errorf("line %d of %d", found[0].At.Line, strings.Count(template, "\n")+1)
		}
	})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// usual are texts that the fast parser has to read itself: if it leaves them to the
// library, rendering is slow again.
func usual() map[string]string {
	return map[string]string{
		"Mapping":      "a: 1\nb: {c: yes, d: [x, 'y', \"z\"]}\n",
		"Nested":       "a:\n  b:\n    - c: 1\n      d:\n      - e\n      - - f\n        - g\n    -\n      h: i\n  j: k\n",
		"Literal":      "a: |\n  one\n\n    two\n  three\n\nb: |-\n  x\nc: |+\n  y\n\nd: >\n  folded\n  text\n\n  more\n   kept\n  end\ne: |2\n    two more\n",
		"Items":        "a:\n- b: |\n    text\n  c: d\n- e\n-\n- --flag=x\n- -1\n",
		"Plain":        "a: http://x.test:80/y#z\nb: a b  c  # why\nc: long\n  text goes\n\n  on\nd: 0777\ne: 1_000\nf: ~\ng:\nh: 2026-01-02\n",
		"Quoted":       "\"a b\": 'it''s'\nb: \"x\\n\\\"y\\\"\\t\"\n'c': \"\"\nd: '' # none\n",
		"Comments":     "# one\na: # two\n  # three\n  b: c\n# four\n\nd: [] # five\ne: {}\n",
		"Keys":         "a.b/c-d_e: 1\non: 2\n010: 3\nmy key: 4\n$x: 5\n",
		"Unicode":      "a: naïve ✓\nb: '…'\n",
		"NoLineBreak":  "a: b",
		"FlowNumbers":  "a: [1, 2.5, -3, 0x10, true, null, http://x.test/y]\nb: {x: {y: {z: [[a], []]}}}\n",
		"TabInLiteral": "a: |\n  x\ty\n  \tz\n",
	}
}

func inObject(text string) string {
	return "apiVersion: v1\nkind: X\nmetadata:\n  name: obj\nspec:\n  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// slowly decodes with the library alone.
func slowly(data []byte) ([]Object, []*ParseError, error) {
	d := decoder{file: "f.yaml", tolerant: true}
	objects, err := d.decodeYAML(data)
	return objects, d.repeated, err
}

func agree(t *testing.T, text string) (taken bool) {
	t.Helper()
	d := decoder{file: "f.yaml"}
	fast, ok := d.decodeFast([]byte(text))
	if !ok {
		return false
	}
	slow, repeated, err := slowly([]byte(text))
	if err != nil || len(repeated) > 0 {
		t.Fatalf("the fast parser takes what the library refuses (%v %v):\n%s", err, repeated, text)
	}
	if diff := cmp.Diff(slow, fast); diff != "" {
		t.Fatalf("library -, fast +\n%s\n%s", diff, text)
	}
	return true
}

func TestUsualTextsAreReadFastAndAlike(t *testing.T) {
	for name, text := range usual() {
		t.Run(name, func(t *testing.T) {
			if !agree(t, inObject(text)) || !agree(t, "# first\n\n---\n"+inObject(text)+"---\n\n---\n"+inObject(text)) {
				t.Errorf("is left to the library:\n%s", text)
			}
		})
	}
}

// What needs care is left to the library, faults above all.
func TestUnusualTextsAreLeftToTheLibrary(t *testing.T) {
	for name, text := range map[string]string{
		"Anchor": "a: &x 1\nb: 2\n", "Alias": "a: *x\n", "Merge": "<<: {a: b}\n", "Tag": "a: !!str 1\n", "Twice": "a: 1\na: 2\n",
		"ComplexKey": "? a\n: b\n", "KeyInValue": "a: b: c\n", "Tab": "a:\n\tb: c\n", "OpenQuote": "a: \"b\n  c\"\n", "OpenFlow": "a: [b,\n  c]\n",
		"Infinity": "a: .inf\n", "Reserved": "a: @b\n", "Indent": "a:\n    b: c\n  d: e\n", "NoSpace": "a:b\n", "FlowTwice": "a: {b: 1, b: 2}\n",
		"CarriageReturn": "a: b\r\nc: d\n", "NextLine": "a: b\u0085c\n", "Control": "a: \x01\n", "Invalid": "a: \xff\n", "NoContent": "a: |\nb: c\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := decoder{file: "f.yaml"}
			if objects, ok := d.decodeFast([]byte(inObject(text))); ok {
				t.Errorf("was taken: %v", objects)
			}
		})
	}
	for name, text := range map[string]string{"Mark": "\ufeffapiVersion: v1\n", "End": inObject("a: b") + "...\n", "Directive": "%YAML 1.1\n---\n" + inObject("a: b"), "List": "kind: List\napiVersion: v1\nitems:\n- a: b\n"} {
		d := decoder{file: "f.yaml"}
		if _, ok := d.decodeFast([]byte(text)); ok {
			t.Errorf("%s was taken", name)
		}
	}
}

// Every manifest of the repository reads alike.
func TestManifestsOfTheRepositoryReadAlike(t *testing.T) {
	taken := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && agree(t, string(data)) {
			taken++
		}
		return err
	})
	if err != nil || taken < 20 {
		t.Errorf("%d files were read fast (%v)", taken, err)
	}
}

func FuzzFastDecode(f *testing.F) {
	for _, text := range usual() {
		f.Add(inObject(text))
		f.Add(text)
	}
	for _, text := range []string{"a: |+\n\n\n  x\n \n", "a: >-\n x\n\n  y\n\n z\n", "- a\n- - b\n", "a: 'x\n  y'\n", "a: {b: c,}\n", "a: [b: c]\n", "a:\n- b\nc: d\n", "---\na: b\n--- c\n"} {
		f.Add(inObject(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		agree(t, text)
		agree(t, inObject(text))
	})
}

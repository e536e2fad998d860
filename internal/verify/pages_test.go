// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/verify"
)

const pages = "../../docs/checks"

// TestPages runs the examples of the documentation: the bad one of a page gives
// the page's finding, the good one does not.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, code := range verify.Codes() {
		t.Run(code.Name, func(t *testing.T) {
			t.Parallel()
			page := readPage(t, code.Name)
			if want := "Severity: " + string(code.Severity) + "\n"; !strings.Contains(page.text, want) {
				t.Errorf("the page does not say %q", strings.TrimSpace(want))
			}
			// Each code is found by one test, and by another that it can be silent: the
			// examples of its page, a situation, or what the command line is tested with.
			_, shown := situations()[code.Name]
			if page.bad == nil || page.good == nil {
				if page.bad != nil || page.good != nil {
					t.Fatal("of a bad and a good example the page has only one")
				}
				if shown == ofOtherRooms(t, code.Name) {
					t.Fatal("the page has no examples, so one test of its own must show the finding, in situations or in internal/cli")
				}
				return
			}
			bad := findings(t, page, page.bad)
			if !slices.ContainsFunc(bad, func(f verify.Finding) bool { return f.Code == code.Name }) {
				t.Errorf("the bad example does not give the finding, but %v", texts(bad))
			}
			for _, f := range findings(t, page, page.good) {
				if f.Code == code.Name {
					t.Errorf("the good example gives the finding: %s", f.Message)
				}
			}
		})
	}
}

func TestEveryPageIsOfACode(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(pages)
	if err != nil {
		t.Fatal(err)
	}
	index := read(t, "README.md")
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".md")
		if name == "README" || !strings.HasSuffix(f.Name(), ".md") {
			continue
		}
		if !slices.ContainsFunc(verify.Codes(), func(c verify.Code) bool { return c.Name == name }) {
			t.Errorf("%s describes a code that no check has", f.Name())
		}
		if !strings.Contains(index, "["+name+"]("+name+".md)") {
			t.Errorf("README.md does not list %s", name)
		}
	}
}

type page struct {
	text              string
	before, bad, good []manifest.Object
}

func readPage(t *testing.T, code string) page {
	t.Helper()
	p := page{text: read(t, code+".md")}
	p.before, p.bad, p.good = example(t, p.text, "Before"), example(t, p.text, "Bad"), example(t, p.text, "Good")
	return p
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(pages, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// example returns the objects below a heading.
func example(t *testing.T, text, heading string) []manifest.Object {
	t.Helper()
	_, section, ok := strings.Cut(text, "\n## "+heading+"\n")
	if !ok {
		return nil
	}
	_, section, _ = strings.Cut(section, "```yaml\n")
	section, _, ok = strings.Cut(section, "\n```")
	if !ok {
		t.Fatalf("no example below %q", heading)
	}
	return decode(t, section)
}

func decode(t *testing.T, text string) []manifest.Object {
	t.Helper()
	objects, err := manifest.Decode("example.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// findings verifies a release, against the one before as a cluster holds it and
// as Git has it.
func findings(t *testing.T, p page, objects []manifest.Object) []verify.Finding {
	t.Helper()
	namespace := "demo"
	if strings.HasPrefix(p.text, "# namespace-missing") {
		namespace = ""
	}
	in := plan.Input{App: "shop", Namespace: namespace, Objects: objects}
	found := verify.Run(verify.Input{Plan: plan.Build(in), Base: placed(p.before)})
	if p.before == nil {
		return found
	}
	live := placed(p.before)
	in.Options = plan.Options{Prune: true, PruneGuard: true}
	in.Live = map[manifest.Key]plan.Live{}
	rendered := placed(objects)
	for key, obj := range live {
		if _, ok := rendered[key]; ok {
			in.Live[key] = plan.Live{Object: obj}
		} else {
			in.Prune = append(in.Prune, plan.Live{Object: obj})
		}
	}
	return append(found, verify.Run(verify.Input{Plan: plan.Build(in), Live: cluster(live)})...)
}

// placed returns objects by their keys, in the namespace that the plan gives them.
func placed(objects []manifest.Object) map[manifest.Key]manifest.Object {
	if objects == nil {
		return nil
	}
	byKey := map[manifest.Key]manifest.Object{}
	for _, g := range plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects}).Groups {
		for _, s := range g.Steps {
			byKey[s.Key] = *s.Object
		}
	}
	return byKey
}

// cluster is what a cluster holds.
type cluster map[manifest.Key]manifest.Object

// Get implements verify.Live.
func (c cluster) Get(k manifest.Key) (*unstructured.Unstructured, bool) {
	if obj, ok := c[k]; ok {
		return obj.Unstructured, true
	}
	return nil, true
}

func texts(found []verify.Finding) []string {
	list := make([]string, len(found))
	for i, f := range found {
		list[i] = string(f.Severity) + " " + f.Code + ": " + f.Message
	}
	return list
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/wavetrain/wavetrain"

// layers lists the rooms from the bottom up. A room may import rooms of lower
// layers; inside a layer only what inLayer allows. Rooms below a listed one
// ("render/helm") belong to it.
func layers() [][]string {
	return [][]string{
		{
			"api/v1alpha1",
			"api/release/v1alpha1",
			"api/crds",
			"docs/checks",
		},
		{
			"internal/field",
			"internal/manifest",
			"internal/diag",
			"internal/event",
			"internal/jq",
		},
		{
			"internal/health",
			"internal/diff",
			"internal/inventory",
			"internal/plan",
			"internal/verify",
			"internal/status",
			"internal/report",
			"internal/rbac",
			"internal/rollout/machine",
			"internal/config",
			"internal/project",
			"internal/window",
			"internal/settings",
		},
		{
			"internal/source",
			"internal/render",
			"internal/cluster",
			"internal/release",
			"internal/sandbox",
			"internal/webhook",
			"internal/gitserver",
			"internal/timeline",
			"internal/script",
		},
		{
			"internal/pipeline",
			"internal/rollout",
			"internal/why",
		},
		{
			"internal/controller",
			"internal/server",
			"internal/rehearse",
		},
		{
			"internal/cli",
		},
		{
			"cmd/wavetrain",
			"conformance",
			"bench",
		},
	}
}

// inLayer are the imports allowed between rooms of one layer.
func inLayer() map[string][]string {
	return map[string][]string{
		"internal/manifest":        {"internal/field"},
		"internal/diag":            {"internal/manifest"},
		"internal/event":           {"internal/manifest", "internal/diag"},
		"api/crds":                 {"api/v1alpha1", "api/release/v1alpha1"},
		"internal/inventory":       {"internal/diff"},
		"internal/settings":        {"internal/diff", "internal/inventory"},
		"internal/plan":            {"internal/health", "internal/diff", "internal/inventory"},
		"internal/rollout/machine": {"internal/health", "internal/plan"},
		"internal/verify":          {"internal/health", "internal/diff", "internal/inventory", "internal/plan"},
		"internal/status":          {"internal/health", "internal/diff", "internal/inventory", "internal/plan", "internal/rollout/machine"},
		"internal/report":          {"internal/health", "internal/diff", "internal/inventory", "internal/plan", "internal/verify", "internal/config"},
		"internal/pipeline":        {"internal/rollout"},
		"internal/rehearse":        {"internal/controller"},
	}
}

// pure rooms take values and return values.
func pure() []string {
	return []string{
		"internal/field",
		"internal/manifest",
		"internal/diag",
		"internal/event",
		"internal/health",
		"internal/diff",
		"internal/inventory",
		"internal/plan",
		"internal/verify",
		"internal/status",
		"internal/report",
		"internal/rbac",
		"internal/rollout/machine",
		"internal/project",
		"internal/window",
		"internal/settings",
	}
}

// impure says why a pure room must not import a package.
func impure() map[string]string {
	return map[string]string{
		"os":                             "it must not touch the machine",
		"os/exec":                        "it must not start processes",
		"net":                            "it must not use the network",
		"net/http":                       "it must not use the network",
		"log":                            "only long-running rooms log",
		"log/slog":                       "only long-running rooms log",
		"math/rand":                      "the same input must give the same output",
		"math/rand/v2":                   "the same input must give the same output",
		"crypto/rand":                    "the same input must give the same output",
		"context":                        "what does no I/O needs no cancelling",
		"k8s.io/client-go":               "clients belong to the cluster room",
		"sigs.k8s.io/controller-runtime": "clients belong to the cluster room",
	}
}

type pkg struct {
	ImportPath   string
	Dir          string
	Name         string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
}

func (p pkg) room() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

func load(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,GoFiles,TestGoFiles,XTestGoFiles,Imports", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// listed returns the room of the table that r is or lies in, with its layer.
func listed(r string) (string, int, bool) {
	best, layer := "", -1
	for i, rooms := range layers() {
		for _, room := range rooms {
			if (r == room || strings.HasPrefix(r, room+"/")) && len(room) > len(best) {
				best, layer = room, i
			}
		}
	}
	return best, layer, best != ""
}

func TestImportsGoDownward(t *testing.T) {
	for _, p := range load(t) {
		if p.room() == "internal/archtest" {
			continue
		}
		from, fromLayer, ok := listed(p.room())
		if !ok {
			t.Errorf("%s is not in the table of rooms: give it a place", p.room())
			continue
		}
		if isTestSupport(p.room()) {
			continue
		}
		for _, imported := range p.Imports {
			rel, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			to, toLayer, ok := listed(rel)
			if !ok || to == from || toLayer < fromLayer {
				continue
			}
			if toLayer == fromLayer && slices.Contains(inLayer()[from], to) {
				continue
			}
			t.Errorf("%s imports %s, which is not below it", p.room(), rel)
		}
	}
}

// isTestSupport tells packages that only tests import (name ending in "test"),
// like net/http/httptest; they may reach sideways.
func isTestSupport(room string) bool { return strings.HasSuffix(room, "test") }

func TestPureRoomsStayPure(t *testing.T) {
	for _, p := range load(t) {
		from, _, _ := listed(p.room())
		if !slices.Contains(pure(), from) || isTestSupport(p.room()) {
			continue
		}
		for _, imported := range p.Imports {
			for bad, why := range impure() {
				if imported == bad || strings.HasPrefix(imported, bad+"/") && strings.Contains(bad, ".") {
					t.Errorf("%s imports %s: %s", p.room(), imported, why)
				}
			}
		}
		for _, name := range p.GoFiles {
			forbidCalls(t, filepath.Join(p.Dir, name), "time", "Now", "Since", "Until", "Sleep", "After", "NewTimer", "NewTicker")
		}
	}
}

func TestOnlyTheCommandLineReadsTheEnvironmentAndPrints(t *testing.T) {
	for _, p := range load(t) {
		from, _, _ := listed(p.room())
		if from == "internal/cli" || from == "cmd/wavetrain" || isTestSupport(p.room()) || p.room() == "internal/archtest" {
			continue
		}
		for _, name := range p.GoFiles {
			file := filepath.Join(p.Dir, name)
			forbidCalls(t, file, "os", "Getenv", "LookupEnv", "Environ", "ExpandEnv")
			forbidCalls(t, file, "fmt", "Print", "Printf", "Println")
		}
	}
}

func TestNames(t *testing.T) {
	for _, p := range load(t) {
		for part := range strings.SplitSeq(p.room(), "/") {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "base"}, part) {
				t.Errorf("%s: a package is named for what it does", p.room())
			}
		}
	}
}

// forbidCalls reports uses of pkg.name in the file.
func forbidCalls(t *testing.T, file, pkgPath string, names ...string) {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	local := ""
	for _, spec := range parsed.Imports {
		if strings.Trim(spec.Path.Value, `"`) != pkgPath {
			continue
		}
		local = pkgPath
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	if local == "" {
		return
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == local && slices.Contains(names, sel.Sel.Name) {
			t.Errorf("%s: %s.%s is not allowed here", fset.Position(n.Pos()), local, sel.Sel.Name)
		}
		return true
	})
}

// maxLines is where a file shows that a concept in it has no name yet.
const maxLines = 600

func TestEveryPackageIsDescribedAndEveryFileLicensedAndShort(t *testing.T) {
	for _, p := range load(t) {
		described := false
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			if strings.HasPrefix(text, "// Code generated") || strings.Contains(name, "zz_generated") {
				continue
			}
			if !strings.HasPrefix(text, "// Copyright The Wavetrain Authors\n// SPDX-License-Identifier: Apache-2.0\n") {
				t.Errorf("%s/%s does not begin with the licence lines", p.room(), name)
			}
			if n := strings.Count(text, "\n"); n > maxLines && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s/%s has %d lines, more than %d", p.room(), name, n, maxLines)
			}
			if strings.Contains(text, "\n// Package "+p.Name+" ") || p.Name == "main" && strings.Contains(text, "\n// Command ") {
				described = true
			}
		}
		if !described {
			t.Errorf("%s has no package comment", p.room())
		}
	}
}

func TestRepositoryNamesNoPlaceOutsideOfIt(t *testing.T) {
	for _, dir := range []string{"internal", "cmd", "api", "docs", "examples", "sandbox"} {
		err := filepath.WalkDir(filepath.Join(root(t), dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".sum") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, place := range []string{"../" + "shared/", "/work" + "/main", "/work" + "/shared"} {
				if strings.Contains(string(data), place) {
					t.Errorf("%s names %s", path, place)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

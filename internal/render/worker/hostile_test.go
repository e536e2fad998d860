// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/worker"
)

// archive makes a packed chart of entries that no packer would make.
func archive(t *testing.T, entries ...tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	packed := tar.NewWriter(zipped)
	content := "apiVersion: v2\nname: sub\nversion: 0.1.0\n"
	for _, h := range append([]tar.Header{{Name: "sub/Chart.yaml", Typeflag: tar.TypeReg}}, entries...) {
		h.Mode = 0o644
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		err := packed.WriteHeader(&h)
		if err == nil && h.Typeflag == tar.TypeReg {
			_, err = packed.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(packed.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// laughs are a few lines that aliases blow up to 10^9 values.
func laughs() string {
	var b strings.Builder
	b.WriteString("l0: &l0 [a, a, a, a, a, a, a, a, a, a]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// Every kind of hostile source costs its own application an error that says what is
// wrong, and the worker, or the next one, goes on.
func TestHostileSources(t *testing.T) {
	small := worker.Limits{Memory: 256 << 20, CPU: 20 * time.Second}
	helm := func(o v1alpha1.ApplicationSourceHelm) render.Source {
		return render.Source{Path: "chart", Helm: &o}
	}
	tgz := func(entries ...tar.Header) tree {
		return chart(map[string]string{"charts/sub.tgz": archive(t, entries...)})
	}
	cases := map[string]struct {
		files  tree
		source render.Source
		limits worker.Limits
		want   []string
	}{
		"ZipSlipInAChart": {
			files: tgz(tar.Header{Name: "sub/templates/../../../x.yaml", Typeflag: tar.TypeReg}), source: helm(v1alpha1.ApplicationSourceHelm{}),
			want: []string{"charts/sub.tgz"},
		},
		"DrivePathInAChart": {
			files: tgz(tar.Header{Name: "sub/c:/x.yaml", Typeflag: tar.TypeReg}), source: helm(v1alpha1.ApplicationSourceHelm{}),
			want: []string{"charts/sub.tgz"},
		},
		"ValueFileAboveTheRepository": {
			files: chart(nil), source: helm(v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"../../../../etc/passwd"}}), want: []string{"../../../../etc/passwd leaves the repository"},
		},
		"FileParameterAboveTheRepository": {
			files: chart(nil), source: helm(v1alpha1.ApplicationSourceHelm{FileParameters: []v1alpha1.HelmFileParameter{{Name: "a", Path: "../../etc/passwd"}}}), want: []string{"leaves the repository"},
		},
		"PathAboveTheRepository": {files: chart(nil), source: render.Source{Path: "chart/../../x"}, want: []string{"leaves the repository"}},
		"BaseAboveTheRepository": {
			files: files(map[string]string{"k/kustomization.yaml": "resources: [../../../base]\n"}), source: render.Source{Path: "k"}, want: []string{"k/kustomization.yaml", "leaves the repository"},
		},
		"LaughsInValues":    {files: chart(map[string]string{"values.yaml": laughs(), "templates/a.yaml": named("a")}), source: helm(v1alpha1.ApplicationSourceHelm{}), limits: small, want: []string{"excessive aliasing"}},
		"LaughsInAManifest": {files: files(map[string]string{"d/a.yaml": named("a") + laughs()}), source: render.Source{Path: "d"}, limits: small, want: []string{"d/a.yaml:", "aliases expand"}},
		"LaughsInOutput":    {files: chart(map[string]string{"templates/a.yaml": named("a") + laughs()}), source: helm(v1alpha1.ApplicationSourceHelm{}), limits: small, want: []string{"chart/templates/a.yaml", "aliases expand"}},
		"LaughsInAKustomization": {
			files: files(map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": named("a") + laughs()}), source: render.Source{Path: "k"}, limits: small, want: []string{"k"},
		},
		"RecursionOfInclude":  {files: chart(map[string]string{"templates/a.yaml": `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`}), source: helm(v1alpha1.ApplicationSourceHelm{}), want: []string{"nested reference"}},
		"RecursionOfTpl":      {files: chart(map[string]string{"values.yaml": "x: '{{ tpl .Values.x . }}'\n", "templates/a.yaml": `{{ tpl .Values.x . }}`}), source: helm(v1alpha1.ApplicationSourceHelm{}), limits: small, want: []string{"chart"}},
		"RecursionOfBases":    {files: files(map[string]string{"k/kustomization.yaml": "resources: [../l]\n", "l/kustomization.yaml": "resources: [../k]\n"}), source: render.Source{Path: "k"}, want: []string{"cycle"}},
		"RecursionOfJsonnet":  {files: files(map[string]string{"d/a.jsonnet": "local f(x) = f(x + 1) + 1; f(0)"}), source: render.Source{Path: "d"}, want: []string{"a.jsonnet", "max stack frames"}},
		"GigabyteOfOutput":    {files: chart(map[string]string{"templates/a.yaml": "{{ $x := repeat 1000 \"x\" }}{{ range until 1000000 }}{{ $x }}\n{{ end }}"}), source: helm(v1alpha1.ApplicationSourceHelm{}), limits: small, want: []string{"memory (256 MiB)"}},
		"GigabyteOfJsonnet":   {files: files(map[string]string{"d/a.jsonnet": `std.foldl(function(s, i) s + s, std.range(1, 30), "x")`}), source: render.Source{Path: "d"}, limits: small, want: []string{"memory (256 MiB)"}},
		"LoopInAChart":        {files: chart(map[string]string{"templates/a.yaml": "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"}), source: helm(v1alpha1.ApplicationSourceHelm{}), limits: worker.Limits{CPU: time.Second}, want: []string{"processor time (1s)"}},
		"InvalidUTF8InOutput": {files: chart(map[string]string{"templates/a.yaml": named("a") + "data: {a: \xff\xfe}\n"}), source: helm(v1alpha1.ApplicationSourceHelm{}), want: []string{"chart/templates/a.yaml", "UTF-8"}},
		"InvalidUTF8InAFile":  {files: files(map[string]string{"d/a.yaml": named("a") + "data: {a: \xff}\n"}), source: render.Source{Path: "d"}, want: []string{"d/a.yaml:", "UTF-8"}},
		"InvalidUTF8InValues": {files: chart(map[string]string{"values.yaml": "a: \xff\n"}), source: helm(v1alpha1.ApplicationSourceHelm{}), want: []string{"UTF-8"}},
		"DuplicateKeys":       {files: files(map[string]string{"d/a.yaml": named("a") + "data:\n  b: c\n  b: d\n"}), source: render.Source{Path: "d"}, want: []string{"d/a.yaml:6", `key "b" is already set`}},
		"Tabs":                {files: files(map[string]string{"d/a.yaml": named("a") + "data:\n\tb: c\n"}), source: render.Source{Path: "d"}, want: []string{"d/a.yaml:5", "invalid YAML"}},
		"CycleOfAnchors":      {files: files(map[string]string{"d/a.yaml": named("a") + "data: &x\n  y: *x\n"}), source: render.Source{Path: "d"}, want: []string{"d/a.yaml:5", "contains itself"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, worker.Options{Size: 1, Limits: tc.limits})
			tc.source.Files = tc.files
			_, err := pool.Render(t.Context(), tc.source, render.Target{AppName: "shop"})
			if err == nil {
				t.Fatal("it was rendered")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("want one line with %q, got %v", want, err)
				}
			}
			if _, err := pool.Render(t.Context(), render.Source{Files: chart(map[string]string{"templates/a.yaml": named("a")}), Path: "chart"}, render.Target{AppName: "shop"}); err != nil {
				t.Errorf("the next rendering: %v", err)
			}
		})
	}
}

// A link in a packed chart leads nowhere: what it names is not read.
func TestALinkInAPackedChartIsNotFollowed(t *testing.T) {
	pool := newPool(t, worker.Options{Size: 1})
	for _, kind := range []byte{tar.TypeSymlink, tar.TypeLink} {
		content := archive(t, tar.Header{Name: "sub/files/secret", Typeflag: kind, Linkname: "/etc/passwd"})
		src := render.Source{Path: "chart", Files: chart(map[string]string{
			"charts/sub.tgz": content, "templates/a.yaml": named("a") + "data: {secret: {{ .Files.Get \"charts/sub/files/secret\" | quote }}}\n",
		})}
		result, err := pool.Render(t.Context(), src, render.Target{AppName: "shop"})
		if err != nil {
			continue // refused is as good
		}
		if got := unpack(t, result)[0].Object["data"]; fmt.Sprint(got) != "map[secret:]" {
			t.Errorf("link of type %c: %v", kind, got)
		}
	}
}

// What looks odd and is allowed means what kubectl takes it for.
func TestOddTextsThatAreAllowed(t *testing.T) {
	pool := newPool(t, worker.Options{Size: 1})
	plain := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  b: c\n  d: e\n"
	for name, text := range map[string]string{
		"CRLF":        strings.ReplaceAll(plain, "\n", "\r\n"),
		"Mark":        "\ufeff" + plain,
		"MarkAndCRLF": "\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"),
		"Anchors":     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: &n a\n  labels: {}\nx: &x {b: c}\ndata:\n  <<: *x\n  d: e\n",
		"MergeList":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: [&x {b: c, d: no}, &y {d: e}]\ndata:\n  <<: [*y, *x]\n",
		"Directives":  "%YAML 1.1\n---\n" + plain + "...\n",
		"TabsInside":  strings.ReplaceAll(plain, "b: c", "b: c\t# why"),
	} {
		for tool, src := range map[string]render.Source{
			"Directory": {Path: "d", Files: files(map[string]string{"d/a.yaml": text})},
			"Helm":      {Path: "chart", Files: chart(map[string]string{"templates/a.yaml": text})},
		} {
			result, err := pool.Render(t.Context(), src, render.Target{AppName: "shop"})
			if err != nil {
				t.Errorf("%s, %s: %v", name, tool, err)
				continue
			}
			objects := unpack(t, result)
			if diff := cmp.Diff(map[string]any{"b": "c", "d": "e"}, objects[0].Object["data"]); len(objects) != 1 || diff != "" {
				t.Errorf("%s, %s: %d objects\n%s", name, tool, len(objects), diff)
			}
		}
	}
}

// definitions are CustomResourceDefinitions of some size.
func definitions(size, n, seed int) map[string]string {
	list := map[string]string{}
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things%d.v%d.example.test\nspec:\n  properties:\n", i, seed)
		for line := 0; b.Len() < size; line++ {
			fmt.Fprintf(&b, "    field%d:\n      description: |-\n        What field %d of version %d is about,\n        in more than one line.\n      type: string\n", line, line, seed)
		}
		list[fmt.Sprintf("crds/crd%d.yaml", i)] = b.String()
	}
	return list
}

// Five megabytes of definitions are rendered, and of a chart of any size nothing
// stays in the process that wanted it rendered.
func TestLargeChartsLeaveNothingBehind(t *testing.T) {
	pool := newPool(t, worker.Options{Size: 1})
	rendered := func(seed int) {
		content := definitions(250<<10, 20, seed)
		content["templates/a.yaml"] = named("a")
		result, err := pool.Render(t.Context(), render.Source{Files: chart(content), Path: "chart"}, render.Target{AppName: "shop"})
		if err != nil || result.Count != 21 {
			t.Fatalf("%d objects, %v", result.Count, err)
		}
	}
	heap := func() uint64 {
		for range 3 { // pools are emptied by the second
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	rendered(0)
	before := heap()
	for seed := range 4 {
		rendered(seed + 1)
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("four charts of 5 MB have left %d KB", (after-before)>>10)
	}
}

func TestADirectoryOfTenThousandFiles(t *testing.T) {
	pool := newPool(t, worker.Options{Size: 1})
	content := map[string]string{}
	for i := range 10_000 {
		content[fmt.Sprintf("d/%d/%d.yaml", i/1000, i)] = named(fmt.Sprint("a", i))
	}
	src := render.Source{Files: files(content), Path: "d", Directory: &v1alpha1.ApplicationSourceDirectory{Recurse: true}}
	result, err := pool.Render(t.Context(), src, render.Target{AppName: "shop"})
	if err != nil || result.Count != len(content) {
		t.Errorf("%d objects, %v", result.Count, err)
	}
	names := maps.Collect(func(yield func(string, bool) bool) {
		for _, o := range unpack(t, result) {
			if !yield(o.GetName(), true) {
				return
			}
		}
	})
	if len(names) != len(content) {
		t.Errorf("%d names", len(names))
	}
}

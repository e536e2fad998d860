// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"strings"
	"testing"
)

const hostile = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations: {wavetrain.dev/purpose: "a | b <script>alert(1)</script> *c*", argocd.argoproj.io/sync-wave: "-3"}
---
apiVersion: v1
kind: Pod
metadata: {name: try, annotations: {helm.sh/hook: test}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twice}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twice}
data: {a: c}
`

func TestFormatsEscape(t *testing.T) {
	page := Build(Input{Services: []Service{planned(t, "shop", hostile)}, Command: "wavetrain waves shop.yaml -o html", Digest: "sha256:0"})
	html, err := page.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(html, "<script>") || !strings.Contains(html, "a | b &lt;script&gt;") {
		t.Error("markup of a manifest became markup of the page")
	}
	markdown := page.Markdown()
	if want := `a \| b &lt;script>alert(1)&lt;/script> \*c\*`; !strings.Contains(markdown, want) {
		t.Errorf("want %q in\n%s", want, markdown)
	}
}

func TestFormatsSayWhatIsLeftOutAndWrong(t *testing.T) {
	page := Build(Input{Services: []Service{planned(t, "shop", hostile)}, Command: "wavetrain waves shop.yaml", Digest: "sha256:0"})
	html, err := page.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for format, text := range map[string]string{"table": page.Text(), "markdown": page.Markdown(), "html": html} {
		for _, want := range []string{"Left out: Pod/try", "annot be rolled out", "twice"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: want %q in\n%s", format, want, text)
			}
		}
	}
	for format, text := range map[string]string{"markdown": page.Markdown(), "html": html} {
		for _, want := range []string{"−3", "How to read this", "Not used here: PreSync, PostSync, SyncFail and Delete-only.", "Reproduce", "wavetrain waves shop.yaml", "sha256:0"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: want %q in\n%s", format, want, text)
			}
		}
	}
	if text := page.Text(); !strings.Contains(text, " -3 ") || strings.Contains(text, "−") {
		t.Errorf("a terminal's table has plain minus signs:\n%s", text)
	}
}

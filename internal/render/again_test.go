// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/helm"
)

const safe = `{{- $ca := genCA "safe" 30 }}
{{- $pair := genSignedCert "safe" nil (list "safe") 30 $ca }}
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {password: {{ include "password" . | b64enc }}}
---
apiVersion: v1
kind: Secret
metadata: {name: certificate}
data: {ca.crt: {{ $ca.Cert | b64enc }}, tls.key: {{ $pair.Key | b64enc }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {checksum: {{ include "password" . | sha256sum }}}}
data: {plain: text}
`

const password = `{{ define "password" -}}
{{- $there := lookup "v1" "Secret" .Release.Namespace "login" -}}
{{- if not (hasKey .Values "made") -}}
{{- if $there }}{{ $_ := set .Values "made" (index $there.data "password" | b64dec) }}
{{- else }}{{ $_ := set .Values "made" (randAlphaNum 20) }}{{ end -}}
{{- end -}}
{{- .Values.made -}}
{{- end }}`

func safeChart() render.Source {
	return render.Source{Path: "chart", Files: fstest.MapFS{
		"chart/Chart.yaml":           {Data: []byte("apiVersion: v2\nname: safe\nversion: 0.1.0\n")},
		"chart/templates/all.yaml":   {Data: []byte(safe)},
		"chart/templates/_names.tpl": {Data: []byte(password)},
	}}
}

func found(r render.Result) map[string]string {
	fields := map[string]string{}
	for _, w := range r.Warnings {
		if w.Code == render.CodeNondeterministic {
			fields[w.Subject.Name+" "+w.Field] = w.Message
		}
	}
	return fields
}

func TestWhatComesOutDifferentlyIsNamedWithItsFunction(t *testing.T) {
	result, err := render.Render(t.Context(), safeChart(), render.Target{AppName: "safe", Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	got := found(result)
	for field, words := range map[string][]string{
		"login data.password":                    {"randAlphaNum at chart/templates/_names.tpl:5", "guarded by lookup"},
		"certificate data.ca.crt":                {"genCA at chart/templates/all.yaml:1"},
		"certificate data.tls.key":               {"genSignedCert at chart/templates/all.yaml:2"},
		"settings metadata.annotations.checksum": {"derived from Secret/login"},
	} {
		for _, word := range words {
			if !strings.Contains(got[field], word) {
				t.Errorf("%s: %q does not say %q", field, got[field], word)
			}
		}
	}
	if len(got) != 4 {
		t.Errorf("what is always the same is named, too: %v", got)
	}
	for _, w := range result.Warnings {
		for _, obj := range result.Objects {
			data, _ := obj.Object["data"].(map[string]any)
			for _, value := range data {
				if text := value.(string); len(text) > 8 && strings.Contains(w.Message, text) {
					t.Errorf("a finding shows a value: %s", w.Message)
				}
			}
		}
	}
}

func TestLookupsAreAnsweredAndRecorded(t *testing.T) {
	alone, err := render.Render(t.Context(), safeChart(), render.Target{AppName: "safe", Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	live := alone.Objects[0].Object
	var asked []helm.Lookup
	target := render.Target{AppName: "safe", Namespace: "ns", Lookup: func(_ context.Context, q helm.Lookup) (map[string]any, error) {
		asked = append(asked, q)
		answer := maps.Clone(live)
		if answer == nil {
			answer = map[string]any{}
		}
		answer["metadata"] = map[string]any{"name": "login", "resourceVersion": "17"}
		return answer, nil
	}}
	result, err := render.Render(t.Context(), safeChart(), target)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(helm.Lookup{APIVersion: "v1", Kind: "Secret", Namespace: "ns", Name: "login"}, asked[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(live["data"], result.Objects[0].Object["data"]); diff != "" {
		t.Errorf("the password that exists is not taken over:\n%s", diff)
	}
	if got := found(result); got["login data.password"] != "" || len(got) != 2 {
		t.Errorf("what the cluster decides is not random: %v", got)
	}
	if result.Digest != alone.Digest {
		t.Error("the set is another one as soon as the object exists")
	}
	if result.Raw != manifest.Digest(result.Objects) || result.Raw == alone.Raw {
		t.Error("the raw digest is that of the objects")
	}
	src, err := render.Effective(safeChart(), "safe")
	if err != nil {
		t.Fatal(err)
	}
	result.Trace.Reads, result.Trace.Partial = nil, false
	if !render.Holds(t.Context(), result.Trace, src, target) {
		t.Error("the same answer counts as another")
	}
	live = map[string]any{}
	if render.Holds(t.Context(), result.Trace, src, target) {
		t.Error("another answer is not noticed")
	}
}

func TestAChartWithoutChanceIsRenderedOnce(t *testing.T) {
	reads := 0
	src := render.Source{Path: "chart", Files: counting{fstest.MapFS{
		"chart/Chart.yaml":       {Data: []byte("apiVersion: v2\nname: safe\nversion: 0.1.0\n")},
		"chart/templates/a.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {time: {{ date \"2006\" (toDate \"2006\" \"2026\") | quote }}}\n")},
	}, &reads}}
	if _, err := render.Render(t.Context(), src, render.Target{AppName: "safe"}); err != nil {
		t.Fatal(err)
	}
	if reads != 1 {
		t.Errorf("its template was read %d times", reads)
	}
}

// counting counts how often the template is read.
type counting struct {
	fstest.MapFS
	reads *int
}

func (c counting) ReadFile(name string) ([]byte, error) {
	if strings.HasSuffix(name, "a.yaml") {
		*c.reads++
	}
	return c.MapFS.ReadFile(name)
}

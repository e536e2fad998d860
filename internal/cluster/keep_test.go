// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"
)

// TestKeepLosesNothing takes objects apart and puts them together again.
func TestKeepLosesNothing(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-z]{1,8}`), rapid.String())
	value := rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return rapid.Int64().Draw(t, "number")
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return nil
		case 3:
			return map[string]any{text.Draw(t, "field"): text.Draw(t, "text")}
		case 4:
			return []any{text.Draw(t, "item"), rapid.Int64().Draw(t, "number")}
		}
		return text.Draw(t, "text")
	})
	names := rapid.StringMatching(`[a-z]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		meta := map[string]any{
			"name": names.Draw(t, "name"), "namespace": names.Draw(t, "namespace"), "resourceVersion": "7",
			"uid": rapid.SampledFrom([]string{"6c9c4a4e-9f2b-4c57-8e64-0f3f6a3e9d11", "made-by-hand"}).Draw(t, "uid"),
		}
		if rapid.Bool().Draw(t, "annotated") {
			annotations := map[string]any{text.Draw(t, "annotation"): text.Draw(t, "value")}
			if id := rapid.SampledFrom([]string{"", "app:/ConfigMap:ns/n", "app"}).Draw(t, "tracking"); id != "" {
				annotations["argocd.argoproj.io/tracking-id"] = id
			}
			meta["annotations"] = annotations
		}
		if rapid.Bool().Draw(t, "owned") {
			meta["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}}
		}
		want := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "a" + text.Draw(t, "field"): value.Draw(t, "value")}
		e, err := sharedCodec().newEntry(&unstructured.Unstructured{Object: want})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, e.object().Object); diff != "" {
			t.Errorf("the object has changed (-before +after):\n%s", diff)
		}
	})
}

// TestKeepLooksAtNoTimes proves that objects written at different times share what
// says who owns them.
func TestKeepLooksAtNoTimes(t *testing.T) {
	of := func(name, time string) *entry {
		e, err := sharedCodec().keep([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name + `","namespace":"ns","managedFields":[` +
			`{"manager":"wavetrain","operation":"Apply","apiVersion":"v1","time":"` + time + `","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	a, b := of("a", "2026-01-01T00:00:00Z"), of("b", "2026-01-02T00:00:00Z")
	if a.managed != b.managed {
		t.Error("two objects with the same owners keep them twice")
	}
	owners := a.managedFields()
	if len(owners) != 1 || owners[0].Manager != "wavetrain" || owners[0].Time != nil || string(owners[0].FieldsV1.GetRawBytes()) != `{"f:data":{"f:a":{}}}` {
		t.Errorf("the owners are %v", owners)
	}
}

// closing is a body of a response.
type closing struct{ io.Reader }

func (closing) Close() error { return nil }

func TestStream(t *testing.T) {
	configMap := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c","namespace":"ns","uid":"u","resourceVersion":"5"},"data":{"text":"a }{ \" [\n\u00e9"}}`
	var value map[string]any
	if err := json.Unmarshal([]byte(configMap), &value); err != nil {
		t.Fatal(err)
	}
	compact, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	bookmark := `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}`
	for name, body := range map[string]string{
		"a line per event, as Kubernetes writes": `{"type":"ADDED","object":` + string(compact) + "}\n" + bookmark + "\n",
		"nothing between events":                 `{"type":"ADDED","object":` + string(compact) + "}" + bookmark,
		"indented, the type last":                "{\n\"object\": " + string(indented) + ",\n \"type\": \"ADDED\"}\n\n" + bookmark,
	} {
		t.Run(name, func(t *testing.T) {
			s := &stream{body: closing{}, events: jsontext.NewDecoder(strings.NewReader(body))}
			kind, obj, err := s.Decode()
			first, ok := obj.(*told)
			if err != nil || kind != watch.Added || !ok {
				t.Fatalf("the first event is %s %v, error %v", kind, obj, err)
			}
			if got := first.key(); got.Kind != "ConfigMap" || got.Namespace != "ns" || got.Name != "c" || first.uid != "u" || first.version != "5" {
				t.Errorf("the head is %+v", first)
			}
			e, err := sharedCodec().keep(first.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value, e.object().Object); diff != "" {
				t.Errorf("the object has changed (-sent +kept):\n%s", diff)
			}
			kind, obj, err = s.Decode()
			last, ok := obj.(*told)
			if err != nil || kind != watch.Bookmark || !ok || !last.listed || last.version != "9" {
				t.Errorf("the second event is %s %+v, error %v", kind, obj, err)
			}
			if _, _, err = s.Decode(); err != io.EOF { //nolint:errorlint // the watch compares in the same way
				t.Errorf("the end is %v; the watch knows a regular end by io.EOF itself", err)
			}
		})
	}
	cut := &stream{body: closing{}, events: jsontext.NewDecoder(strings.NewReader(`{"type":"ADDED","object":{"kind":"Conf`))}
	if _, _, err := cut.Decode(); err != io.ErrUnexpectedEOF { //nolint:errorlint // as above
		t.Errorf("a stream that was cut ends with %v", err)
	}
	broken := &stream{body: closing{}, events: jsontext.NewDecoder(strings.NewReader(`<html>`))}
	if _, _, err := broken.Decode(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("what is no JSON is read with %v", err)
	}
}

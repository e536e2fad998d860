// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package packed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/packed"
)

func codec(t testing.TB) *packed.Codec {
	t.Helper()
	c, err := packed.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "int")
		case 3:
			return rapid.SampledFrom([]float64{0, 1, -1, 1.5, 1e300, 0.1}).Draw(t, "float")
		case 4:
			return rapid.String().Draw(t, "string")
		case 5:
			return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list")
		default:
			return rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).Draw(t, "map")
		}
	})
}

func TestObjectsComeBackAsTheyWere(t *testing.T) {
	c := codec(t)
	rapid.Check(t, func(t *rapid.T) {
		var want []manifest.Object
		for range rapid.IntRange(0, 4).Draw(t, "objects") {
			want = append(want, manifest.Object{
				Unstructured: &unstructured.Unstructured{Object: rapid.MapOfN(rapid.String(), value(3), 1, 5).Draw(t, "object")},
				Provenance:   manifest.Provenance{File: rapid.String().Draw(t, "file"), Line: 7, Chart: "a/b", Source: 2},
			})
		}
		set, err := c.Pack(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := set.Objects()
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 && len(got) == 0 {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("whole numbers must stay whole and fractions fractions (-want +got):\n%s", diff)
		}
	})
}

func TestTextThatIsNotUTF8Survives(t *testing.T) {
	want := []manifest.Object{{Unstructured: &unstructured.Unstructured{Object: map[string]any{"data": "\xff\xfe"}}}}
	set, err := codec(t).Pack(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.Objects()
	if err != nil || got[0].Object["data"] != "\xff\xfe" {
		t.Errorf("got %v, %v", got, err)
	}
}

// A service is what an Application of the target fleet renders.
func service(n int) []manifest.Object {
	var objects []manifest.Object
	for i := range 8 {
		text := strings.ReplaceAll(`apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: team-NAME, labels: {app.kubernetes.io/name: NAME, app.kubernetes.io/part-of: shop, team: blue}}
spec:
  replicas: 3
  selector: {matchLabels: {app.kubernetes.io/name: NAME}}
  template:
    metadata: {labels: {app.kubernetes.io/name: NAME}, annotations: {prometheus.io/scrape: "true"}}
    spec:
      serviceAccountName: NAME
      containers:
        - name: main
          image: registry.example.test/team/NAME:1.2.3
          ports: [{name: http, containerPort: 8080}]
          env: [{name: LOG_LEVEL, value: info}, {name: DATABASE, valueFrom: {secretKeyRef: {name: NAME-db, key: url}}}]
          resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
          readinessProbe: {httpGet: {path: /healthz, port: http}}
`, "NAME", fmt.Sprintf("service-%d-%d", n, i))
		decoded, err := manifest.Decode("templates/deployment.yaml", []byte(text))
		if err != nil {
			panic(err)
		}
		objects = append(objects, decoded...)
	}
	return objects
}

func TestAnObjectAtRestCostsLessThanHalfAKilobyte(t *testing.T) {
	set, err := codec(t).Pack(service(1))
	if err != nil {
		t.Fatal(err)
	}
	if per := set.Size() / set.Len(); per > 512 {
		t.Errorf("%d bytes per object", per)
	}
}

// What was unpacked is shared by those who work on it, and given back at rest.
func TestNothingStaysUnpackedAtRest(t *testing.T) {
	c := codec(t)
	set, err := c.Pack(service(1))
	if err != nil {
		t.Fatal(err)
	}
	first := func() *unstructured.Unstructured {
		objects, err := set.Objects()
		if err != nil {
			t.Fatal(err)
		}
		return objects[0].Unstructured
	}
	before := first()
	if first() != before {
		t.Error("a set is unpacked twice in a row")
	}
	c.Rest()
	if first() == before {
		t.Error("what was unpacked is kept at rest")
	}
}

func BenchmarkUnpack(b *testing.B) {
	c := codec(b)
	sets := make([]*packed.Set, 64)
	for i := range sets {
		var err error
		if sets[i], err = c.Pack(service(i)); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		if _, err := sets[i%len(sets)].Objects(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(sets[0].Size())/float64(sets[0].Len()), "B/object")
}

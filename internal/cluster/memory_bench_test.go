// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// BenchmarkStoreMemory reports what an object costs in the live cache, indexes
// included: 2,000 applications of 20 objects, whose names, addresses, images,
// values and UIDs differ.
func BenchmarkStoreMemory(b *testing.B) {
	const apps, each = 2000, 20
	models := models(b)
	codec := sharedCodec()
	for b.Loop() {
		random := rand.New(rand.NewPCG(1, 2))
		before := heap()
		s := newStore()
		for i := range apps * each {
			e, err := codec.newEntry(variant(b, random, models[i%each%len(models)], i/each, i))
			if err != nil {
				b.Fatal(err)
			}
			s.hold(e.groupKind())
			s.saw(e)
		}
		b.ReportMetric(float64(heap()-before)/(apps*each), "B/object")
		runtime.KeepAlive(s)
	}
}

// models are the live objects of one application.
func models(b *testing.B) []string {
	b.Helper()
	var texts []string
	for _, u := range typical(b, benchOn(b, sandboxtest.Start(b, sandboxtest.Options{Nodes: 1, RuleSets: []string{"external-secrets"}})), "web") {
		data, err := json.Marshal(u)
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	return texts
}

// variant is an object of another application with the form of a model.
func variant(b *testing.B, random *rand.Rand, model string, app, n int) *unstructured.Unstructured {
	b.Helper()
	name := fmt.Sprintf("%s-%d", []string{"orders", "billing", "search", "mailer"}[app%4], app)
	model = strings.NewReplacer(
		`"name":"web`, `"name":"`+name, `"app.kubernetes.io/name":"web"`, `"app.kubernetes.io/name":"`+name+`"`,
		`"app.kubernetes.io/instance":"web"`, `"app.kubernetes.io/instance":"`+name+`"`,
		"shop/web:1.16.0", fmt.Sprintf("team-%d/%s:%x", app%50, name, random.Uint32()),
		"web.example.com", name+".apps.example.org", "8f9bcdd2d7f28a8fc5a5cd5b6c4e6b3a1f0e0f6bd0d9e0a7c4b3a29181706f5e", fmt.Sprintf("%064x", random.Uint64()),
		`"LOG_LEVEL":"info"`, fmt.Sprintf(`"LOG_LEVEL":"debug","SHARD":"%d"`, n),
	).Replace(model)
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(model), u); err != nil {
		b.Fatal(err)
	}
	if u.GetName() == "" || !strings.HasPrefix(u.GetName(), name) {
		u.SetName(name)
	}
	u.SetName(u.GetName() + "-" + strconv.Itoa(n))
	u.SetNamespace("team-" + strconv.Itoa(app%50))
	u.SetUID(identity{byte(n), byte(n >> 8), byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), 1}.uid())
	u.SetResourceVersion(strconv.Itoa(100000 + 7*n))
	annotations := u.GetAnnotations()
	annotations[manifest.AnnotationTrackingID] = manifest.FormatTrackingID(name, "", manifest.KeyOf(u))
	u.SetAnnotations(annotations)
	return u
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkCodec tells what a live Deployment costs to keep and to read.
func BenchmarkCodec(b *testing.B) {
	u := &unstructured.Unstructured{}
	for _, model := range models(b) {
		if strings.Contains(model, `"kind":"Deployment"`) {
			if err := json.Unmarshal([]byte(model), u); err != nil {
				b.Fatal(err)
			}
		}
	}
	codec := sharedCodec()
	b.Run("keep", func(b *testing.B) {
		for b.Loop() {
			if _, err := codec.newEntry(u); err != nil {
				b.Fatal(err)
			}
		}
	})
	e := entryOf(u)
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			e.object()
		}
	})
	b.Run("read owners", func(b *testing.B) {
		for b.Loop() {
			e.managedFields()
		}
	})
}

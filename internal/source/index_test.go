// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/source"
)

// indexOf is the index of a repository: so many charts with so many versions, each
// with a kilobyte of text.
func indexOf(charts, versions int, inJSON bool) string {
	var b strings.Builder
	words := strings.Repeat("x", 90)
	if inJSON {
		b.WriteString(`{"apiVersion":"v1","before":"` + strings.Repeat(words, 10) + `","entries":{`)
		for c := range charts {
			fmt.Fprintf(&b, "%q:[", fmt.Sprintf("chart-%03d", c))
			for v := range versions {
				fmt.Fprintf(&b, `{"annotations":{"text":%q},"urls":["charts/x.tgz"],"version":"1.%d.0"}`, strings.Repeat(words, 10), v)
				if v < versions-1 {
					b.WriteByte(',')
				}
			}
			b.WriteByte(']')
			if c < charts-1 {
				b.WriteString(",\n")
			}
		}
		return b.String() + "}}"
	}
	b.WriteString("apiVersion: v1\nentries:\n")
	for c := range charts {
		fmt.Fprintf(&b, "  chart-%03d:\n", c)
		for v := range versions {
			fmt.Fprintf(&b, "  - annotations:\n      text: |\n%s    name: chart-%03d\n    urls:\n    - charts/x.tgz\n    version: 1.%d.0\n", strings.Repeat("        "+words+"\n", 10), c, v)
		}
	}
	return b.String()
}

// serveIndex serves an index without keeping a copy of it.
func serveIndex(t *testing.T, index string) string {
	t.Helper()
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, index) }))
}

// An index of thirty megabytes goes from the server to the disk and is read from
// there; what is in memory of it at any moment is less than all that is ever
// allocated, and that is a fraction of it.
func TestLargeIndexTakesLittleMemory(t *testing.T) {
	for name, c := range map[string]struct {
		index, want string
		allocated   uint64
	}{
		"YAML": {indexOf(300, 100, false), "1.99.0", 12 << 20},
		// Each text is decoded to be passed over.
		"JSON": {indexOf(300, 110, true), "1.109.0", 90 << 20},
		"one line of YAML": {
			indexOf(1, 100, false) + "  long:\n  - annotations: {text: '" + strings.Repeat("x", 30<<20) + "'}\n    version: 1.0.0\n  chart-299:\n  - {version: 1.99.0}\n", "1.99.0", 12 << 20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.index) < 28<<20 {
				t.Fatalf("the index has only %d bytes", len(c.index))
			}
			url := serveIndex(t, c.index)
			store := chartStore(t)
			target := source.Target{Repository: source.Repository{URL: url}, Chart: "chart-299", Revision: "1.x"}
			var before, after, rest runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			got, err := store.Locate(t.Context(), target)
			if err != nil || got != c.want {
				t.Fatalf("got %s, %v", got, err)
			}
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KB allocated for %d KB", allocated>>10, len(c.index)>>10)
			if allocated > c.allocated {
				t.Errorf("an index of %d MB has %d MB allocated, at most %d are meant to be", len(c.index)>>20, allocated>>20, c.allocated>>20)
			}
			runtime.GC()
			runtime.ReadMemStats(&rest)
			if grown := int64(rest.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
				t.Errorf("an index of %d MB keeps %d KB in memory", len(c.index)>>20, grown>>10)
			}
		})
	}
}

// A chart that has most of an index for itself is read version by version: all of
// it at once takes twenty times as much memory.
func TestLargeChartInAnIndexTakesLittleMemory(t *testing.T) {
	for name, inJSON := range map[string]bool{"YAML": false, "JSON": true} {
		t.Run(name, func(t *testing.T) {
			index := indexOf(1, 12_000, inJSON)
			url := serveIndex(t, index)
			store := chartStore(t)
			// Garbage is collected often, so that what is alive at the last collection is
			// near to the most that was.
			defer debug.SetGCPercent(debug.SetGCPercent(5))
			runtime.GC()
			before := alive()
			got, err := store.Locate(t.Context(), source.Target{Repository: source.Repository{URL: url}, Chart: "chart-000", Revision: "1.x"})
			if err != nil || got != "1.11999.0" {
				t.Fatalf("got %s, %v", got, err)
			}
			grown := int64(alive()) - int64(before)
			t.Logf("%d KB more alive at the end of reading %d KB", grown>>10, len(index)>>10)
			if grown > 12<<20 {
				t.Errorf("reading %d MB about one chart has %d MB alive", len(index)>>20, grown>>20)
			}
		})
	}
}

// alive is how much the last garbage collection has found alive.
func alive() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Observe reads an observation from a live object and the Pods below it. A nil
// object does not exist.
func Observe(u *unstructured.Unstructured, pods []*unstructured.Unstructured, ctx health.Context) Observation {
	if u == nil {
		return Observation{Health: health.Of(nil)}
	}
	o := Observation{
		Exists:          true,
		UID:             u.GetUID(),
		ResourceVersion: u.GetResourceVersion(),
		Generation:      u.GetGeneration(),
		Deleting:        u.GetDeletionTimestamp() != nil,
		Held:            slices.Contains(u.GetFinalizers(), manifest.HookFinalizer),
		Holders:         holders(u),
		Mark:            u.GetAnnotations()[manifest.AnnotationOperation],
		Health:          health.OfWith(u, ctx),
		Processed:       processed(u),
		Keys:            dataKeys(u),
	}
	sum := fnv.New64a()
	moving(sum, u)
	for _, pod := range pods {
		p := readPod(pod)
		_, _ = sum.Write([]byte(p.progress()))
		o.Stuck = o.Stuck || p.stuck()
		o.Busy = o.Busy || u.GetKind() == "Job" && p.works()
	}
	o.Progress = strconv.FormatUint(sum.Sum64(), 36)
	return o
}

// moving feeds what counts as progress of an object: its generation and its
// status without times, which change on every heartbeat.
func moving(w io.Writer, u *unstructured.Unstructured) {
	status, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status")
	// Maps are printed in the order of their keys.
	_, _ = fmt.Fprint(w, u.GetUID(), u.GetGeneration(), u.GetDeletionTimestamp() != nil, timeless(status))
}

// timeless returns v without fields that hold times or versions.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, field := range v {
			if !strings.HasSuffix(k, "Time") && !strings.HasSuffix(k, "Timestamp") {
				out[k] = timeless(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = timeless(v[i])
		}
		return out
	}
	return v
}

// processed reads what the object says about its controller having seen its
// generation: External Secrets' status.syncedResourceVersion ("3-…"), else
// status.observedGeneration, else the conditions' observedGeneration.
func processed(u *unstructured.Unstructured) Processed {
	synced, _, _ := unstructured.NestedString(u.Object, "status", "syncedResourceVersion")
	if number, _, ok := strings.Cut(synced, "-"); ok {
		if seen, err := strconv.ParseInt(number, 10, 64); err == nil {
			return against(seen, u.GetGeneration())
		}
	}
	if seen, ok, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); ok {
		return against(seen, u.GetGeneration())
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	newest := int64(-1)
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok {
			if seen, ok := fields["observedGeneration"].(int64); ok {
				newest = max(newest, seen)
			}
		}
	}
	if newest < 0 {
		return Unreported
	}
	return against(newest, u.GetGeneration())
}

func against(seen, generation int64) Processed {
	if seen < generation {
		return Behind
	}
	return UpToDate
}

// holders returns the finalizers of others than us.
func holders(u *unstructured.Unstructured) []string {
	return slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(name string) bool { return name == manifest.HookFinalizer })
}

// dataKeys returns the keys of a Secret or ConfigMap, sorted.
func dataKeys(u *unstructured.Unstructured) []string {
	if kind := u.GetKind(); kind != "Secret" && kind != "ConfigMap" {
		return nil
	}
	var keys []string
	for _, field := range []string{"data", "binaryData"} {
		data, _, _ := unstructured.NestedMap(u.Object, field)
		for k := range data {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

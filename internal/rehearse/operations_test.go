// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// An attempt that failed keeps its own words, though the status tells of the next.
func TestAttempts(t *testing.T) {
	t.Parallel()
	c := newChronicle(nil)
	c.revisions["c0ffee"] = "rev1"
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, status := range []string{
		`{phase: Running, message: waiting for x, retryCount: 0}`,
		`{phase: Running, message: "hook failed. Retrying attempt #1 at 03:04:10.", retryCount: 1}`,
		`{phase: Running, message: "hook failed. Retrying attempt #1 at 03:04:10.", retryCount: 1}`,
		`{phase: Running, message: waiting for x again, retryCount: 1}`,
		`{phase: Succeeded, message: done, retryCount: 1}`,
		`{phase: Succeeded, message: done, retryCount: 1}`,
	} {
		u := &unstructured.Unstructured{}
		text := fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: shop, namespace: argocd}, status: {operationState: %s}}`,
			strings.TrimSuffix(status, "}")+`, startedAt: "2026-01-02T03:04:05Z", operation: {}, syncResult: {revisions: [c0ffee], revision: ""}}`)
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		c.seeOperation(u, begin.Add(time.Duration(i)*time.Second))
	}
	var got []string
	for _, o := range c.operations {
		got = append(got, fmt.Sprintf("%d %s %s %q %s-%s", o.Attempt, o.Rev, o.Phase, o.Message, o.StartedAt.Sub(begin), o.FinishedAt.Sub(begin)))
	}
	want := `1 rev1 Failed "hook failed." 0s-1s; 2 rev1 Succeeded "done" 3s-4s`
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("the attempts are\n%s\nwant\n%s", text, want)
	}
}

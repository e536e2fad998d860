// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// FuzzApplication reads Applications that nobody would write and asks them all that
// they answer.
func FuzzApplication(f *testing.F) {
	f.Add("spec: {source: {repoURL: a, helm: {valuesObject: {a: 1}, parameters: [{name: a, value: b}]}}, syncPolicy: {retry: {limit: -1, backoff: {duration: 99h, factor: 9, maxDuration: 1s}}}}")
	f.Add("spec: {sources: [{repoURL: a, ref: b}, {chart: c}], revisionHistoryLimit: -5, syncPolicy: {automated: {}}}")
	f.Add("spec: {sourceHydrator: {drySource: {}, syncSource: {}}}")
	f.Add("spec: {syncPolicy: {retry: {limit: 9223372036854775807, backoff: {duration: '-1', factor: -3}}}}")
	f.Add("status: {history: [{}, null], operationState: {phase: x}}")
	f.Fuzz(func(t *testing.T, text string) {
		var app v1alpha1.Application
		if yaml.Unmarshal([]byte(text), &app) != nil {
			return
		}
		spec := &app.Spec
		spec.ProjectName()
		spec.EffectiveSources()
		if spec.HistoryLimit() < 0 {
			t.Error("a history of less than nothing")
		}
		spec.SyncOptionList()
		retry := spec.AutomatedRetry()
		for _, n := range []int64{0, 1, 5, 1 << 62} {
			if d, err := retry.Delay(n); err == nil && d < 0 {
				t.Errorf("a pause of %s before retry %d", d, n)
			} else if err == nil && d > 1<<62*time.Nanosecond && retry.Backoff == nil {
				t.Errorf("a pause of %s by default", d)
			}
		}
		compared := spec.ComparedTo()
		if !compared.Covers(spec) {
			t.Error("what a spec was compared as does not cover it")
		}
		app.Status.Overtaken()
		if _, err := json.Marshal(app.DeepCopy()); err != nil {
			t.Errorf("a copy cannot be written: %v", err)
		}
	})
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// explainer says what the plan itself knows of why an object does not get on: that it
// waits for something of a later phase. The plan is looked through when somebody asks
// for the first time, which most rollouts never do.
func explainer(p *plan.Plan) func(manifest.Key) string {
	known := sync.OnceValue(func() map[manifest.Key]string {
		texts := map[manifest.Key]string{}
		for _, f := range verify.Deadlocks(p) {
			if texts[f.Subject] == "" {
				texts[f.Subject] = f.Message
			}
		}
		return texts
	})
	return func(key manifest.Key) string { return known()[key] }
}

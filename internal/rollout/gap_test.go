// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// The next wave begins when the cluster shows that the last one is done: between the
// change that ends a wave and the first write of the next no time passes at all, in a
// world whose time stands still while anybody has something to do.
func TestNextWaveBeginsAtOnce(t *testing.T) {
	inMemory(t, func(p *place, _ *rollouttest.Memory) {
		var mu sync.Mutex
		seen := map[string]time.Time{}
		cancel := p.cluster.Subscribe(func(c cluster.Change) {
			at := time.Now()
			go func() {
				u, ok := p.cluster.Get(c.Key)
				mu.Lock()
				defer mu.Unlock()
				if _, known := seen[c.Key.Name]; !known && ok && (c.Key.Kind == "ConfigMap" || health.Of(u).Status == health.Healthy) {
					seen[c.Key.Name] = at
				}
			}()
		})
		defer cancel()
		const waves = 4
		var groups []plan.Group
		for i := range waves {
			groups = append(groups,
				rollouttest.Group(manifest.Sync, 2*i, rollouttest.Step(p.object("Job", fmt.Sprintf("job-%d", i), "ok@1s"))),
				rollouttest.Group(manifest.Sync, 2*i+1, rollouttest.Step(p.object("ConfigMap", fmt.Sprintf("next-%d", i), ""))),
			)
		}
		p.mustEnd(p.run(p.operation("op-1", groups...)), machine.PhaseSucceeded)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i := range waves {
			done, next := seen[fmt.Sprintf("job-%d", i)], seen[fmt.Sprintf("next-%d", i)]
			if done.IsZero() || next.Sub(done) != 0 {
				t.Errorf("wave %d was done at %s, the next began %s later", i, done, next.Sub(done))
			}
		}
	})
}

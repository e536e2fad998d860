// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
	"github.com/wavetrain/wavetrain/internal/rollout/rollouttest"
)

// counting counts how often objects are decoded.
type counting struct {
	rollout.Cluster

	mu   sync.Mutex
	gets map[string]int
}

func (c *counting) Get(key manifest.Key) (*unstructured.Unstructured, bool) {
	c.mu.Lock()
	c.gets[key.Name]++
	c.mu.Unlock()
	return c.Cluster.Get(key)
}

// While a wave waits, every change of one of its objects has the run look again. The
// objects that have not changed are not read again.
func TestUnchangedObjectsAreNotReadAgain(t *testing.T) {
	inMemory(t, func(p *place, _ *rollouttest.Memory) {
		c := &counting{Cluster: p.cluster, gets: map[string]int{}}
		p.cluster = c
		steps := []plan.Step{rollouttest.Step(p.object("Deployment", "slow", "ok@40s"))}
		for i := range 20 {
			steps = append(steps, rollouttest.Step(p.object("Deployment", fmt.Sprintf("quick-%d", i), fmt.Sprintf("ok@%ds", i+1))))
		}
		p.mustEnd(p.run(p.operation("op-1",
			rollouttest.Group(manifest.Sync, 0, steps...),
			rollouttest.Group(manifest.Sync, 1, rollouttest.Step(p.object("ConfigMap", "after", ""))),
		)), machine.PhaseSucceeded)
		// Before it is applied, and once in each of its two states.
		if n := c.gets["slow"]; n > 5 {
			t.Errorf("the object that was waited for was read %d times while 20 others became healthy", n)
		}
	})
}

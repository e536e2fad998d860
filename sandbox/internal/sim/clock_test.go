// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"testing"
	"time"
)

func TestSkippedTimeHappensAtOnce(t *testing.T) {
	c := &simulated{}
	a := newAgenda(c)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	came := make(chan item, 8)
	go a.run(ctx, func(it item) { came <- it })
	soon, late, crash := item{role: rolePod, name: "soon"}, item{role: rolePod, name: "late"}, item{role: rolePod, name: "crash"}
	begin := c.Now()
	a.put(late, begin.Add(2*time.Hour), false)
	a.put(soon, begin.Add(time.Hour), false)
	a.put(crash, begin.Add(time.Minute), true)
	if in, pending := a.next(); !pending || in < 59*time.Minute || in > time.Hour {
		t.Errorf("the next is in %s (%v), want that of an hour: a restart brings nothing new", in, pending)
	}
	c.skip(90 * time.Minute)
	a.move()
	got := map[item]bool{<-came: true, <-came: true}
	if !got[soon] || !got[crash] {
		t.Errorf("%v came, want what was due in 90 minutes", got)
	}
	if in, pending := a.next(); !pending || in > 30*time.Minute {
		t.Errorf("the next is in %s (%v), want half an hour", in, pending)
	}
	a.drop(late)
	if in, pending := a.next(); pending {
		t.Errorf("something is due in %s, want nothing", in)
	}
}

func TestObjectsShowRealTime(t *testing.T) {
	c := &simulated{}
	before := c.Now()
	c.skip(time.Hour)
	after := c.Now()
	if shown := c.real(before); !shown.Equal(before) {
		t.Errorf("a time before the skip is shown as %s later", shown.Sub(before))
	}
	for reason, at := range map[string]time.Time{"within": before.Add(30 * time.Minute), "after": after} {
		if shown := c.real(at); shown.Before(before) || shown.After(time.Now()) {
			t.Errorf("%s the skip: shown as %s after its beginning", reason, shown.Sub(before))
		}
	}
}

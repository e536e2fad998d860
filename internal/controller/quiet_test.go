// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import "testing"

func TestMemoryIsGivenBackOnceAfterABurst(t *testing.T) {
	given := 0
	q := &quiet{release: func() { given++ }}
	var released, before int64
	step := func(why string, looks int64, want int) {
		t.Helper()
		q.looks.Add(looks)
		given = 0
		if released, before = q.tick(released, before); given != want {
			t.Errorf("%s: given back %d times, want %d", why, given, want)
		}
	}
	step("nothing has happened yet", 0, 0)
	step("in the middle of work", 5, 0)
	step("still at work", 1, 0)
	step("the first quiet moment after work", 0, 1)
	step("nothing new to give back", 0, 0)
	step("work again", 2, 0)
	step("and quiet again", 0, 1)
}

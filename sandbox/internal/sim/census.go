// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// census counts objects: the n-th of one name is another object than the first.
type census struct {
	mu     sync.Mutex
	byUID  map[types.UID]int
	byName map[string]int
}

func newCensus() *census { return &census{byUID: map[types.UID]int{}, byName: map[string]int{}} }

// of returns which of the objects of that kind, namespace and name this one is, from 1.
func (c *census) of(kind, namespace, name string, uid types.UID) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.byUID[uid]; n > 0 {
		return n
	}
	key := kind + "/" + namespace + "/" + name
	c.byName[key]++
	c.byUID[uid] = c.byName[key]
	return c.byUID[uid]
}

// forget drops an object that is gone; its name stays counted.
func (c *census) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byUID, uid)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// served is what a cluster serves, in the form in which charts ask for it. It is
// read again when something says that it may have changed, and not before.
type served struct {
	mu          sync.Mutex
	kubeVersion string
	apiVersions []string
	// edition is that of the catalog when apiVersions were read.
	edition int
	// away is true since the server could not be reached: it may come back as
	// another version.
	away atomic.Bool
}

// Version returns the server's version and, sorted, what it serves in the form
// of Helm's capabilities: "group/version" and "group/version/Kind". It costs a
// request the first time and after the server was away. The list is shared and
// must not be changed.
func (c *Cluster) Version(ctx context.Context) (kubeVersion string, apiVersions []string, err error) {
	if err := c.catalog.load(ctx); err != nil {
		return "", nil, err
	}
	c.served.mu.Lock()
	defer c.served.mu.Unlock()
	if away := c.served.away.Swap(false); away || c.served.kubeVersion == "" {
		info, err := c.catalog.client.ServerVersionWithContext(ctx)
		if err != nil {
			c.served.away.Store(true)
			return "", nil, c.problem("read the version of", subject{}, err)
		}
		c.served.kubeVersion = info.GitVersion
		c.catalog.learn(info.GitVersion)
	}
	if edition := c.catalog.readings(); c.served.apiVersions == nil || c.served.edition != edition {
		c.served.apiVersions, c.served.edition = c.catalog.apiVersions(), edition
		slices.Sort(c.served.apiVersions)
	}
	return c.served.kubeVersion, c.served.apiVersions, nil
}

// reached takes the outcome of an attempt to open a watch of what defines kinds.
func (c *Cluster) reached(err error) {
	switch {
	case err != nil && reasonOf(err) == Unreachable:
		c.served.away.Store(true)
	case err == nil && c.served.away.Load():
		c.tellServed()
	}
}

func (c *Cluster) tellServed() {
	if c.servedChanged != nil {
		c.servedChanged()
	}
}

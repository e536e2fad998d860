// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Reach is the part of a cluster that a connection is for, whose credentials may
// be good for no more. The zero value is all of it.
type Reach struct {
	// Namespaces, if there are any, are the only ones that are read: each kind is
	// watched in each of them by itself.
	Namespaces []string
	// ClusterScoped adds, where there are Namespaces, the kinds that lie in none.
	ClusterScoped bool
}

// Bounded reports whether there is something beyond the reach.
func (r Reach) Bounded() bool { return len(r.Namespaces) > 0 }

// covers reports whether anything of a kind is within reach.
func (r Reach) covers(namespaced bool) bool {
	return namespaced || !r.Bounded() || r.ClusterScoped
}

// places are the namespaces in which a kind is watched; an empty one is all.
func (r Reach) places(namespaced bool) []string {
	if namespaced && r.Bounded() {
		return r.Namespaces
	}
	return []string{""}
}

// beyond says why an object is beyond reach, and what would change that; empty if
// it is not.
func (r Reach) beyond(key manifest.Key, namespaced bool) (why, hint string) {
	only := "the connection is for namespace " + strings.Join(r.Namespaces, ", ") + " only"
	switch {
	case !r.covers(namespaced):
		return "it lies in no namespace, and " + only, `set clusterResources: "true" in the cluster's Secret, with the rights that this takes`
	case namespaced && r.Bounded() && !slices.Contains(r.Namespaces, key.Namespace):
		return only, "add the namespace to namespaces in the cluster's Secret, with the rights that this takes"
	}
	return "", ""
}

// Reach returns what the connection is for.
func (c *Cluster) Reach() Reach { return c.reach }

// Beyond returns why an object of a kind that is watched cannot be seen: it is
// beyond the connection's reach, or its kind may not be read where it lies. It is
// nil for objects that are seen.
func (c *Cluster) Beyond(key manifest.Key) error {
	res, served := c.catalog.lookup(key.GroupKind().WithVersion(""))
	if !served {
		return nil
	}
	if why, hint := c.reach.beyond(key, res.Namespaced); why != "" {
		return &Error{Op: "manage", Key: key, Server: c.server, Reason: Rejected, Err: errors.New(why), Hint: hint}
	}
	w := c.watchOf(key.GroupKind())
	if w == nil {
		return nil
	}
	p := w.in(key.Namespace)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil || p.synced && !apierrors.IsForbidden(p.err) {
		return nil
	}
	return c.problem(p.op(), subject{}, p.err)
}

// Refusal tells that the API server has come to refuse that a kind is read, or has
// stopped doing so.
type Refusal struct {
	Kind schema.GroupKind
	// Namespace is where; empty for all.
	Namespace string
	// Err is nil when it is not refused any more.
	Err error
}

// String says it in a line.
func (r Refusal) String() string {
	where := "in namespace " + r.Namespace
	if r.Namespace == "" {
		where = "in all namespaces"
	}
	if r.Err == nil {
		return fmt.Sprintf("%s may be read %s again", r.Kind, where)
	}
	return fmt.Sprintf("%s may not be read %s", r.Kind, where)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

const (
	// attempts bounds how often a request is made that fails for passing reasons;
	// with the pauses between them that is a little over three seconds.
	attempts = 6
	// accountWait is how long a new namespace may take to get its default
	// ServiceAccount.
	accountWait = 30 * time.Second
	// kindWait is how long a kind may take to be served after what defines it
	// changed.
	kindWait = 10 * time.Second
)

// call is one request about an object.
type call struct {
	op   string
	key  manifest.Key
	hint string
	// once forbids a second attempt after one whose outcome is unknown.
	once bool
	// contested has conflicts tried again: those of a request without a
	// precondition come from somebody who writes at the same moment.
	contested bool
	do        func(ctx context.Context) (*unstructured.Unstructured, error)
}

// try makes a request until it succeeds, is refused, or has failed too often. The
// error is an *Error. Unsure says that an earlier attempt may have had its effect.
func (c *Cluster) try(ctx context.Context, r call) (out *unstructured.Unstructured, unsure bool, err error) {
	began := c.clock.Now()
	pause := newPause(c.clock)
	for n := 1; ; n++ {
		out, err = c.attempt(ctx, r)
		if err == nil {
			return out, unsure, nil
		}
		switch reason := reasonOf(err); {
		case c.awaitsAccount(err, r.key) && c.clock.Since(began) < accountWait:
			n--
		case reason == Conflict && r.contested && n < attempts:
		case reason != Unreachable && reason != Busy || n == attempts:
			return nil, unsure, c.problem(r.op, subject{r.key, r.hint}, err)
		case reason == Unreachable && !refused(err):
			if r.once {
				return nil, true, c.problem(r.op, subject{r.key, r.hint}, err)
			}
			unsure = true
		}
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok && seconds > 0 {
			pause.next = max(pause.next, time.Duration(seconds)*time.Second)
		}
		if !pause.wait(ctx) {
			return nil, unsure, c.problem(r.op, subject{r.key, r.hint}, err)
		}
	}
}

func (c *Cluster) attempt(ctx context.Context, r call) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return r.do(ctx)
}

// refused reports whether a request certainly did not reach the server.
func refused(err error) bool {
	return strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "no such host")
}

// awaitsAccount reports whether a Pod was refused because its namespace is so new
// that it has no default ServiceAccount yet.
func (c *Cluster) awaitsAccount(err error, key manifest.Key) bool {
	return key.Kind == "Pod" && apierrors.IsForbidden(err) &&
		!apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) &&
		strings.Contains(err.Error(), `serviceaccount "default" not found`)
}

// target finds out how the kind of an object is served, waiting for kinds whose
// definition has just been written, and completes the object's key.
func (c *Cluster) target(ctx context.Context, u *unstructured.Unstructured) (Resource, manifest.Key, error) {
	key := manifest.KeyOf(u)
	res, err := c.await(ctx, u)
	if err != nil {
		return Resource{}, key, err
	}
	switch {
	case !res.Namespaced:
		key.Namespace = ""
	case key.Namespace == "":
		return Resource{}, key, &Error{
			Op: "write", Key: key, Server: c.server, Reason: Rejected,
			Err: errors.New("the kind is namespaced and the object names no namespace"),
		}
	}
	return res, key, nil
}

func (c *Cluster) await(ctx context.Context, u *unstructured.Unstructured) (Resource, error) {
	gvk := u.GroupVersionKind()
	for {
		res, err := c.catalog.resolve(ctx, gvk)
		if err == nil || !IsUnknownKind(err) {
			return res, err
		}
		ago, stirred, changed := c.catalog.stirredSince(gvk.Group)
		if !stirred || ago >= kindWait {
			return Resource{}, err
		}
		timer := c.clock.NewTimer(rediscoverEvery)
		select {
		case <-changed:
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return Resource{}, err
		}
		timer.Stop()
	}
}

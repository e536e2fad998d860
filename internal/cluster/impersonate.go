// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Impersonating is a cluster to which desired state is written as somebody else.
// Reading, and finalizers of our own, stay ours: what the cache holds is the same
// whoever writes, and an object must not be held because its writer may not let go
// of it.
type Impersonating struct {
	*Cluster
	user string
}

// As returns the cluster as user writes to it.
func (c *Cluster) As(user string) *Impersonating { return &Impersonating{Cluster: c, user: user} }

// Try is Cluster.Try as the user. What the user may do changes without a trace, so
// the API server is always asked.
func (i *Impersonating) Try(ctx context.Context, obj *unstructured.Unstructured, anew bool, o ApplyOptions) error {
	o.DryRun = true
	var err error
	if anew {
		_, err = i.Create(ctx, obj, o)
	} else {
		_, err = i.Apply(ctx, obj, o)
	}
	return err
}

// Apply is Cluster.Apply as the user.
func (i *Impersonating) Apply(ctx context.Context, obj *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	return i.Cluster.Apply(as(ctx, i.user), obj, o)
}

// Create is Cluster.Create as the user.
func (i *Impersonating) Create(ctx context.Context, obj *unstructured.Unstructured, o ApplyOptions) (*unstructured.Unstructured, error) {
	return i.Cluster.Create(as(ctx, i.user), obj, o)
}

// Delete is Cluster.Delete as the user.
func (i *Impersonating) Delete(ctx context.Context, key manifest.Key, o DeleteOptions) error {
	return i.Cluster.Delete(as(ctx, i.user), key, o)
}

// userKey finds in a context as whom its requests write.
type userKey struct{}

func as(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// impersonated reports whether the requests of a context write as somebody else.
func impersonated(ctx context.Context) bool { return ctx.Value(userKey{}) != nil }

// impersonation is a transport that writes as the user of the request's context.
type impersonation struct{ http.RoundTripper }

var _ utilnet.RoundTripperWrapper = impersonation{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (t impersonation) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t impersonation) RoundTrip(r *http.Request) (*http.Response, error) {
	user, ok := r.Context().Value(userKey{}).(string)
	if !ok || r.Method == http.MethodGet {
		return t.RoundTripper.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	for name := range r.Header {
		// Whom the connection itself impersonates has no part in this.
		if strings.HasPrefix(name, "Impersonate-") {
			delete(r.Header, name)
		}
	}
	r.Header.Set("Impersonate-User", user)
	return t.RoundTripper.RoundTrip(r)
}

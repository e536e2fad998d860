// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/utils/clock"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

const (
	// requestTimeout bounds one attempt of a request that is not a watch.
	requestTimeout = 30 * time.Second
	dialTimeout    = 10 * time.Second
)

// Options of a Cluster. The zero value works.
type Options struct {
	// Clock is used for every wait and back-off. Defaults to the real one.
	Clock clock.Clock
	// UserAgent of all requests. Defaults to "wavetrain".
	UserAgent string
	// Codec is how objects are kept in memory; clusters should share one. Defaults
	// to one of its own.
	Codec *Codec
	// ServedChanged is called when Version may have another answer: kinds came or
	// went, or the server was away. It must not block.
	ServedChanged func()
	// Reach is what of the cluster the connection is for. Defaults to all of it.
	Reach Reach
	// Refused is called when the API server comes to refuse that a kind is read that
	// somebody wants to be watched, and when it stops. It must not block.
	Refused func(Refusal)
}

// Cluster is the connection to one cluster. It is safe for concurrent use.
type Cluster struct {
	server  string
	clock   clock.Clock
	dialer  *connrotation.Dialer
	dynamic dynamic.Interface
	// rest makes requests whose answers are read as they come.
	rest    rest.Interface
	meta    metadata.Interface
	catalog *catalog
	schemas *schemas
	store   *store
	codec   *Codec
	served  served

	servedChanged func()
	reach         Reach
	refused       func(Refusal)

	// accepted are writes that the API server is known to accept.
	accepted *acceptances

	// life bounds what no caller's context does: discovery for Resolve and Scope,
	// and the watches. It ends with Start or Close.
	life  context.Context
	close context.CancelFunc

	// started is closed when Start runs; watches only make progress then.
	started   chan struct{}
	startOnce sync.Once
	running   sync.WaitGroup

	mu      sync.Mutex
	watches map[schema.GroupKind]*kindWatch
	// wanted are the kinds that somebody asked to watch, served or not: one that
	// disappears and comes back is watched again.
	wanted map[schema.GroupKind]bool
	// lists count how often a kind was read as a whole.
	lists map[schema.GroupKind]int
	// excluded tells which kinds are never watched; nil excludes none.
	excluded func(schema.GroupKind) bool
	// tracking is how objects are marked; nil is the default.
	tracking atomic.Pointer[manifest.Tracking]
}

// New prepares a connection; it makes no request.
func New(cfg *rest.Config, opts Options) (*Cluster, error) {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.UserAgent == "" {
		opts.UserAgent = "wavetrain"
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.UserAgent = opts.UserAgent
	cfg.WarningHandlerWithContext = rest.NoWarnings{}
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	dialer := connrotation.NewDialer(dial)
	cfg.Dial = dialer.DialContext
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return impersonation{honest{rt}} })
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	c := &Cluster{
		server:        cfg.Host,
		clock:         opts.Clock,
		dialer:        dialer,
		started:       make(chan struct{}),
		servedChanged: opts.ServedChanged,
		reach:         opts.Reach,
		refused:       opts.Refused,
		watches:       map[schema.GroupKind]*kindWatch{},
		wanted:        map[schema.GroupKind]bool{},
		lists:         map[schema.GroupKind]int{},
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(cfg, client); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	untyped := dynamic.ConfigFor(cfg)
	untyped.GroupVersion = &schema.GroupVersion{}
	if c.rest, err = rest.RESTClientForConfigAndClient(untyped, client); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	if c.meta, err = metadata.NewForConfigAndClient(metadata.ConfigFor(cfg), client); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	c.life, c.close = context.WithCancel(context.Background())
	c.schemas = newSchemas(disco.OpenAPIV3WithContext)
	c.catalog = newCatalog(disco, opts.Clock, cfg.Host)
	c.catalog.differs = c.tellServed
	c.store = newStore()
	if c.codec = opts.Codec; c.codec == nil {
		if c.codec, err = NewCodec(); err != nil {
			return nil, err
		}
	}
	c.accepted = newAcceptances()
	c.store.subscribe(c.accepted.changed)
	return c, nil
}

// Server returns the address of the API server.
func (c *Cluster) Server() string { return c.server }

// Start keeps discovery and the watched kinds up to date until ctx ends, then
// stops every watch, closes the connections and returns nil. It may be called
// once.
func (c *Cluster) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	c.running.Go(func() { c.watchDiscovery(c.life) })
	c.startOnce.Do(func() { close(c.started) })
	<-c.life.Done()
	c.mu.Lock()
	watches := make([]*kindWatch, 0, len(c.watches))
	for _, w := range c.watches {
		watches = append(watches, w)
	}
	c.mu.Unlock()
	for _, w := range watches {
		<-w.done
	}
	c.running.Wait()
	c.dialer.CloseAll()
	return nil
}

// Close ends everything the cluster does; for callers that never call Start.
func (c *Cluster) Close() {
	c.close()
	c.dialer.CloseAll()
}

// Resource is how a kind is served.
type Resource struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Namespaced bool
	// Watchable is true if the kind can be listed and watched.
	Watchable bool
}

// Resolve finds out how a kind is served; without a version, in the group's
// preferred one. For a kind that is not known the group is discovered again, at
// most once per second; the error is then an *UnknownKindError.
func (c *Cluster) Resolve(gvk schema.GroupVersionKind) (Resource, error) {
	return c.catalog.resolve(c.life, gvk)
}

// Scope reports whether a kind is namespaced and whether it is served at all, as
// far as discovery knows.
func (c *Cluster) Scope(gk schema.GroupKind) (namespaced, known bool) {
	if c.catalog.load(c.life) != nil {
		return false, false
	}
	res, ok := c.catalog.lookup(gk.WithVersion(""))
	return res.Namespaced, ok
}

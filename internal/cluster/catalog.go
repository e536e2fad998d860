// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
)

// rediscoverEvery spaces discoveries of one group for kinds nobody knows.
const rediscoverEvery = time.Second

// catalog is what discovery said, kept group by group.
type catalog struct {
	client *discovery.DiscoveryClient
	clock  clock.Clock
	server string

	// reading serialises requests, so that callers who miss the same kind ask once.
	reading sync.Mutex

	mu     sync.RWMutex
	loaded bool
	// failure is why nothing could be read, failedAt when that was.
	failure  error
	failedAt time.Time
	groups   map[string][]version
	// asked is when a group was last discovered on account of an unknown kind.
	asked map[string]time.Time
	// stirred is when something that defines kinds of the group last changed.
	stirred map[string]time.Time
	// editions count those changes. release is the server's version, as far as it is
	// known.
	editions map[string]int
	release  string
	// failed are groups whose discovery failed, with the error.
	failed map[string]error
	// changed is closed and replaced when a group was discovered.
	changed chan struct{}
	// findings counts the discoveries that found something else than before; differs
	// is told of them.
	findings int
	differs  func()
}

// version is one served version of a group; the preferred one comes first.
type version struct {
	name string
	// kinds by name, without subresources.
	kinds map[string]Resource
}

func newCatalog(client *discovery.DiscoveryClient, clock clock.Clock, server string) *catalog {
	return &catalog{
		client: client, clock: clock, server: server,
		groups: map[string][]version{}, asked: map[string]time.Time{}, stirred: map[string]time.Time{},
		editions: map[string]int{}, failed: map[string]error{}, changed: make(chan struct{}),
	}
}

// load reads everything once. A group that cannot be discovered is left out and
// asked again when somebody needs it. A failure holds for a moment, so that many
// who ask do not each wait for a server that does not answer.
func (c *catalog) load(ctx context.Context) error {
	if c.isLoaded() {
		return nil
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.isLoaded() {
		return nil
	}
	if c.failure != nil && c.clock.Since(c.failedAt) < rediscoverEvery {
		return c.failure
	}
	err := c.read(ctx)
	c.failure, c.failedAt = err, c.clock.Now()
	if err != nil && reasonOf(err) == Cancelled {
		// One caller's context says nothing to the next.
		c.failure = nil
	}
	return err
}

func (c *catalog) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	groups, lists, err := c.client.ServerGroupsAndResourcesWithContext(ctx)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return &Error{Op: "discover the kinds of", Server: c.server, Reason: reasonOf(err), Err: err}
	}
	byVersion := make(map[string]*metav1.APIResourceList, len(lists))
	for _, l := range lists {
		byVersion[l.GroupVersion] = l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range groups {
		c.groups[g.Name] = nil
		for _, v := range preferredFirst(g) {
			if l := byVersion[v.GroupVersion]; l != nil {
				c.groups[g.Name] = append(c.groups[g.Name], versionOf(v.GroupVersion, l))
			}
		}
	}
	for gv, err := range failed {
		c.failed[gv.Group] = err
	}
	c.loaded = true
	return nil
}

func (c *catalog) isLoaded() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.loaded
}

func preferredFirst(g *metav1.APIGroup) []metav1.GroupVersionForDiscovery {
	versions := slices.Clone(g.Versions)
	slices.SortStableFunc(versions, func(a, b metav1.GroupVersionForDiscovery) int {
		switch g.PreferredVersion.Version {
		case b.Version:
			return 1
		case a.Version:
			return -1
		default:
			return 0
		}
	})
	return versions
}

func versionOf(groupVersion string, list *metav1.APIResourceList) version {
	// A served group version always parses; the zero value would serve nothing.
	gv, _ := schema.ParseGroupVersion(groupVersion)
	v := version{name: gv.Version, kinds: make(map[string]Resource, len(list.APIResources))}
	for _, r := range list.APIResources {
		if strings.Contains(r.Name, "/") {
			continue
		}
		v.kinds[r.Kind] = Resource{
			GVK:        gv.WithKind(r.Kind),
			GVR:        gv.WithResource(r.Name),
			Namespaced: r.Namespaced,
			Watchable:  slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"),
		}
	}
	return v
}

// lookup finds a kind without asking the server; an empty version stands for the
// preferred one that has the kind.
func (c *catalog) lookup(gvk schema.GroupVersionKind) (Resource, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, v := range c.groups[gvk.Group] {
		if gvk.Version == "" || gvk.Version == v.name {
			if res, ok := v.kinds[gvk.Kind]; ok {
				return res, true
			}
		}
	}
	return Resource{}, false
}

// serves reports whether a resource ("widgets") of a group is known.
func (c *catalog) serves(gr schema.GroupResource) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, v := range c.groups[gr.Group] {
		for _, res := range v.kinds {
			if res.GVR.Resource == gr.Resource {
				return true
			}
		}
	}
	return false
}

// resolve finds a kind, discovering its group again if it is not known.
func (c *catalog) resolve(ctx context.Context, gvk schema.GroupVersionKind) (Resource, error) {
	if err := c.load(ctx); err != nil {
		return Resource{}, err
	}
	if res, ok := c.lookup(gvk); ok {
		return res, nil
	}
	c.mu.Lock()
	due := c.clock.Since(c.asked[gvk.Group]) >= rediscoverEvery
	if due {
		c.asked[gvk.Group] = c.clock.Now()
	}
	c.mu.Unlock()
	if due {
		if err := c.refresh(ctx, gvk.Group); err != nil {
			return Resource{}, err
		}
	}
	if res, ok := c.lookup(gvk); ok {
		return res, nil
	}
	return Resource{}, c.unknown(gvk)
}

func (c *catalog) unknown(gvk schema.GroupVersionKind) *UnknownKindError {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := &UnknownKindError{GVK: gvk, Server: c.server, Err: c.failed[gvk.Group]}
	for _, v := range c.groups[gvk.Group] {
		if _, ok := v.kinds[gvk.Kind]; ok {
			e.Served = append(e.Served, v.name)
		}
	}
	return e
}

// refresh discovers one group again. It fails only if the server cannot be asked;
// a version that cannot be discovered keeps what was known of it.
func (c *catalog) refresh(ctx context.Context, group string) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := c.group(ctx, group)
	if err != nil && !apierrors.IsNotFound(err) {
		return &Error{Op: fmt.Sprintf("discover group %q of", group), Server: c.server, Reason: reasonOf(err), Err: err}
	}
	var versions []version
	var failure error
	for _, v := range info {
		list, err := c.client.ServerResourcesForGroupVersionWithContext(ctx, v.GroupVersion)
		switch {
		case err == nil:
			versions = append(versions, versionOf(v.GroupVersion, list))
		case apierrors.IsNotFound(err):
		default:
			failure = err
			if old, ok := c.version(group, v.Version); ok {
				versions = append(versions, old)
			}
		}
	}
	if c.store(group, versions, failure) {
		c.differs()
	}
	return nil
}

// store keeps what a discovery of a group said, and reports whether that is
// something else than before.
func (c *catalog) store(group string, versions []version, failure error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	differs := !reflect.DeepEqual(c.groups[group], versions)
	if differs {
		c.findings++
	}
	if c.groups[group] = versions; len(versions) == 0 {
		delete(c.groups, group)
	}
	if c.failed[group] = failure; failure == nil {
		delete(c.failed, group)
	}
	close(c.changed)
	c.changed = make(chan struct{})
	return differs
}

// readings counts the discoveries that found something new.
func (c *catalog) readings() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.findings
}

// group returns the versions of a group, preferred one first.
func (c *catalog) group(ctx context.Context, name string) ([]metav1.GroupVersionForDiscovery, error) {
	if name == "" {
		return []metav1.GroupVersionForDiscovery{{GroupVersion: "v1", Version: "v1"}}, nil
	}
	var info metav1.APIGroup
	if err := c.client.RESTClient().Get().AbsPath("/apis", name).Do(ctx).Into(&info); err != nil {
		return nil, err
	}
	return preferredFirst(&info), nil
}

func (c *catalog) version(group, name string) (version, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i := slices.IndexFunc(c.groups[group], func(v version) bool { return v.name == name })
	if i < 0 {
		return version{}, false
	}
	return c.groups[group][i], true
}

// stir notes that kinds of a group are about to change.
func (c *catalog) stir(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stirred[group] = c.clock.Now()
	c.editions[group]++
	// The next one who misses a kind of this group asks at once.
	delete(c.asked, group)
}

// learn notes the version of the server.
func (c *catalog) learn(release string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release = release
}

// edition is another one whenever the schemas of a group may have changed.
func (c *catalog) edition(group string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.release + "/" + strconv.Itoa(c.editions[group])
}

// stirredSince returns how long ago the kinds of a group last changed, and what
// is closed at the next discovery.
func (c *catalog) stirredSince(group string) (ago time.Duration, ever bool, changed <-chan struct{}) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	at, ever := c.stirred[group]
	return c.clock.Since(at), ever, c.changed
}

func (c *catalog) apiVersions() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []string
	for group, versions := range c.groups {
		for _, v := range versions {
			gv := schema.GroupVersion{Group: group, Version: v.name}.String()
			out = append(out, gv)
			for kind := range v.kinds {
				out = append(out, gv+"/"+kind)
			}
		}
	}
	return out
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// workers is how many items are worked on at once; two cores are kept busy by the API server anyway.
const workers = 8

// role is who takes care of an item.
type role string

const (
	rolePod       role = "pod"
	roleScheduler role = "scheduler"
	roleClaim     role = "claim"
	roleVolume    role = "volume"
	roleService   role = "service"
	roleIngress   role = "ingress"
	roleObject    role = "object"
	roleRequests  role = "requests"
)

// item is what the queue holds: something to look at now or at a known time.
type item struct {
	role            role
	gvr             schema.GroupVersionResource
	namespace, name string
}

// engine is everything a running simulation shares. Each file of this package is one role; roles speak to
// each other through the queue.
type engine struct {
	opts    Options
	log     logr.Logger
	clock   *simulated
	agenda  *agenda
	config  *rest.Config
	client  kubernetes.Interface
	dynamic dynamic.Interface
	events  record.EventRecorder
	queue   workqueue.TypedRateLimitingInterface[item]

	cache    *caches
	kinds    *kinds
	watches  *watches
	rules    *ruleBook
	owners   *owners
	pods     *pods
	objects  *objects
	census   *census
	claims   *claims
	binder   *binder
	scaleUp  *scaleUp
	blocked  *blocked
	logs     *logServer
	handlers map[role]func(context.Context, item) error
}

func newEngine(ctx context.Context, cfg *rest.Config, opts Options) (*engine, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.UserAgent = "wavetrain-simulator"
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for the simulator: %w", err)
	}
	binary := rest.CopyConfig(cfg)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(binary)
	if err != nil {
		return nil, fmt.Errorf("make a client for the simulator: %w", err)
	}
	e := &engine{
		opts: opts, log: opts.Log, clock: &simulated{}, config: cfg, client: client, dynamic: dyn,
		kinds: newKinds(), owners: newOwners(), pods: newPods(), objects: newObjects(), census: newCensus(), claims: newClaims(),
		binder: newBinder(), scaleUp: newScaleUp(), blocked: newBlocked(),
	}
	e.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[item](5*time.Millisecond, 2*time.Second),
		workqueue.TypedRateLimitingQueueConfig[item]{Name: "sim", Clock: clock.RealClock{}})
	e.agenda = newAgenda(e.clock)
	e.watches = newWatches(ctx, e)
	e.cache = newCaches(e)
	if e.rules, err = newRuleBook(opts); err != nil {
		return nil, err
	}
	e.handlers = map[role]func(context.Context, item) error{
		rolePod: e.syncPod, roleScheduler: e.schedule, roleClaim: e.syncClaim, roleVolume: e.syncVolume,
		roleService: e.syncService, roleIngress: e.syncIngress, roleObject: e.syncObject,
		roleRequests: e.syncRequests,
	}
	return e, nil
}

// startEvents connects the recorder; the returned function flushes and stops it.
func (e *engine) startEvents() func() {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: e.client.CoreV1().Events("")})
	e.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "wavetrain-simulator"})
	return broadcaster.Shutdown
}

// work takes items off the queue until it is shut down.
func (e *engine) work(ctx context.Context, wg *sync.WaitGroup) {
	for range workers {
		wg.Go(func() {
			for e.workOne(ctx) {
			}
		})
	}
}

func (e *engine) workOne(ctx context.Context) bool {
	it, shutdown := e.queue.Get()
	if shutdown {
		return false
	}
	defer e.queue.Done(it)
	e.agenda.drop(it)
	err := e.handlers[it.role](ctx, it)
	switch {
	case err == nil:
		e.queue.Forget(it)
	case ctx.Err() != nil:
	default:
		// A conflict only means that the cache is behind; its next event or the retry settles it.
		if !apierrors.IsConflict(err) && !errors.Is(err, errLater) {
			e.log.V(1).Info("try again", "role", it.role, "namespace", it.namespace, "name", it.name, "error", err.Error())
		}
		e.queue.AddRateLimited(it)
	}
	return true
}

// errLater makes the queue try an item again soon, because something it needs is not in a cache yet.
var errLater = errors.New("not known yet")

// wakeAt has it looked at again at t.
func (e *engine) wakeAt(it item, t time.Time) {
	if !t.IsZero() {
		e.agenda.put(it, t, false)
	}
}

// blocked is what waits for other objects to appear.
type blocked struct {
	mu sync.Mutex
	// items maps what waits to whether objects of other namespaces count.
	items map[item]bool
}

func newBlocked() *blocked { return &blocked{items: map[item]bool{}} }

// add notes that it waits. It must be noted before one looks at what it waits for, else a change in
// between is missed.
func (b *blocked) add(it item, anywhere bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items[it] = anywhere
}

func (b *blocked) remove(it item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.items, it)
}

// changed has everything looked at again that may wait for an object of that namespace.
func (e *engine) changed(namespace string) {
	e.blocked.mu.Lock()
	defer e.blocked.mu.Unlock()
	for it, anywhere := range e.blocked.items {
		if anywhere || namespace == "" || it.namespace == namespace {
			e.queue.Add(it)
		}
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"hash/maphash"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/pipeline"
)

// applications reconciles Application objects.
type applications struct {
	opts         Options
	caredFor     caredFor
	client       client.Client
	repositories *repositories
	renderer     *pipeline.Renderer
	comparer     *pipeline.Comparer
	destinations *destinations
	wakeups      *wakeups
	watchlist    *watchlist
	renderings   *renderings
	polls        *polls
	heads        *heads
	quiet        *quiet
	orphanage    *orphanage
	places       *places
	installation *installation

	// life ends when the controller stops; rollouts live in it, not in the
	// reconcile call that began them.
	life context.Context
	end  context.CancelFunc

	// codec packs what is kept between looks, records what ReleaseRecords hold.
	codec   *cluster.Codec
	records releasev1alpha1.Packer
	// seed makes hashes that nobody outside can foresee.
	seed maphash.Seed

	counters counters

	// progress bounds how often the progress of operations is written.
	progress *rate.Limiter

	// access counts changes of what is known about reading repositories.
	access atomic.Int64

	mu     sync.Mutex
	states map[types.NamespacedName]*appState
	// servedSoon are the clusters for which servedChanged is about to act.
	servedSoon map[string]bool
}

func newApplications(opts Options, cares caredFor, codec *cluster.Codec, c client.Client) *applications {
	life, end := context.WithCancel(context.Background())
	a := &applications{
		opts: opts, caredFor: cares, client: c, codec: codec,
		repositories: newRepositories(c, opts.Namespace, opts.Clock),
		comparer:     pipeline.NewComparer(),
		renderings:   newRenderings(), orphanage: newOrphanage(),
		installation: newInstallation(c, opts),
		life:         life, end: end,
		seed:     maphash.MakeSeed(),
		counters: newCounters(),
		progress: rate.NewLimiter(progressRate, progressBurst),
		states:   map[types.NamespacedName]*appState{}, servedSoon: map[string]bool{},
	}
	a.watchlist = newWatchlist(a.renderings)
	a.wakeups = newWakeups(a.unchanged)
	a.places = newPlaces(a.wakeups.add)
	a.polls, a.heads = newPolls(a.resolve, a.headMoved), newHeads(a.writeHead)
	a.renderer = pipeline.NewRenderer(opts.Sources, a.repositories.find, a.counters.counting(opts.Rendering))
	a.quiet = newQuiet(func() {
		a.comparer.Rest()
		a.renderer.Rest()
		a.destinations.rest()
	})
	a.destinations = newDestinations(opts.Config, codec, c, opts.Namespace, a.installation.current.Load, a.changed)
	a.destinations.writes = opts.ClusterWrites
	a.destinations.served = a.servedChanged
	a.destinations.refused = a.refused
	context.AfterFunc(life, registered(newCacheMetrics()).follow(a.destinations))
	return a
}

// changed has the Applications looked at that a change of a live object concerns.
func (a *applications) changed(on *destination, change cluster.Change) {
	a.wakeups.add(a.orphanage.concerned(on.Server, change)...)
	names := a.watchlist.concerned(on.Server, change)
	if len(names) > 0 && !on.updates.Load().immaterial(change, on.Get) {
		a.wakeups.touch(change.Key, names...)
	}
}

func (a *applications) setUp(mgr manager.Manager) error {
	for _, run := range []leaderRunnable{a.wakeups.run, a.polls.every(a.opts.PollInterval), a.heads.run, a.quiet.run} {
		if err := mgr.Add(run); err != nil {
			return err
		}
	}
	skip := true
	return ctrl.NewControllerManagedBy(mgr).
		Named("application").
		For(&v1alpha1.Application{}, builder.WithPredicates(a.caredFor.inNamespace(), predicate.Funcs{UpdateFunc: asksForWork})).
		Watches(&v1alpha1.AppProject{}, handler.EnqueueRequestsFromMapFunc(a.ofProject), builder.WithPredicates(changesProject())).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(a.ofSettings), builder.WithPredicates(changesSettings())).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(a.ofAccess), builder.WithPredicates(changesAccess())).
		Watches(&corev1.ConfigMap{}, a.ofPushes()).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(a.ofAccess), builder.WithPredicates(changesAccess())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(a.ofCluster), builder.WithPredicates(registersCluster(a.opts.Namespace))).
		WatchesRawSource(ctrlsource.Channel(a.wakeups.out, &handler.EnqueueRequestForObject{})).
		WithLogConstructor(func(*reconcile.Request) logr.Logger { return a.opts.Log }).
		WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: a.opts.Workers, SkipNameValidation: &skip}).
		Complete(a)
}

// asksForWork tells whether an update of an Application is anything but our own
// status write: the generation does not tell, it rises with the status.
func asksForWork(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.Application)
	if !ok {
		return true
	}
	after, ok := e.ObjectNew.(*v1alpha1.Application)
	if !ok {
		return true
	}
	return !reflect.DeepEqual(before.Spec, after.Spec) ||
		!reflect.DeepEqual(before.Operation, after.Operation) ||
		!reflect.DeepEqual(before.Annotations, after.Annotations) ||
		!reflect.DeepEqual(before.Finalizers, after.Finalizers) ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		operationPhase(before) != operationPhase(after) && operationPhase(after) == v1alpha1.OperationTerminating
}

func operationPhase(app *v1alpha1.Application) v1alpha1.OperationPhase {
	if app.Status.OperationState == nil {
		return ""
	}
	return app.Status.OperationState.Phase
}

// enqueue has the Application looked at soon, with its revisions resolved anew.
func (a *applications) enqueue(name types.NamespacedName) {
	a.state(name).refresh.Store(true)
	a.wakeups.add(name)
}

// servedPause gathers changes of what a cluster serves: an operator brings several
// definitions.
const servedPause = time.Second

// servedChanged has the Applications looked at whose charts may ask what their
// cluster serves.
func (a *applications) servedChanged(server string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.servedSoon[server] {
		return
	}
	a.servedSoon[server] = true
	time.AfterFunc(servedPause, func() {
		a.mu.Lock()
		delete(a.servedSoon, server)
		var names []types.NamespacedName
		for name, st := range a.states {
			seen := st.settled.Load()
			if st.asksServed.Load() && (seen == nil || seen.dest.Server == server) {
				names = append(names, name)
			}
		}
		a.mu.Unlock()
		a.wakeups.add(names...)
	})
}

// abandon ends what runs when the controller stops; it can be resumed.
func (a *applications) abandon() {
	a.end()
	a.mu.Lock()
	states := make([]*appState, 0, len(a.states))
	for _, st := range a.states {
		states = append(states, st)
	}
	a.mu.Unlock()
	for _, st := range states {
		st.mu.Lock()
		run := st.run
		st.mu.Unlock()
		if run != nil {
			<-run.Done()
		}
	}
}

func (a *applications) state(name types.NamespacedName) *appState {
	a.mu.Lock()
	defer a.mu.Unlock()
	st, ok := a.states[name]
	if !ok {
		st = &appState{}
		a.states[name] = st
	}
	return st
}

// forget drops all that is kept of an Application that is gone.
func (a *applications) forget(name types.NamespacedName) {
	a.mu.Lock()
	st := a.states[name]
	delete(a.states, name)
	a.mu.Unlock()
	instance := a.instance(name)
	a.polls.unfollow(name)
	a.watchlist.remove(name, instance)
	a.wakeups.add(a.renderings.remove(name)...)
	a.orphanage.unfollow(name)
	a.renderer.Forget(instance)
	a.comparer.Forget(instance)
	if st == nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.run != nil {
		st.run.Abandon()
	}
}

// instance is the name that tracking ids carry: the Application's own inside the
// control namespace, "namespace_name" elsewhere.
func (a *applications) instance(name types.NamespacedName) string {
	if name.Namespace == a.opts.Namespace {
		return name.Name
	}
	return name.Namespace + "_" + name.Name
}

// nameOfInstance is the Application that a name in tracking ids stands for.
func (a *applications) nameOfInstance(instance string) types.NamespacedName {
	if namespace, name, ok := strings.Cut(instance, "_"); ok {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: a.opts.Namespace, Name: instance}
}

// Reconcile implements reconcile.Reconciler.
func (a *applications) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !a.caredFor.namespace(req.Namespace) {
		return reconcile.Result{}, nil
	}
	defer a.places.looked(req.NamespacedName)
	app := &v1alpha1.Application{}
	if err := a.client.Get(ctx, req.NamespacedName, app); err != nil {
		if apierrors.IsNotFound(err) {
			a.forget(req.NamespacedName)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, err
	}
	if frozen(app) {
		return reconcile.Result{}, nil
	}
	told, err := a.installation.refresh(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	st := a.state(req.NamespacedName)
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ahead(app) {
		return reconcile.Result{RequeueAfter: 20 * time.Millisecond}, nil
	}
	a.quiet.looks.Add(1)
	st.settled.Store(nil)
	if err := st.rise(a.codec); err != nil {
		return reconcile.Result{}, err
	}
	s := &session{applications: a, st: st, app: app.DeepCopy(), before: app, settings: told, now: a.opts.Clock.Now(), instance: a.instance(req.NamespacedName)}
	defer s.leavesPlace()
	s.takeUnwritten()
	if app.DeletionTimestamp.IsZero() {
		err = s.reconcile(ctx)
	} else {
		err = s.finalize(ctx)
	}
	if resting := st.rest(a.codec); resting != nil {
		return reconcile.Result{}, errors.Join(err, resting)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// Somebody else wrote meanwhile; what they wrote is on its way to us.
		return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	return reconcile.Result{RequeueAfter: s.again(a.opts.Clock.Now())}, err
}

// frozen tells whether somebody asked that nothing happens to the Application.
// One that was handed over to Wavetrain ignores the annotation that keeps Argo CD
// away from it.
func frozen(app *v1alpha1.Application) bool {
	isTrue := func(annotation string) bool {
		v, err := strconv.ParseBool(app.Annotations[annotation])
		return err == nil && v
	}
	if isTrue(v1alpha1.AnnotationSkipReconcileHere) {
		return true
	}
	return isTrue(v1alpha1.AnnotationSkipReconcile) && !isTrue(v1alpha1.AnnotationAdopted)
}

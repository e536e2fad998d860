// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

func newDriftCmd(b *bench) *cobra.Command {
	c := drift{bench: b}
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "Edits by somebody else are healed",
		Long: `Edit random objects of Applications that are Synced, none twice, and see from the API server's
audit log how long each took to be put right: first at a steady rate, then as fast as the edits
can be made. The floor is a bare watcher with the same objects in another namespace, edited at
the same rate in the same run: it applies an object when it sees that somebody edited it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&c.applications, "applications", 60, "number of Applications")
	cmd.Flags().IntVar(&c.objects, "objects", 25, "objects of each")
	cmd.Flags().IntVar(&c.edits, "edits", 500, "objects that are edited, at the rate and again as a burst")
	cmd.Flags().IntVar(&c.rate, "rate", 20, "edits per second")
	cmd.Flags().DurationVar(&c.settle, "settle", 10*time.Second, "how long to wait after the delivery before anything is edited")
	return cmd
}

type drift struct {
	*bench
	applications, objects, edits, rate int
	settle                             time.Duration
}

func (c drift) run(ctx context.Context) (err error) {
	if 2*c.edits > c.applications*c.objects {
		return fmt.Errorf("--edits %d: twice as many objects are needed, there are %d", c.edits, c.applications*c.objects)
	}
	s, err := c.newStage(ctx, "drift")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	workloads := generate(c.applications, "drift", mixed(c.objects))
	files, err := repositoryFiles(workloads)
	if err != nil {
		return err
	}
	repo, err := s.serveRepository(ctx, files)
	if err != nil {
		return err
	}
	c.say("applying the objects of the floor")
	if _, err := s.floorA(ctx, workloads, "drift-floor"); err != nil {
		return err
	}
	r := newReport("drift", "%d of %d objects in %d Applications edited, %d a second, then %d others as a burst",
		c.edits, c.applications*c.objects, c.applications, c.rate, c.edits)

	floor, err := c.underFloor(ctx, s, placed(workloads, "drift-floor"))
	if err != nil {
		return err
	}
	engine, err := c.underEngine(ctx, s, workloads, repo.url())
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name          string
		engine, floor healing
	}{{"at the rate", engine.steady, floor.steady}, {"burst", engine.burst, floor.burst}} {
		r.add(part.name+": objects not healed", float64(part.engine.open), "", atMost(0))
	}
	r.beside("at the rate: edit to healing write, p50", milliseconds(engine.steady.p(0.5)), "ms", milliseconds(floor.steady.p(0.5)), "watcher", atMost(25))
	r.beside("at the rate: edit to healing write, p99", milliseconds(engine.steady.p(0.99)), "ms", milliseconds(floor.steady.p(0.99)), "watcher", atMost(250))
	r.beside("at the rate: edit to healing write, longest", milliseconds(engine.steady.p(1)), "ms", milliseconds(floor.steady.p(1)), "watcher")
	r.beside("burst: first edit to last healing, in times of the edits", engine.burst.stretch(), "", floor.burst.stretch(), "watcher", atMost(2))
	r.beside("burst: edit to healing write, p50", milliseconds(engine.burst.p(0.5)), "ms", milliseconds(floor.burst.p(0.5)), "watcher")
	r.add("objects written that nobody had edited", float64(engine.strangers), "", atMost(0))
	r.add("Application writes in any 5 s, most of one", float64(engine.appWrites), "", atMost(1))
	r.add("CPU per edit", seconds(engine.used.cpu())*1000/float64(2*c.edits), "CPU-ms")
	engine.report(r, 2*c.edits, "edit")
	return c.report(r)
}

// watched is how drift was healed by somebody.
type watched struct {
	steady, burst healing
	// strangers are writes to objects that nobody had edited.
	strangers int
	// appWrites is how often one Application was written within five seconds.
	appWrites int
	used      usage
	*tally
}

// healing is what became of edits.
type healing struct {
	took []time.Duration
	open int
	// edited is the time from the first edit to the last, healed that to the last
	// healing.
	edited, healed time.Duration
}

func (h healing) p(share float64) time.Duration { return percentile(h.took, share) }

func (h healing) stretch() float64 {
	if h.edited <= 0 {
		return 0
	}
	return h.healed.Seconds() / h.edited.Seconds()
}

func (c drift) underFloor(ctx context.Context, s *stage, workloads []workload) (watched, error) {
	c.say("a bare watcher heals")
	stop, err := s.bareWatcher(ctx, workloads)
	if err != nil {
		return watched{}, err
	}
	w, err := c.edit(ctx, s, workloads, watcherAgent)
	return w, errors.Join(err, stop())
}

func (c drift) underEngine(ctx context.Context, s *stage, workloads []workload, repoURL string) (watched, error) {
	if err := s.namespaces(ctx, "drift"); err != nil {
		return watched{}, err
	}
	for i := range workloads {
		workloads[i].namespace = "drift"
	}
	p, err := s.startController(ctx)
	if err != nil {
		return watched{}, err
	}
	c.say("delivering %d Applications", len(workloads))
	if _, err := s.deliver(ctx, p, workloads, repoURL); err != nil {
		return watched{}, err
	}
	// What the delivery left to do is done by then.
	if err := s.settled(ctx, c.settle); err != nil {
		return watched{}, err
	}
	c.say("Wavetrain heals")
	var w watched
	_, err = s.measure(ctx, p, func() (time.Duration, error) {
		before, err := p.usage()
		if err != nil {
			return 0, err
		}
		if w, err = c.edit(ctx, s, placed(workloads, "drift"), engineAgent); err != nil {
			return 0, err
		}
		after, err := p.usage()
		w.used = after.since(before)
		return 0, err
	})
	return w, err
}

// editorAgent is the user agent of the one who edits.
const editorAgent = "bench-editor"

// editor returns a client with a name of its own in the audit log.
func (s *stage) editor() (dynamic.Interface, error) {
	cfg := rest.CopyConfig(s.config)
	cfg.UserAgent = editorAgent
	return dynamic.NewForConfig(cfg)
}

// edit edits objects of the workloads and waits until the client with the agent
// has healed them, twice.
func (c drift) edit(ctx context.Context, s *stage, workloads []workload, agent string) (watched, error) {
	client, err := s.editor()
	if err != nil {
		return watched{}, err
	}
	var objects []*unstructured.Unstructured
	for _, w := range workloads {
		objects = append(objects, w.objects()...)
	}
	// Another order in each run would be another benchmark.
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret
	random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	steady, burst := objects[:c.edits], objects[c.edits:2*c.edits]

	log, err := newHealingLog(s.audit, agent)
	if err != nil {
		return watched{}, err
	}
	err = c.editSteadily(ctx, client, steady)
	if err == nil {
		err = log.await(ctx, c.edits)
	}
	if err != nil {
		return watched{}, err
	}
	out := watched{steady: log.healing(steady)}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(c.concurrency)
	for _, obj := range burst {
		group.Go(func() error { return editObject(groupCtx, client, obj) })
	}
	if err := group.Wait(); err != nil {
		return watched{}, err
	}
	if err := log.await(ctx, 2*c.edits); err != nil {
		return watched{}, err
	}
	out.burst = log.healing(burst)
	// A status that is still to be written counts, too.
	if err := pause(ctx, min(6*time.Second, c.settle)); err != nil {
		return watched{}, err
	}
	if err := log.read(); err != nil {
		return watched{}, err
	}
	out.tally, out.strangers, out.appWrites = log.tally, log.strangers(), log.applicationWritesWithin(5*time.Second)
	return out, log.trail.Close()
}

func (c drift) editSteadily(ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured) error {
	ticker := time.NewTicker(time.Second / time.Duration(c.rate))
	defer ticker.Stop()
	group, ctx := errgroup.WithContext(ctx)
	for _, obj := range objects {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(group.Wait(), context.Cause(ctx))
		}
		group.Go(func() error { return editObject(ctx, client, obj) })
	}
	return group.Wait()
}

// editObject changes a field that Git sets, as a person does with kubectl.
func editObject(ctx context.Context, client dynamic.Interface, obj *unstructured.Unstructured) error {
	path, value := "/data/KEY_1", any("edited")
	switch obj.GetKind() {
	case "Deployment":
		path, value = "/spec/template/spec/containers/0/image", "registry.example.test/edited:2"
	case "Service":
		path, value = "/spec/ports/0/targetPort", "edited"
	case "Role":
		path, value = "/rules/1/verbs/0", "delete"
	case "RoleBinding":
		path, value = "/subjects/0/name", "edited"
	case "ServiceAccount":
		path, value = "/automountServiceAccountToken", true
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": path, "value": value}})
	if err != nil {
		return err
	}
	_, err = client.Resource(resourceOf(obj)).Namespace(obj.GetNamespace()).
		Patch(ctx, obj.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: editManager})
	if err != nil {
		return fmt.Errorf("edit %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

// editManager owns what was edited, as with kubectl.
const editManager = "kubectl-edit"

// refOf names an object as the audit log does.
func refOf(obj *unstructured.Unstructured) objectRef {
	return objectRef{Resource: resourceOf(obj).Resource, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// healingLog gathers from the audit log when objects were edited and healed.
type healingLog struct {
	trail        *trail
	agent        string
	tally        *tally
	edits        map[objectRef]time.Time
	writes       map[objectRef][]time.Time
	applications map[string][]time.Time
}

func newHealingLog(path, agent string) (*healingLog, error) {
	trail, err := newTrail(path)
	return &healingLog{
		trail: trail, agent: agent, tally: newTally(),
		edits: map[objectRef]time.Time{}, writes: map[objectRef][]time.Time{}, applications: map[string][]time.Time{},
	}, err
}

// read takes in what has been logged.
func (l *healingLog) read() error {
	return l.trail.requests(func(r request) {
		switch {
		case r.by(editorAgent):
			if r.write() && r.succeeded() {
				l.edits[r.object()] = r.at()
			}
		case r.by(l.agent):
			l.tally.add(r)
			switch {
			case !r.write() || !r.succeeded():
			case r.ObjectRef.Resource == "applications":
				l.applications[r.ObjectRef.Name] = append(l.applications[r.ObjectRef.Name], r.at())
			case r.ObjectRef.APIGroup != "wavetrain.dev":
				l.writes[r.object()] = append(l.writes[r.object()], r.at())
			}
		}
	}, editorAgent, l.agent)
}

// await reads until n edits are healed, or until it is plain that they will not
// be.
func (l *healingLog) await(ctx context.Context, n int) error {
	const limit = 3 * time.Minute
	began := time.Now()
	for {
		if err := l.read(); err != nil {
			return err
		}
		healed := 0
		for ref, at := range l.edits {
			if _, ok := l.healedAfter(ref, at); ok {
				healed++
			}
		}
		if healed >= n || time.Since(began) > limit {
			return nil
		}
		if err := pause(ctx, settle); err != nil {
			return err
		}
	}
}

// healedAfter returns when an object was first written after an edit.
func (l *healingLog) healedAfter(ref objectRef, edit time.Time) (time.Time, bool) {
	for _, at := range l.writes[ref] {
		if at.After(edit) {
			return at, true
		}
	}
	return time.Time{}, false
}

// healing tells what became of the edits of the objects.
func (l *healingLog) healing(objects []*unstructured.Unstructured) healing {
	var h healing
	var first, last, healed time.Time
	for _, obj := range objects {
		edit, ok := l.edits[refOf(obj)]
		at, done := l.healedAfter(refOf(obj), edit)
		if !ok || !done {
			h.open++
			continue
		}
		h.took = append(h.took, at.Sub(edit))
		if first.IsZero() || edit.Before(first) {
			first = edit
		}
		last, healed = later(last, edit), later(healed, at)
	}
	slices.Sort(h.took)
	h.edited, h.healed = last.Sub(first), healed.Sub(first)
	return h
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// strangers counts writes to objects that nobody had edited before.
func (l *healingLog) strangers() int {
	n := 0
	for ref, writes := range l.writes {
		edit, edited := l.edits[ref]
		for _, at := range writes {
			if !edited || at.Before(edit) {
				n++
			}
		}
	}
	return n
}

// applicationWritesWithin returns how often the most written Application was
// written within a span.
func (l *healingLog) applicationWritesWithin(span time.Duration) int {
	most := 0
	for _, times := range l.applications {
		slices.SortFunc(times, time.Time.Compare)
		for i := range times {
			n := 0
			for _, at := range times[i:] {
				if at.Sub(times[i]) < span {
					n++
				}
			}
			most = max(most, n)
		}
	}
	return most
}

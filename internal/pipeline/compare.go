// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/jq"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// dryRuns bounds how many server-side dry runs one comparison makes at once.
const dryRuns = 8

// Destination is what a comparison reads of a cluster.
type Destination interface {
	// Watch has kinds watched; kinds that are not served are an error, the
	// others are watched all the same.
	Watch(ctx context.Context, kinds ...schema.GroupKind) error
	Scope(schema.GroupKind) (namespaced, known bool)
	Get(manifest.Key) (*unstructured.Unstructured, bool)
	// Head is what Get can say without decoding the object.
	Head(manifest.Key) (cluster.Head, bool)
	// GetOwned is Get with the entries that say which manager owns which field.
	GetOwned(manifest.Key) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool)
	// Fetch reads an object from the API server in a version of its group.
	Fetch(ctx context.Context, key manifest.Key, version string) (*unstructured.Unstructured, error)
	// TrackedBut returns the objects that an application's mark is on, but for those
	// that the caller knows.
	TrackedBut(app string, known func(manifest.Key) bool) []*unstructured.Unstructured
	// Labelled returns the objects with an application's label, where labels are
	// how objects are tracked.
	Labelled(app string) []*unstructured.Unstructured
	// List returns the objects of a watched kind.
	List(schema.GroupKind) []*unstructured.Unstructured
	Apply(ctx context.Context, obj *unstructured.Unstructured, opts cluster.ApplyOptions) (*unstructured.Unstructured, error)
	// Repeats reports whether an apply would be the same that was made of the object
	// last, and is known to be carried out as it is written.
	Repeats(ctx context.Context, obj *unstructured.Unstructured, opts cluster.ApplyOptions) bool
	// Schema returns what is published about the fields of a group version, nil if
	// that is not known.
	Schema(context.Context, schema.GroupVersion) *diff.Schema
	// WatchWebhooks has Guards know the admission webhooks of the cluster.
	WatchWebhooks(ctx context.Context)
	// Guards returns the Services whose admission webhooks have to agree to an object.
	Guards(key manifest.Key, obj *unstructured.Unstructured) []manifest.Key
}

// Subject is what a comparison is about.
type Subject struct {
	// App is the instance name; empty for objects that belong to no application.
	App string
	// Server and Namespace are the destination.
	Server, Namespace string
	Desired           *Desired
	Options           plan.Options
	// Write is how the application has its objects written.
	Write cluster.Policy
	// Rules are the installation's about what is no difference, Ignore the
	// application's own.
	Rules  diff.Rules
	Ignore []v1alpha1.ResourceIgnoreDifferences
	// Tracking is how objects are marked.
	Tracking manifest.Tracking
	// Tolerant passes over kinds that may not be read and are not rendered.
	Tolerant bool
	// Elsewhere tells whether another application renders an object: then it is
	// not superfluous. Nil means that nobody does.
	Elsewhere func(manifest.Key) bool
	// Excluded tells which kinds the installation leaves alone; nil excludes
	// nothing. The destination does not watch them.
	Excluded func(schema.GroupKind) bool
	// Inventory lists objects that earlier releases wrote.
	Inventory []inventory.Entry

	// Renew takes unstable fields as they are rendered, whatever exists.
	Renew bool

	compare diff.Options
	// settled identifies what became of the unstable fields.
	settled string
}

// Verdict is the comparison of one rendered object with the live one.
type Verdict struct {
	// Live is nil when the object does not exist.
	Live *unstructured.Unstructured
	// Changes are the fields that differ; empty for an object in sync.
	Changes []diff.Change
	// Rejected is what the API server said when it was asked what applying the
	// object would do; such an object is out of sync.
	Rejected string
}

// InSync tells whether nothing has to be done for the object.
func (v Verdict) InSync() bool {
	return v.Live != nil && len(v.Changes) == 0 && v.Rejected == ""
}

// Comparison is the state of an application: what is desired, what is there, and
// the plan that leads from one to the other.
type Comparison struct {
	Plan *plan.Plan
	// Verdicts by key, for ordinary objects.
	Verdicts map[manifest.Key]Verdict
	// Live holds the live objects of the rendered set, hooks included.
	Live map[manifest.Key]*unstructured.Unstructured
	// Superfluous are objects of the application that are no longer rendered.
	Superfluous []inventory.Candidate
	// Options are those that objects were compared with.
	Options diff.Options

	// write is how objects would be written.
	write cluster.Policy
	// input is what the plan was made of, warnings what the rendering has to say.
	input    plan.Input
	warnings []diag.Diagnostic
}

// Replanned returns the comparison with the plan that other options lead to. It
// reports false if they concern more than what of it is carried out: then the live
// state has to be compared anew.
func (c *Comparison) Replanned(write cluster.Policy, options plan.Options) (*Comparison, bool) {
	if write != c.write || !reflect.DeepEqual(extent(options), extent(c.input.Options)) {
		return nil, false
	}
	other := *c
	other.input.Options = options
	other.plan()
	return &other, true
}

// extent leaves out of options what says how much of a plan is carried out.
func extent(o plan.Options) plan.Options {
	o.Prune, o.PruneLast, o.PruneDisabled, o.PruneConfirm, o.PruneGuard = false, false, false, false, false
	o.SkipHooks, o.OutOfSyncOnly, o.Only = false, false, nil
	return o
}

func (c *Comparison) plan() {
	c.Plan = plan.Build(c.input)
	c.Plan.Findings = append(c.Plan.Findings, c.warnings...)
	diag.Sort(c.Plan.Findings)
}

// Comparer compares applications with their destination and remembers, per
// object, the verdict on a state it has seen.
type Comparer struct {
	memory *memory
	recent *recent

	mu sync.Mutex
	// held are the live objects whose unstable fields are kept, by application.
	held map[string]map[manifest.Key]held
}

// NewComparer makes a Comparer.
func NewComparer() *Comparer {
	return &Comparer{memory: newMemory(), recent: newRecent(), held: map[string]map[manifest.Key]held{}}
}

// Forget drops what is remembered of an application.
func (c *Comparer) Forget(app string) {
	c.memory.forget(app)
	c.recent.forget(app)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, app)
}

// compareOptions compiles the rules that a comparison of these objects heeds. An
// expression that cannot be read is an error; one of the installation concerns only
// applications with objects that it is for.
func (s Subject) compareOptions(objects []manifest.Object) (diff.Options, error) {
	opts := diff.Options{
		KnownTypes: s.Rules.KnownTypes, Status: s.Rules.Status, Mutations: s.Rules.Mutations, Deletions: map[string]diff.Deletion{},
	}
	for _, rule := range s.Rules.Ignore {
		if slices.ContainsFunc(objects, func(o manifest.Object) bool { return diff.Selects(rule, o.GroupVersionKind().GroupKind()) }) {
			opts.Ignore = append(opts.Ignore, rule)
		}
	}
	opts.Ignore = append(opts.Ignore, s.Ignore...)
	for _, rule := range opts.Ignore {
		for _, expression := range rule.JQPathExpressions {
			deletion, err := jq.Delete(expression)
			if err != nil {
				return diff.Options{}, fmt.Errorf("ignoreDifferences for %s: %w", rule.Kind, err)
			}
			opts.Deletions[expression] = deletion
		}
	}
	return opts, nil
}

// Compare reads the live state and makes the plan. It only fails when the
// cluster or a rule cannot be read.
func (c *Comparer) Compare(ctx context.Context, dest Destination, s Subject) (*Comparison, error) {
	objects, err := s.Desired.Objects()
	if err != nil {
		return nil, err
	}
	if s.compare, err = s.compareOptions(objects); err != nil {
		return nil, err
	}
	if err := watchKinds(ctx, dest, s, objects); err != nil {
		return nil, err
	}
	if objects, s.settled, err = c.settle(ctx, dest, s, objects); err != nil {
		return nil, err
	}
	in := plan.Input{
		App: s.App, Namespace: s.Namespace, Server: s.Server, Revisions: s.Desired.Revisions,
		Objects: objects, Scope: dest.Scope, Excluded: s.Excluded, Tracking: s.Tracking, Guards: dest.Guards, Options: s.Options,
		External: s.Desired.External,
	}
	// The first plan only serves to know every object by its final key and form.
	whole := in
	whole.Options.Only, whole.Options.OutOfSyncOnly, whole.Options.SkipHooks = nil, false, false
	whole.Guards = nil
	last, now := c.recent.last(s.App), &recently{sketch: sketchOf(s, whole), live: map[manifest.Key]decoded{}}
	draft, same := last.draftFor(now.sketch)
	if !same {
		draft = plan.Build(whole)
	}
	now.draft = draft
	result := &Comparison{Options: s.compare, Verdicts: map[manifest.Key]Verdict{}, Live: map[manifest.Key]*unstructured.Unstructured{}, write: s.Write}
	if err := c.judge(ctx, reader{dest, last, now}, s, draft, result); err != nil {
		return nil, err
	}
	c.recent.keep(s.App, now)
	in.Live = map[manifest.Key]plan.Live{}
	for key, live := range result.Live {
		in.Live[key] = plan.Live{Object: manifest.Object{Unstructured: live}, InSync: result.Verdicts[key].InSync()}
	}
	var unproven []*unstructured.Unstructured
	result.Superfluous, unproven = superfluous(dest, s, draft)
	for _, live := range unproven {
		in.Unproven = append(in.Unproven, plan.Live{Object: manifest.Object{Unstructured: live}})
	}
	if err := hold(ctx, dest, result.Superfluous); err != nil {
		return nil, fmt.Errorf("watch %s: %w", s.Server, err)
	}
	for _, candidate := range result.Superfluous {
		in.Prune = append(in.Prune, plan.Live{
			Object: manifest.Object{Unstructured: candidate.Object}, Holder: candidate.Holder,
			Dependants: dependants(ctx, dest, candidate, result.Superfluous),
		})
	}
	result.input, result.warnings = in, s.Desired.Warnings
	result.plan()
	return result, nil
}

// watchKinds has every kind watched that is needed to know the live state: those
// rendered, those of the inventory and, where they are made, Namespaces. What says
// more about them, if it may be read, is watched, too.
func watchKinds(ctx context.Context, dest Destination, s Subject, objects []manifest.Object) error {
	var kinds, about []schema.GroupKind
	add := func(list *[]schema.GroupKind, gk schema.GroupKind) {
		if _, served := dest.Scope(gk); served && !slices.Contains(*list, gk) {
			*list = append(*list, gk)
		}
	}
	if add(&about, schema.GroupKind{Kind: "Namespace"}); s.Options.CreateNamespace {
		kinds = append(kinds, about...)
	}
	for _, obj := range objects {
		gk := obj.GroupVersionKind().GroupKind()
		add(&kinds, gk)
		for _, asked := range health.AskedAbout(gk.Kind) {
			add(&about, asked)
		}
	}
	for _, entry := range s.Inventory {
		add(&kinds, entry.Key.GroupKind())
	}
	for _, gk := range outsideKinds(s.Desired.External, objects) {
		add(&kinds, gk)
	}
	if err := dest.Watch(ctx, kinds...); err != nil && !s.tolerates(err, objects) {
		return fmt.Errorf("watch %s: %w", s.Server, err)
	}
	s.Tolerant = true
	if err := dest.Watch(ctx, about...); err != nil && !s.tolerates(err, objects) {
		return fmt.Errorf("watch %s: %w", s.Server, err)
	}
	dest.WatchWebhooks(ctx)
	return nil
}

// tolerates reports whether kinds that could not be watched are passed over: those
// that may not be read and that nothing rendered is of.
func (s Subject) tolerates(err error, objects []manifest.Object) bool {
	var failed *cluster.WatchError
	if !s.Tolerant || !errors.As(err, &failed) {
		return false
	}
	return !slices.ContainsFunc(failed.Kinds, func(k cluster.KindError) bool {
		return !apierrors.IsForbidden(k.Err) || slices.ContainsFunc(objects, func(o manifest.Object) bool {
			return o.GroupVersionKind().GroupKind() == k.Kind
		})
	})
}

// judge fills in the verdicts: from memory where an object's state has been seen,
// by comparing the others side by side.
func (c *Comparer) judge(ctx context.Context, dest reader, s Subject, draft *plan.Plan, result *Comparison) error {
	basis, err := c.memory.basis(s)
	if err != nil {
		return err
	}
	known, next := c.memory.recall(s.App, basis), &remarks{basis: basis, status: s.Rules.Status != diff.IgnoredForAll}
	var open []question
	for _, step := range named(draft) {
		q := question{step: step, at: remark{key: c.memory.hash(step.Key)}}
		before, seen := known.find(q.at.key)
		exists := q.read(dest, seen && step.Action != plan.Hook, before.version)
		if exists {
			result.Live[step.Key] = q.live
		}
		switch {
		case step.Action == plan.Hook:
			continue
		case !exists:
			result.Verdicts[step.Key] = Verdict{}
			continue
		}
		q.at.version = versionOf(q.live)
		if seen && (before.version == q.at.version && q.at.version != 0) {
			q.at.mark = before.mark
		} else if q.at.mark = next.fingerprint(q.live, q.owners); !seen || q.at.mark != before.mark {
			open = append(open, q)
			continue
		}
		verdict := known.verdict(q.at, q.live)
		result.Verdicts[step.Key] = verdict
		next.note(q.at, verdict)
	}
	if err := answer(ctx, dest, s, open); err != nil {
		return err
	}
	for _, q := range open {
		result.Verdicts[q.step.Key] = q.verdict
		if q.verdict.Live != nil {
			next.note(q.at, q.verdict)
		}
	}
	c.memory.keep(s.App, next)
	return nil
}

// question is an object on which there is no verdict yet.
type question struct {
	step    plan.Step
	at      remark
	live    *unstructured.Unstructured
	owners  []metav1.ManagedFieldsEntry
	verdict Verdict
}

// read reads the live object, and its owners unless it is in the version that a
// verdict is known on; it reports whether there is one.
func (q *question) read(dest reader, known bool, version uint64) (exists bool) {
	head, exists := dest.Head(q.step.Key)
	if !exists {
		return false
	}
	if known = known && version != 0 && head.Version == strconv.FormatUint(version, 10); known || q.step.Action == plan.Hook {
		q.live, exists = dest.get(head)
		if !exists || !known || versionOf(q.live) == version {
			return exists
		}
		// It has changed in this very moment.
	}
	q.live, q.owners, exists = dest.getOwned(head)
	return exists
}

// reader reads live objects, those that were decoded for the last comparison from
// there.
type reader struct {
	Destination

	last, now *recently
}

func (r reader) get(head cluster.Head) (*unstructured.Unstructured, bool) {
	if known, ok := r.last.inState(head.Key, head.UID, head.Version); ok {
		r.now.live[head.Key] = known
		return known.object, true
	}
	live, exists := r.Get(head.Key)
	r.note(live, nil)
	return live, exists
}

func (r reader) getOwned(head cluster.Head) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool) {
	if known, ok := r.last.inState(head.Key, head.UID, head.Version); ok && known.owners != nil {
		r.now.live[head.Key] = known
		return known.object, known.owners, true
	}
	live, owners, exists := r.GetOwned(head.Key)
	r.note(live, owners)
	return live, owners, exists
}

func (r reader) note(live *unstructured.Unstructured, owners []metav1.ManagedFieldsEntry) {
	if live != nil {
		r.now.live[manifest.KeyOf(live)] = decoded{live.GetUID(), live.GetResourceVersion(), live, owners}
	}
}

// answer compares objects side by side.
func answer(ctx context.Context, dest Destination, s Subject, open []question) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dryRuns)
	for i := range open {
		q := &open[i]
		group.Go(func() error {
			var err error
			q.verdict, err = verdictOn(ctx, dest, s, q.step, q.live, q.owners)
			return err
		})
	}
	return group.Wait()
}

// named returns the steps of a plan that concern an object with a known name.
func named(p *plan.Plan) []plan.Step {
	var steps []plan.Step
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			if step.Object != nil && step.Key.Name != "" {
				steps = append(steps, step)
			}
		}
	}
	return steps
}

// ErrNoSources is returned for an Application without any source.
var ErrNoSources = errors.New("spec has neither source nor sources: give one with repoURL and path")

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
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
	// GetOwned is Get with the entries that say which manager owns which field.
	GetOwned(manifest.Key) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool)
	// Fetch reads an object from the API server in a version of its group.
	Fetch(ctx context.Context, key manifest.Key, version string) (*unstructured.Unstructured, error)
	Tracked(app string) []*unstructured.Unstructured
	// List returns the objects of a watched kind.
	List(schema.GroupKind) []*unstructured.Unstructured
	Apply(ctx context.Context, obj *unstructured.Unstructured, opts cluster.ApplyOptions) (*unstructured.Unstructured, error)
	// WatchWebhooks has Guards know the admission webhooks of the cluster.
	WatchWebhooks(ctx context.Context)
	// Guards returns the Services whose admission webhooks have to agree to an object.
	Guards(key manifest.Key, obj *unstructured.Unstructured) []manifest.Key
}

// Subject is what a comparison is about.
type Subject struct {
	// App is the instance name.
	App string
	// Server and Namespace are the destination.
	Server, Namespace string
	Desired           *Desired
	Options           plan.Options
	// Write is how the application has its objects written.
	Write  cluster.Policy
	Ignore []v1alpha1.ResourceIgnoreDifferences
	// Elsewhere tells whether another application renders an object: then it is
	// not superfluous. Nil means that nobody does.
	Elsewhere func(manifest.Key) bool
	// Excluded tells which kinds the installation leaves alone; nil excludes
	// nothing. The destination does not watch them.
	Excluded func(schema.GroupKind) bool
	// Inventory lists objects that earlier releases wrote.
	Inventory []inventory.Entry

	ignore diff.Options
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
}

// Comparer compares applications with their destination and remembers, per
// object, the verdict on a state it has seen.
type Comparer struct {
	mu   sync.Mutex
	seen map[string]map[manifest.Key]remark
}

// remark is a verdict and the state that it was about.
type remark struct {
	basis, uid, version string
	verdict             Verdict
}

// basis identifies what verdicts on a subject depend on, besides the live object.
func (s Subject) basis() (string, error) {
	data, err := json.Marshal([]any{s.Desired.Digest, s.Write, s.Ignore, s.Options.NamespaceLabels, s.Options.NamespaceAnnotations})
	if err != nil {
		return "", fmt.Errorf("read the ignored differences: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// NewComparer makes a Comparer.
func NewComparer() *Comparer {
	return &Comparer{seen: map[string]map[manifest.Key]remark{}}
}

// Forget drops what is remembered of an application.
func (c *Comparer) Forget(app string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, app)
}

// IgnoreOptions are the options of a comparison that heeds ignore rules. A jq
// expression that cannot be read is an error.
func IgnoreOptions(rules []v1alpha1.ResourceIgnoreDifferences) (diff.Options, error) {
	opts := diff.Options{Ignore: rules, Deletions: map[string]diff.Deletion{}}
	for _, rule := range rules {
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
	var err error
	if s.ignore, err = IgnoreOptions(s.Ignore); err != nil {
		return nil, err
	}
	objects, err := s.Desired.Objects()
	if err != nil {
		return nil, err
	}
	if err := watchKinds(ctx, dest, s, objects); err != nil {
		return nil, err
	}
	in := plan.Input{
		App: s.App, Namespace: s.Namespace, Server: s.Server, Revisions: s.Desired.Revisions,
		Objects: objects, Scope: dest.Scope, Excluded: s.Excluded, Guards: dest.Guards, Options: s.Options,
	}
	// The first plan only serves to know every object by its final key and form.
	whole := in
	whole.Options.Only, whole.Options.OutOfSyncOnly, whole.Options.SkipHooks = nil, false, false
	whole.Guards = nil
	draft := plan.Build(whole)
	result := &Comparison{Verdicts: map[manifest.Key]Verdict{}, Live: map[manifest.Key]*unstructured.Unstructured{}}
	if err := c.judge(ctx, dest, s, draft, result); err != nil {
		return nil, err
	}
	in.Live = map[manifest.Key]plan.Live{}
	for key, live := range result.Live {
		in.Live[key] = plan.Live{Object: manifest.Object{Unstructured: live}, InSync: result.Verdicts[key].InSync()}
	}
	result.Superfluous = superfluous(dest, s, draft)
	if err := hold(ctx, dest, result.Superfluous); err != nil {
		return nil, fmt.Errorf("watch %s: %w", s.Server, err)
	}
	for _, candidate := range result.Superfluous {
		in.Prune = append(in.Prune, plan.Live{
			Object: manifest.Object{Unstructured: candidate.Object}, Holder: candidate.Holder,
			Dependants: dependants(ctx, dest, candidate, result.Superfluous),
		})
	}
	result.Plan = plan.Build(in)
	return result, nil
}

// watchKinds has every kind watched that is needed to know the live state: those
// rendered, those of the inventory and Namespaces.
func watchKinds(ctx context.Context, dest Destination, s Subject, objects []manifest.Object) error {
	kinds := []schema.GroupKind{{Kind: "Namespace"}}
	add := func(gk schema.GroupKind) {
		if _, served := dest.Scope(gk); served && !slices.Contains(kinds, gk) {
			kinds = append(kinds, gk)
		}
	}
	for _, obj := range objects {
		gk := obj.GroupVersionKind().GroupKind()
		add(gk)
		for _, asked := range health.AskedAbout(gk.Kind) {
			add(asked)
		}
	}
	for _, entry := range s.Inventory {
		add(entry.Key.GroupKind())
	}
	if err := dest.Watch(ctx, kinds...); err != nil {
		return fmt.Errorf("watch %s: %w", s.Server, err)
	}
	dest.WatchWebhooks(ctx)
	return nil
}

// judge fills in the verdicts: from memory where an object's state has been seen,
// by comparing the others side by side.
func (c *Comparer) judge(ctx context.Context, dest Destination, s Subject, draft *plan.Plan, result *Comparison) error {
	basis, err := s.basis()
	if err != nil {
		return err
	}
	known, next := c.known(s.App), map[manifest.Key]remark{}
	var open []plan.Step
	for _, step := range named(draft) {
		live, exists := dest.Get(step.Key)
		if exists {
			result.Live[step.Key] = live
		}
		switch {
		case step.Action == plan.Hook:
			continue
		case !exists:
			result.Verdicts[step.Key] = Verdict{}
			continue
		}
		r := remark{basis: basis, uid: string(live.GetUID()), version: live.GetResourceVersion()}
		if before, ok := known[step.Key]; ok && before.basis == r.basis && before.uid == r.uid && before.version == r.version {
			result.Verdicts[step.Key], next[step.Key] = before.verdict, before
			continue
		}
		next[step.Key] = r
		open = append(open, step)
	}
	verdicts := make([]Verdict, len(open))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dryRuns)
	for i, step := range open {
		group.Go(func() (err error) {
			verdicts[i], err = verdictOn(ctx, dest, s, step)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, step := range open {
		r := next[step.Key]
		r.verdict = verdicts[i]
		result.Verdicts[step.Key], next[step.Key] = verdicts[i], r
	}
	c.remember(s.App, next)
	return nil
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

func (c *Comparer) known(app string) map[manifest.Key]remark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[app]
}

func (c *Comparer) remember(app string, verdicts map[manifest.Key]remark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[app] = verdicts
}

// ErrNoSources is returned for an Application without any source.
var ErrNoSources = errors.New("spec has neither source nor sources: give one with repoURL and path")

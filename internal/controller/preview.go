// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/render"
)

// Preview is what the controller would see of an Application now. Close it after
// use.
type Preview struct {
	*pipeline.Comparison
	// Restless are the fields that every rendering gives another value.
	Restless []render.Restless
	// External is what the repositories say that others bring.
	External []manifest.External
	// Owners are the other Applications to which rendered objects belong in the cluster.
	Owners map[manifest.Key][]string

	apps    *applications
	dest    *destination
	session *session
}

// NewPreview compares an Application with its cluster the way the controller
// does, and writes nothing.
func NewPreview(ctx context.Context, opts Options, c client.Client, app *v1alpha1.Application) (*Preview, error) {
	s, err := newGlance(ctx, opts, c, app)
	if err != nil {
		return nil, err
	}
	a := s.applications
	if err := s.remember(ctx); err != nil {
		a.end()
		return nil, err
	}
	s.comparing = true
	s.watchLabelled(ctx)
	s.observe(ctx)
	if err := ctx.Err(); err != nil {
		a.end()
		return nil, context.Cause(ctx)
	}
	if s.comparison == nil || s.unknownSources() {
		a.end()
		if len(s.problems) == 0 {
			return nil, fmt.Errorf("application %s/%s cannot be compared", app.Namespace, app.Name)
		}
		return nil, errors.New(s.problems[0].Message)
	}
	owners, err := s.owners(ctx)
	if err != nil {
		a.end()
		return nil, err
	}
	return &Preview{Comparison: s.comparison, Restless: s.compared.Restless(), External: s.compared.External, Owners: owners, apps: a, dest: s.dest, session: s}, nil
}

// watchLabelled has the kinds watched of which objects carry the Application's label
// though it renders none: where labels tell what belongs to it, a look that is taken
// only once must not miss them. Whom it cannot ask it does not tell of.
func (s *session) watchLabelled(ctx context.Context) {
	tracking := s.settings.Tracking
	if tracking.Method != manifest.TrackByLabel {
		return
	}
	dest, err := s.destinations.get(ctx, s.life, s.app.Spec.Destination)
	if err != nil {
		return
	}
	if kinds, err := dest.KindsLabelled(ctx, tracking.Label(), s.instance); err == nil {
		// What cannot be watched is not seen, which is how it was before.
		_ = dest.Watch(ctx, kinds...)
	}
}

// bystander is set up like the controller and does nothing of its own accord.
// Whoever runs a command asks about an Application in a namespace and its
// neighbours in the control namespace.
func bystander(opts Options, namespace string, c client.Client) (*applications, error) {
	opts = opts.withDefaults()
	opts.ApplicationNamespaces = []string{namespace}
	cares, err := opts.caredFor()
	if err != nil {
		return nil, err
	}
	codec, err := cluster.NewCodec()
	if err != nil {
		return nil, err
	}
	return newApplications(opts, cares, codec, c), nil
}

// newGlance is a look at an Application by somebody who is not the controller.
func newGlance(ctx context.Context, opts Options, c client.Client, app *v1alpha1.Application) (*session, error) {
	a, err := bystander(opts, app.Namespace, c)
	if err != nil {
		return nil, err
	}
	s, err := a.glance(ctx, app)
	if err != nil {
		a.end()
		return nil, err
	}
	return s, nil
}

func (a *applications) glance(ctx context.Context, app *v1alpha1.Application) (*session, error) {
	told, err := a.installation.refresh(ctx)
	if err != nil {
		return nil, err
	}
	return &session{
		applications: a, st: &appState{}, app: app.DeepCopy(), before: app, settings: told,
		now: a.opts.Clock.Now(), instance: a.instance(nameOf(app)),
	}, nil
}

// Sides returns an object as it is and as applying it would leave it, as far as the two are compared.
func (p *Preview) Sides(ctx context.Context, desired *unstructured.Unstructured) (live, predicted *unstructured.Unstructured, err error) {
	return p.Comparison.Sides(ctx, p.dest, desired)
}

// OpenDestination connects to the cluster that an Application goes to. The function
// that is returned ends the connection.
func OpenDestination(ctx context.Context, opts Options, c client.Client, dest v1alpha1.ApplicationDestination) (*cluster.Cluster, func(), error) {
	a, err := bystander(opts, opts.Namespace, c)
	if err != nil {
		return nil, nil, err
	}
	opened, err := a.destinations.get(ctx, a.life, dest)
	if err != nil {
		a.end()
		return nil, nil, err
	}
	return opened.Cluster, a.end, nil
}

// Look returns an object of the destination, nil if there is none.
func (p *Preview) Look(ctx context.Context, key manifest.Key) (*unstructured.Unstructured, error) {
	return look(ctx, p.dest, key)
}

func look(ctx context.Context, dest *destination, key manifest.Key) (*unstructured.Unstructured, error) {
	if live, ok := dest.Get(key); ok {
		return live, nil
	}
	live, err := dest.Fetch(ctx, key, "")
	if apierrors.IsNotFound(err) || cluster.IsUnknownKind(err) {
		return nil, nil
	}
	return live, err
}

// Holders are the objects that still use one that is to be pruned.
func (p *Preview) Holders(key manifest.Key) []manifest.Key {
	var users []*unstructured.Unstructured
	for _, gk := range inventory.HolderKinds() {
		users = append(users, p.dest.List(gk)...)
	}
	return inventory.Holders(key, users)
}

// Objects is the rendered set, hooks included, in the order of rendering.
func (p *Preview) Objects() ([]manifest.Object, error) { return p.session.compared.Objects() }

// Looked are the objects that charts asked the cluster for.
func (p *Preview) Looked() []string { return p.session.compared.Looked() }

// Close ends the connection to the cluster.
func (p *Preview) Close() { p.apps.end() }

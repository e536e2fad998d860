// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/project"
)

// codeNotPermitted is the code of findings about objects that the project does
// not permit.
const codeNotPermitted = "not-permitted"

// notPermittedError is what the project does not permit about an Application, as
// opposed to a project that cannot be read.
type notPermittedError string

func (e notPermittedError) Error() string { return string(e) }

// loadProject reads the Application's project, once per look.
func (s *session) loadProject(ctx context.Context) error {
	if s.permits != nil {
		return nil
	}
	p := &v1alpha1.AppProject{}
	name := client.ObjectKey{Namespace: s.opts.Namespace, Name: s.app.Spec.ProjectName()}
	if err := s.client.Get(ctx, name, p); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return fmt.Errorf("application references project %s which does not exist in namespace %s", name.Name, name.Namespace)
		}
		return fmt.Errorf("get project %s: %w", name, err)
	}
	p, err := s.withGlobals(ctx, p)
	if err != nil {
		return err
	}
	permits := project.New(p)
	if refusal := permits.CheckNamespace(s.app.Name, s.app.Namespace, s.opts.Namespace); refusal != "" {
		return notPermittedError(refusal)
	}
	s.project, s.permits = p, permits
	return nil
}

// checkProject makes sure that the project exists and permits the Application's
// sources and destination.
func (s *session) checkProject(ctx context.Context) error {
	if err := s.loadProject(ctx); err != nil {
		return err
	}
	return s.checkSources(s.app.Spec.EffectiveSources())
}

// checkSources tells whether manifests may be taken from these sources to the
// Application's destination.
func (s *session) checkSources(sources []v1alpha1.ApplicationSource) error {
	if problems := s.permits.CheckApplication(sources, s.target()); len(problems) > 0 {
		return notPermittedError(strings.Join(problems, "; "))
	}
	return nil
}

// unpermitted says what of a running operation the project has come to forbid as a
// whole: where it comes from, where it goes to, or the Application itself.
func (s *session) unpermitted(ctx context.Context, run *operationRun) string {
	err := s.loadProject(ctx)
	if err == nil {
		err = s.checkSources(run.sources)
	}
	if refusal, ok := errors.AsType[notPermittedError](err); ok {
		return noLongerPermitted + refusal.Error()
	}
	return ""
}

// target is the destination as projects know it.
func (s *session) target() project.Destination {
	return project.Destination{Server: s.dest.Server, Name: s.dest.known.name, Project: s.dest.known.project, Namespace: s.app.Spec.Destination.Namespace}
}

// forbids says why the project does not permit an object on the destination;
// nothing if it does.
func (s *session) forbids(key manifest.Key) string {
	namespaced, known := s.dest.Scope(key.GroupKind())
	return s.permits.CheckObject(key, namespaced || !known && key.Namespace != "", s.target())
}

// refuseForbidden adds a finding for every object of the plan that the project
// does not permit. The rollout refuses a plan with such findings before it writes
// anything.
func (s *session) refuseForbidden(p *plan.Plan) {
	seen := map[manifest.Key]bool{}
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			if step.Untracked || step.Object == nil || seen[step.Key] {
				continue
			}
			seen[step.Key] = true
			if reason := s.forbids(step.Key); reason != "" {
				p.Findings = append(p.Findings, diag.Diagnostic{
					Code: codeNotPermitted, Severity: diag.Error, Subject: step.Key, Message: reason, At: step.Object.Provenance,
					Hint: "permit it in the AppProject, or use another project",
				})
			}
		}
	}
	diag.Sort(p.Findings)
}

// forbidden returns the objects of the plan that the project does not permit.
func forbidden(p *plan.Plan) map[manifest.Key]bool {
	keys := map[manifest.Key]bool{}
	for _, f := range p.Findings {
		if f.Code == codeNotPermitted {
			keys[f.Subject] = true
		}
	}
	return keys
}

// noLongerPermitted begins the message of an operation that the project ends.
const noLongerPermitted = "the project no longer permits what is rolled out: "

// revoked says what the project has come to forbid of an operation in progress:
// objects, or to write at all; nothing if it forbids nothing.
func revoked(p *plan.Plan) string {
	for _, f := range p.Findings {
		switch f.Code {
		case codeNotPermitted:
			return noLongerPermitted + f.Message
		case codeNoIdentity:
			return f.Message
		}
	}
	return ""
}

// unknowns makes the status of rows unknown whose objects the project does not
// permit: they are not looked at.
func unknowns(rows []v1alpha1.ResourceStatus, forbidden map[manifest.Key]bool) {
	for i := range rows {
		r := &rows[i]
		if forbidden[manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}] {
			r.Status = v1alpha1.SyncStatusUnknown
		}
	}
}

// seenProject is the entry in an attempt's causes that stands for the project.
const seenProject = "project"

// projectVersion identifies what the project permits, and as whom.
func (s *session) projectVersion() string {
	if s.project == nil {
		return ""
	}
	return fmt.Sprintf("%s %+v", project.Digest(s.project), s.settings.Impersonation)
}

// permitted is the destination as far as the project lets the Application see it.
// What it does not permit does not exist for a comparison and so is neither
// compared nor pruned.
type permitted struct {
	*destination
	forbids func(manifest.Key) string
	// made is the namespace that the Application has made for itself, which needs
	// no permission.
	made manifest.Key
}

func (s *session) permitted() permitted {
	return permitted{destination: s.dest, forbids: s.forbids, made: manifest.Key{Kind: "Namespace", Name: s.app.Spec.Destination.Namespace}}
}

func (p permitted) hides(key manifest.Key) bool { return key != p.made && p.forbids(key) != "" }

// Get implements pipeline.Destination.
func (p permitted) Get(key manifest.Key) (*unstructured.Unstructured, bool) {
	if p.hides(key) {
		return nil, false
	}
	return p.destination.Get(key)
}

// Head implements pipeline.Destination.
func (p permitted) Head(key manifest.Key) (cluster.Head, bool) {
	if p.hides(key) {
		return cluster.Head{}, false
	}
	return p.destination.Head(key)
}

// GetOwned implements pipeline.Destination.
func (p permitted) GetOwned(key manifest.Key) (*unstructured.Unstructured, []metav1.ManagedFieldsEntry, bool) {
	if p.hides(key) {
		return nil, nil, false
	}
	return p.destination.GetOwned(key)
}

// TrackedBut implements pipeline.Destination.
func (p permitted) TrackedBut(app string, known func(manifest.Key) bool) []*unstructured.Unstructured {
	return p.seen(p.destination.TrackedBut(app, known))
}

// Labelled implements pipeline.Destination.
func (p permitted) Labelled(app string) []*unstructured.Unstructured {
	return p.seen(p.destination.Labelled(app))
}

func (p permitted) seen(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool { return p.forbids(manifest.KeyOf(u)) != "" })
}

// ofProject returns the Applications that a change of a project concerns.
func (a *applications) ofProject(ctx context.Context, p client.Object) []reconcile.Request {
	list, err := a.all(ctx)
	if err != nil {
		a.opts.Log.Error(err, "list Applications of a project", "project", p.GetName())
		return nil
	}
	var requests []reconcile.Request
	global := a.isGlobal(p.GetName())
	for i := range list {
		if app := &list[i]; global || app.Spec.ProjectName() == p.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: nameOf(app)})
		}
	}
	return requests
}

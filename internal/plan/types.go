// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Version is the version of the serialised form of a Plan.
const Version = 1

// Input is all a plan depends on.
type Input struct {
	// App is the instance name that tracking ids carry; objects of no application
	// get none.
	App string
	// Namespace is the destination namespace: given to namespaced objects that
	// name none.
	Namespace string
	// Server identifies the destination cluster; part of the plan's id.
	Server string
	// Revisions are the resolved revisions of the sources, in source order.
	Revisions []string
	// Objects is the rendered set, hooks included, names as rendered.
	Objects []manifest.Object
	// Scope reports whether a kind is namespaced; known is false for kinds the
	// cluster does not serve. Those count as namespaced unless it is well known
	// that they are not.
	// Nil plans without a cluster: kinds that are well known or defined by a
	// CustomResourceDefinition of the rendered set have their scope, every other
	// kind counts as namespaced, and no kind is reported as unknown.
	Scope func(schema.GroupKind) (namespaced, known bool)
	// Excluded reports whether the installation leaves a kind alone; nil excludes
	// nothing. Rendered objects of such a kind take no part.
	Excluded func(schema.GroupKind) bool
	// Tracking is how objects are marked with the application.
	Tracking manifest.Tracking
	// Live holds, per key, the live objects that the rendered set names, and the
	// destination Namespace if Options.CreateNamespace is set: in sync if it is as
	// the step that makes it would leave it.
	Live map[manifest.Key]Live
	// Prune are live objects that are ours and no longer rendered.
	Prune []Live
	// Unproven are live objects that carry our label and that nothing proves are
	// ours. They are pruned only by an operation that is limited to exactly them.
	Unproven []Live
	// Guards returns the Services of the cluster whose admission webhooks have to
	// agree to an object. Nil stands for no webhooks.
	Guards func(manifest.Key, *unstructured.Unstructured) []manifest.Key
	// External is what the repository says that others bring.
	External []manifest.External
	// Options of the application and of this operation.
	Options Options
}

// Live is what a plan needs to know of a live object.
type Live struct {
	manifest.Object
	// InSync says that comparison found no difference to the rendered object.
	InSync bool
	// Dependants says what would be lost with the object if it were pruned, as far
	// as the application does not remove it itself: "3 Widgets of others".
	Dependants string
	// Holder uses the object now, so that pruning it has to wait; the zero key stands
	// for nobody. Who does when the prune's turn comes is another question.
	Holder manifest.Key
}

// Options are the application's and the operation's sync options that have an
// influence on the order or on what is done.
type Options struct {
	// Prune allows pruning; without it prune steps are reported as skipped.
	Prune bool
	// PruneLast, PruneDisabled and PruneConfirm mirror the options PruneLast=true,
	// Prune=false and Prune=confirm.
	PruneLast, PruneDisabled, PruneConfirm bool
	// PruneGuard wants a confirmation for prunes that are likely to be a mistake:
	// of at least half of the application, of namespaces and volume claims, and of
	// definitions whose kind others use.
	PruneGuard bool
	// CreateNamespace makes the destination namespace first.
	CreateNamespace bool
	// NamespaceLabels and NamespaceAnnotations are managedNamespaceMetadata.
	NamespaceLabels, NamespaceAnnotations map[string]string
	// SkipHooks leaves hooks out (apply strategy, selective sync).
	SkipHooks bool
	// OutOfSyncOnly leaves out ordinary objects that are in sync.
	OutOfSyncOnly bool
	// Only, when not nil, restricts the plan to these keys (selective sync,
	// healing) and leaves hooks out. A key without namespace stands for that name
	// in every namespace.
	Only []manifest.Key
	// KindOrderOnly switches producers-first (a producer of a Secret precedes
	// the workloads of its group that need it) off.
	KindOrderOnly bool
	// NoEffects switches off that a step waits until a Secret that it needs is there
	// as its producer makes it.
	NoEffects bool
	// PruneHeld prunes also what is still used.
	PruneHeld bool
	// PruneHandedOver prunes the destination namespace also when the application
	// makes it itself from now on.
	PruneHandedOver bool
	// KeepDefinitions never prunes CustomResourceDefinitions.
	KeepDefinitions bool
	// LastWins takes the last of several different objects with one key instead
	// of refusing them.
	LastWins bool
	// SkipMissingKinds mirrors SkipDryRunOnMissingResource=true: a kind that
	// nobody serves yet is no error.
	SkipMissingKinds bool
	// HelmLifecycle runs install hooks of Helm at the first sync only and upgrade
	// hooks at every later one; FirstSync says which of the two this is.
	HelmLifecycle, FirstSync bool
}

// Action is what a step does.
type Action string

// Actions of steps.
const (
	Create Action = "create"
	Update Action = "update"
	// None is an object that is in sync; it is applied all the same unless
	// Options.OutOfSyncOnly is set, because a gate wants it healthy at this
	// operation.
	None Action = "none"
	// Hook runs a hook.
	Hook Action = "hook"
	// Prune deletes an object. Prunes of a group come before its other steps.
	Prune Action = "prune"
	// SkipPrune leaves an object that would be pruned; Step.Reason says why.
	SkipPrune Action = "skip-prune"
)

// Plan is the ordered rollout of one application at one state of its sources.
type Plan struct {
	Version int `json:"version"`
	// ID is a digest over destination, revisions, the rendered set (before
	// generated names) and per step the action with its precondition.
	ID        string   `json:"id"`
	App       string   `json:"app"`
	Namespace string   `json:"namespace,omitempty"`
	Server    string   `json:"server,omitempty"`
	Revisions []string `json:"revisions,omitempty"`
	// RenderDigest is the digest of the rendered set, hooks included.
	RenderDigest string `json:"renderDigest"`
	// Partial is true when Options.Only restricts the plan.
	Partial bool `json:"partial,omitempty"`
	// Groups in the order in which they run. SyncFail groups come last and run
	// only after a failure.
	Groups []Group `json:"groups"`
	// InSync are ordinary objects in sync that Options.OutOfSyncOnly leaves out, in
	// the order of their steps.
	InSync []Step `json:"inSync,omitempty"`
	// OnDeletion are the PreDelete and PostDelete hooks, run when the
	// application is deleted.
	OnDeletion []Group `json:"onDeletion,omitempty"`
	// Ignored are rendered objects that take no part, with the reason (test
	// hooks, Skip, unknown hook types).
	Ignored []Note `json:"ignored,omitempty"`
	// Moved are objects lifted to another group because something in it needs
	// them (Namespaces, CustomResourceDefinitions).
	Moved []Move `json:"moved,omitempty"`
	// Findings are errors and remarks met while planning. With a finding of
	// severity error the plan must not be executed.
	Findings []diag.Diagnostic `json:"findings,omitempty"`
}

// Group is all steps of one phase and wave.
type Group struct {
	Phase manifest.Phase `json:"phase"`
	Wave  int            `json:"wave"`
	// Steps: prunes, then the others, each in kind order, then name. Step.After
	// adds order inside the group.
	Steps []Step `json:"steps"`
}

// Step is one action on one object.
type Step struct {
	// ID is unique in the plan and stable between plans: "PreSync/-1/batch/Job/ns/name".
	// A name to be generated reads "prefix-*".
	ID     string       `json:"id"`
	Action Action       `json:"action"`
	Key    manifest.Key `json:"key"`
	// Version is the API version (without group) of the object as rendered.
	Version string `json:"version"`
	// Object is the desired object with namespace and tracking id filled in;
	// for prunes the live one. The name is empty for a hook with generateName;
	// Plan.Named fills it in. An ordinary object shares structure with the
	// rendered one and must not be changed; every step of a hook has its own copy.
	Object *manifest.Object `json:"-"`
	// HookType is set for hooks.
	HookType manifest.Phase          `json:"hookType,omitempty"`
	Policies []manifest.DeletePolicy `json:"policies,omitempty"`
	// After lists the ids of steps of the same group that must have been
	// applied, and whose effect must be there, before this step.
	After []string `json:"after,omitempty"`
	// Needs are effects of steps (of this or an earlier group) that must exist
	// before this step: Secrets with their keys.
	Needs []Effect `json:"needs,omitempty"`
	// Outside are objects that others bring, and that must be there and healthy
	// before this step.
	Outside []manifest.Key `json:"outside,omitempty"`
	// Precondition is what the plan found: "absent" or "uid:UID".
	Precondition string `json:"precondition,omitempty"`
	// ResourceVersion of the live object, for information only.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Untracked is set on the step that makes the destination Namespace because
	// the application asks for it: the object belongs to nobody's inventory.
	Untracked bool `json:"untracked,omitempty"`
	// Confirm is set on a SkipPrune step that becomes a Prune once somebody
	// approved the deletion.
	Confirm bool `json:"confirm,omitempty"`
	// Deferred is set on a SkipPrune step that waits for the end of what still uses
	// the object; it holds nothing up.
	Deferred bool `json:"deferred,omitempty"`
	// Yields is set on a prune that is put off if something uses the object when its
	// turn comes, and on a deferred one that is carried out if nothing does any more.
	Yields bool `json:"yields,omitempty"`
	// Risk is why the prune guard wants that approval: what would be lost.
	Risk string `json:"risk,omitempty"`
	// Later says why the API server can judge the step only when its turn comes:
	// other steps of the plan have to be done before. Empty for steps that are tried
	// before anything is written.
	Later string `json:"later,omitempty"`
	// Reason says why the step stands here or does not act.
	Reason string `json:"reason,omitempty"`
}

// Effect is an object that a step of the plan brings about indirectly.
type Effect struct {
	// Object is what must exist, usually a Secret.
	Object manifest.Key `json:"object"`
	// Keys that it must hold.
	Keys []string `json:"keys,omitempty"`
	// Producer is the step that brings it about, ByStep its id.
	Producer manifest.Key `json:"producer"`
	ByStep   string       `json:"byStep"`
}

// Note is an object and a remark on it.
type Note struct {
	Key    manifest.Key `json:"key"`
	Reason string       `json:"reason"`
	// At is where the object was written.
	At manifest.Provenance `json:"at,omitzero"`
}

// Move is an object that stands elsewhere than it asked for.
type Move struct {
	Key     manifest.Key `json:"key"`
	From    string       `json:"from"`
	To      string       `json:"to"`
	Because manifest.Key `json:"because"`
}

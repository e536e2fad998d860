// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Status is a verdict.
type Status string

// Verdicts, from best to worst.
const (
	Healthy     Status = "Healthy"
	Suspended   Status = "Suspended"
	Progressing Status = "Progressing"
	Missing     Status = "Missing"
	Degraded    Status = "Degraded"
	Unknown     Status = "Unknown"
)

// rank orders verdicts. No verdict at all ranks below Healthy, a verdict nobody knows counts as Unknown.
func (s Status) rank() int {
	switch s {
	case "":
		return 0
	case Healthy:
		return 1
	case Suspended:
		return 2
	case Progressing:
		return 3
	case Missing:
		return 4
	case Degraded:
		return 5
	}
	return 6
}

// WorseThan tells whether s is worse than other.
func (s Status) WorseThan(other Status) bool { return s.rank() > other.rank() }

// Worst returns the worst verdict, Healthy if there is none.
func Worst(all ...Status) Status {
	worst := Healthy
	for _, s := range all {
		if s.WorseThan(worst) {
			worst = s
		}
	}
	return worst
}

// Result is a verdict with its grounds.
type Result struct {
	// Status is the verdict; empty when Known is false.
	Status Status
	// Reason is one CamelCase word for it, the controller's own where it gives one.
	Reason string
	// Message says it in a sentence, in the controller's own words where it has any.
	Message string
	// Known is false when no rule says anything about the object. That is not Healthy: nothing is known.
	Known bool
	// Generic is true when no rule was made for the kind and the verdict follows from conventions about conditions.
	Generic bool
	// ByDesign is true when the object cannot or need not become healthy by itself, so that waiting for it would be in
	// vain: a volume claim that waits for its first Pod, an Ingress whose class nobody implements.
	ByDesign bool
}

// Context answers questions about other objects on the cluster. Any function may be nil; the rule then judges by the
// object alone.
type Context struct {
	// StorageClass returns the class of that name, nil if there is none. The empty name asks for the default class.
	StorageClass func(name string) *unstructured.Unstructured
	// IngressClass returns the class of that name, nil if there is none. The empty name asks for the default class.
	IngressClass func(name string) *unstructured.Unstructured
	// Custom is asked before the rules made here.
	Custom Custom
}

// Custom judges kinds for which people wrote rules of their own; ok is false for the others.
type Custom func(obj *unstructured.Unstructured) (r Result, ok bool)

// hookFinalizer keeps a finished hook until its result was recorded; an object held by it alone is still judged.
const hookFinalizer = "argocd.argoproj.io/hook-finalizer"

// Of judges a live object. A nil object is Missing.
func Of(obj *unstructured.Unstructured) Result { return OfWith(obj, Context{}) }

// OfWith judges a live object with what else is known about its cluster.
func OfWith(obj *unstructured.Unstructured, ctx Context) Result {
	if obj == nil || obj.Object == nil {
		return Result{Status: Missing, Reason: "NotFound", Message: "does not exist", Known: true}
	}
	if obj.GetDeletionTimestamp() != nil && !slices.Contains(obj.GetFinalizers(), hookFinalizer) {
		return terminating(obj)
	}
	if ctx.Custom != nil {
		if r, ok := ctx.Custom(obj); ok {
			r.Known = true
			return r
		}
	}
	s := newSubject(obj, ctx)
	if judge := ruleFor(obj.GroupVersionKind().GroupKind()); judge != nil {
		r := judge(s)
		r.Known = r.Status != ""
		return r
	}
	return genericRule(s)
}

// Flaps tells whether a kind turns Degraded and back by nature, because it depends on something outside of the cluster
// or on measurements. Its Degraded counts only when it lasts.
func Flaps(gk schema.GroupKind) bool {
	switch gk {
	case schema.GroupKind{Group: "external-secrets.io", Kind: "ExternalSecret"},
		schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"},
		schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return true
	}
	switch {
	case gk.Group == "gateway.networking.k8s.io" && strings.HasSuffix(gk.Kind, "Route"):
		return true
	case below(gk.Group, "toolkit.fluxcd.io"), cloudRule(gk) != nil:
		return true
	}
	return false
}

// rule judges one kind of object. A result without a status says that nothing is known of this one.
type rule func(s subject) Result

func terminating(obj *unstructured.Unstructured) Result {
	message := "pending deletion"
	if held := obj.GetFinalizers(); len(held) > 0 {
		message += ", held by " + strings.Join(held, ", ")
	}
	return Result{Status: Progressing, Reason: "Terminating", Message: message, Known: true}
}

func healthy(reason, message string) Result {
	return Result{Status: Healthy, Reason: reason, Message: message}
}

func suspended(reason, message string) Result {
	return Result{Status: Suspended, Reason: reason, Message: message}
}

func progressing(reason, message string) Result {
	return Result{Status: Progressing, Reason: reason, Message: message}
}

func degraded(reason, message string) Result {
	return Result{Status: Degraded, Reason: reason, Message: message}
}

func unknown(reason, message string) Result {
	return Result{Status: Unknown, Reason: reason, Message: message}
}

// unsupported is the verdict about a version of a kind that the kind's rule does not read.
func unsupported(s subject) Result {
	return unknown("UnsupportedVersion", fmt.Sprintf("the health of %s %s is not known", s.obj.GetAPIVersion(), s.obj.GetKind()))
}

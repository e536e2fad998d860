// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/project"
)

// ParametersName is the ConfigMap in the control namespace that holds Argo CD's
// parameters of its processes.
const ParametersName = "argocd-cmd-params-cm"

// keyNamespaces is the parameter about where Applications may live.
const keyNamespaces = "application.namespaces"

// ConfiguredNamespaces reads the patterns over namespaces of Applications that an
// installation of Argo CD is configured with. Like Argo CD's own processes a
// controller is given them when it starts.
func ConfiguredNamespaces(ctx context.Context, c client.Reader, control string) ([]string, error) {
	parameters := &corev1.ConfigMap{}
	name := client.ObjectKey{Namespace: control, Name: ParametersName}
	if err := c.Get(ctx, name, parameters); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read %s from ConfigMap %s: %w", keyNamespaces, name, err)
	}
	return NamespacesIn(parameters.Data), nil
}

// NamespacesIn returns the patterns over namespaces of Applications that stand
// among the parameters.
func NamespacesIn(parameters map[string]string) []string {
	if value := parameters[keyNamespaces]; value != "" {
		return strings.Split(value, ",")
	}
	return nil
}

// caredFor are the namespaces whose Applications the controller cares for. All
// others' are not touched and not believed.
type caredFor struct {
	control string
	others  project.Namespaces
}

// namespace reports whether Applications of a namespace are cared for.
func (f caredFor) namespace(name string) bool { return name == f.control || f.others.Match(name) }

// inNamespace lets through what lies in a namespace that is cared for.
func (f caredFor) inNamespace() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool { return f.namespace(obj.GetNamespace()) })
}

// widen has the cache hold Applications and their records of other namespaces,
// too: of these alone if they are given by name, of all if there are patterns.
// Everything else stays confined to the control namespace.
func (f caredFor) widen(options *cache.Options) {
	if f.others.Empty() {
		return
	}
	where := map[string]cache.Config{cache.AllNamespaces: {}}
	if names, all := f.others.Names(); all {
		where = map[string]cache.Config{f.control: {}}
		for _, name := range names {
			where[name] = cache.Config{}
		}
	}
	for _, kind := range []client.Object{&v1alpha1.Application{}, &releasev1alpha1.ReleaseRecord{}} {
		options.ByObject[kind] = cache.ByObject{Namespaces: where}
	}
}

// all returns the Applications that are cared for.
func (a *applications) all(ctx context.Context) ([]v1alpha1.Application, error) {
	var list v1alpha1.ApplicationList
	if err := a.client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list Applications: %w", err)
	}
	kept := list.Items[:0]
	for i := range list.Items {
		if a.caredFor.namespace(list.Items[i].Namespace) {
			kept = append(kept, list.Items[i])
		}
	}
	return kept, nil
}

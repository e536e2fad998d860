// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// registersCluster selects the Secrets of the control namespace that register
// clusters, as often as what they say changes.
func registersCluster(namespace string) predicate.Predicate {
	registers := func(o client.Object) bool {
		return o.GetNamespace() == namespace && o.GetLabels()[SecretTypeLabel] == secretTypeCluster
	}
	return predicate.And(predicate.NewPredicateFuncs(registers), predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, _ := e.ObjectOld.(*corev1.Secret)
		after, _ := e.ObjectNew.(*corev1.Secret)
		return before == nil || after == nil || !reflect.DeepEqual(before.Data, after.Data)
	}})
}

// ofCluster returns the Applications that are delivered to the cluster of a Secret:
// what is open may use credentials that are not good any more.
func (a *applications) ofCluster(ctx context.Context, o client.Object) []reconcile.Request {
	secret, ok := o.(*corev1.Secret)
	if !ok {
		return nil
	}
	list, err := a.all(ctx)
	if err != nil {
		a.opts.Log.Error(err, "list Applications of a cluster", "secret", secret.Name)
		return nil
	}
	name, server := string(secret.Data["name"]), strings.TrimSuffix(string(secret.Data["server"]), "/")
	var requests []reconcile.Request
	for i := range list {
		app := &list[i]
		dest := app.Spec.Destination
		home := server == v1alpha1.InClusterServer && dest.Name == v1alpha1.InClusterName
		if home || dest.Name != "" && dest.Name == name || dest.Server != "" && strings.TrimSuffix(dest.Server, "/") == server {
			requests = append(requests, reconcile.Request{NamespacedName: nameOf(app)})
		}
	}
	return requests
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// ingressClassAnnotation is the older way to name an Ingress's class.
const ingressClassAnnotation = "kubernetes.io/ingress.class"

// addressOf is the address of a load balancer; it lies in a range that is reserved for documentation.
func addressOf(uid types.UID) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(uid))
	return fmt.Sprintf("203.0.113.%d", sum.Sum32()%254+1)
}

// neverReady reports whether a rule denies an object its address.
func (e *engine) neverReady(kind, group string, o metav1.Object) bool {
	effects := e.rules.forObject(&rules.Object{
		Group: group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Generation: o.GetGeneration(),
		Occurrence: e.census.of(kind, o.GetNamespace(), o.GetName(), o.GetUID()),
	})
	return effects.Outcome != nil && effects.Outcome.NeverReady
}

// syncService gives a LoadBalancer Service its address.
func (e *engine) syncService(ctx context.Context, it item) error {
	service, err := e.cache.services.Services(it.namespace).Get(it.name)
	if err != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.DeletionTimestamp != nil {
		return ignoreNotFound(err)
	}
	denied, has := e.neverReady("Service", "", service), len(service.Status.LoadBalancer.Ingress) > 0
	if denied != has {
		return nil
	}
	service = service.DeepCopy()
	service.Status.LoadBalancer.Ingress = nil
	if !denied {
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: addressOf(service.UID)}}
	}
	_, err = e.client.CoreV1().Services(it.namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

func (e *engine) enqueueServices() {
	all, _ := e.cache.services.List(labels.Everything())
	for _, s := range all {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			e.queue.Add(item{role: roleService, namespace: s.Namespace, name: s.Name})
		}
	}
}

// syncIngress gives an Ingress its address if somebody serves its class.
func (e *engine) syncIngress(ctx context.Context, it item) error {
	ingress, err := e.cache.ingresses.Ingresses(it.namespace).Get(it.name)
	if err != nil || ingress.DeletionTimestamp != nil {
		return ignoreNotFound(err)
	}
	denied := !e.served(ingress) || e.neverReady("Ingress", networkingv1.GroupName, ingress)
	if has := len(ingress.Status.LoadBalancer.Ingress) > 0; denied != has {
		return nil
	}
	ingress = ingress.DeepCopy()
	ingress.Status.LoadBalancer.Ingress = nil
	if !denied {
		ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: addressOf(ingress.UID)}}
	}
	_, err = e.client.NetworkingV1().Ingresses(it.namespace).UpdateStatus(ctx, ingress, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// served reports whether the Ingress's class exists; one without a class belongs to whoever comes first.
func (e *engine) served(ingress *networkingv1.Ingress) bool {
	class := ingress.Annotations[ingressClassAnnotation]
	if ingress.Spec.IngressClassName != nil {
		class = *ingress.Spec.IngressClassName
	}
	if class == "" {
		return true
	}
	_, err := e.cache.ingressClasses.Get(class)
	return err == nil
}

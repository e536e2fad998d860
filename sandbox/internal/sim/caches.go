// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
)

// pendingIndex finds the Pods that want a node.
const pendingIndex = "pending"

// caches are the kinds that every simulation needs, watched all the time.
type caches struct {
	factory        informers.SharedInformerFactory
	podIndex       cache.Indexer
	pods           corelisters.PodLister
	nodes          corelisters.NodeLister
	configMaps     corelisters.ConfigMapLister
	secrets        corelisters.SecretLister
	claims         corelisters.PersistentVolumeClaimLister
	volumes        corelisters.PersistentVolumeLister
	services       corelisters.ServiceLister
	quotas         corelisters.ResourceQuotaLister
	classes        storagelisters.StorageClassLister
	ingresses      networkinglisters.IngressLister
	ingressClasses networkinglisters.IngressClassLister
	replicaSets    appslisters.ReplicaSetLister
	jobs           batchlisters.JobLister
	autoscalers    autoscalinglisters.HorizontalPodAutoscalerLister
}

func newCaches(e *engine) *caches {
	f := informers.NewSharedInformerFactoryWithOptions(e.client, 0, informers.WithTransform(forgetManagers))
	core, apps := f.Core().V1(), f.Apps().V1()
	c := &caches{
		factory: f, podIndex: core.Pods().Informer().GetIndexer(), pods: core.Pods().Lister(),
		nodes: core.Nodes().Lister(), configMaps: core.ConfigMaps().Lister(), secrets: core.Secrets().Lister(),
		claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		services: core.Services().Lister(), quotas: core.ResourceQuotas().Lister(),
		classes:   f.Storage().V1().StorageClasses().Lister(),
		ingresses: f.Networking().V1().Ingresses().Lister(), ingressClasses: f.Networking().V1().IngressClasses().Lister(),
		replicaSets: apps.ReplicaSets().Lister(), jobs: f.Batch().V1().Jobs().Lister(),
		autoscalers: f.Autoscaling().V2().HorizontalPodAutoscalers().Lister(),
	}
	return c
}

// forgetManagers keeps managedFields, which nobody here reads, out of memory.
func forgetManagers(o any) (any, error) {
	if accessor, err := meta.Accessor(o); err == nil {
		accessor.SetManagedFields(nil)
	}
	return o, nil
}

// start registers what follows from each change, and returns when all caches are filled.
func (c *caches) start(ctx context.Context, e *engine) error {
	err := c.factory.Core().V1().Pods().Informer().AddIndexers(cache.Indexers{pendingIndex: func(o any) ([]string, error) {
		if pod, ok := o.(*corev1.Pod); ok && pending(pod) {
			return []string{pendingIndex}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return fmt.Errorf("index Pods: %w", err)
	}
	core, net := c.factory.Core().V1(), c.factory.Networking().V1()
	c.watchOwners(e)
	on(core.Pods().Informer(), e.podChanged)
	on(core.Nodes().Informer(), func(_ *corev1.Node, _ bool) { e.scheduleSoon() })
	on(core.ConfigMaps().Informer(), e.configMapChanged)
	on(core.Secrets().Informer(), e.secretChanged)
	on(core.PersistentVolumeClaims().Informer(), e.claimChanged)
	on(core.PersistentVolumes().Informer(), func(v *corev1.PersistentVolume, _ bool) {
		e.queue.Add(item{role: roleVolume, name: v.Name})
	})
	on(core.ResourceQuotas().Informer(), func(*corev1.ResourceQuota, bool) { e.queue.Add(item{role: roleRequests}) })
	on(core.Services().Informer(), func(s *corev1.Service, gone bool) {
		if !gone && s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			e.queue.Add(item{role: roleService, namespace: s.Namespace, name: s.Name})
		}
	})
	on(net.Ingresses().Informer(), func(i *networkingv1.Ingress, _ bool) {
		e.queue.Add(item{role: roleIngress, namespace: i.Namespace, name: i.Name})
	})
	on(net.IngressClasses().Informer(), func(*networkingv1.IngressClass, bool) { e.enqueueIngresses() })
	c.factory.Start(ctx.Done())
	for kind, synced := range c.factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("fill the cache of %v: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// watchOwners keeps the history of workloads, which says what generation a Pod's template has.
func (c *caches) watchOwners(e *engine) {
	apps, batch := c.factory.Apps().V1(), c.factory.Batch().V1()
	on(apps.Deployments().Informer(), func(o *appsv1.Deployment, gone bool) {
		e.owners.note("Deployment", o, &o.Spec.Template, gone)
	})
	on(apps.ReplicaSets().Informer(), func(o *appsv1.ReplicaSet, gone bool) {
		e.owners.note("ReplicaSet", o, &o.Spec.Template, gone)
	})
	on(apps.StatefulSets().Informer(), func(o *appsv1.StatefulSet, gone bool) {
		e.owners.note("StatefulSet", o, &o.Spec.Template, gone)
	})
	on(apps.DaemonSets().Informer(), func(o *appsv1.DaemonSet, gone bool) {
		e.owners.note("DaemonSet", o, &o.Spec.Template, gone)
	})
	on(batch.CronJobs().Informer(), func(o *batchv1.CronJob, gone bool) {
		e.owners.note("CronJob", o, &o.Spec.JobTemplate.Spec.Template, gone)
	})
	on(batch.Jobs().Informer(), func(o *batchv1.Job, gone bool) {
		e.owners.note("Job", o, &o.Spec.Template, gone)
		e.changed(o.Namespace)
	})
}

// on calls do for every change of a kind; gone says that the object was deleted.
func on[T any](informer cache.SharedIndexInformer, do func(o T, gone bool)) {
	handle := func(o any, gone bool) {
		if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = tombstone.Obj
		}
		if typed, ok := o.(T); ok {
			do(typed, gone)
		}
	}
	// Adding a handler fails only for an informer that has stopped.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { handle(o, false) },
		UpdateFunc: func(_, o any) { handle(o, false) },
		DeleteFunc: func(o any) { handle(o, true) },
	})
}

// pending reports whether a Pod waits for the scheduler.
func pending(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 &&
		pod.Spec.SchedulerName == corev1.DefaultSchedulerName
}

func (e *engine) enqueueIngresses() {
	all, _ := e.cache.ingresses.List(labels.Everything())
	for _, i := range all {
		e.queue.Add(item{role: roleIngress, namespace: i.Namespace, name: i.Name})
	}
}

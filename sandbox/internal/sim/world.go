// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/kubelet"
)

var _ kubelet.World = (*engine)(nil)

// Keys implements kubelet.World.
func (e *engine) Keys(kind, namespace, name string) (func(string) bool, bool) {
	if kind == "Secret" {
		secret, err := e.cache.secrets.Secrets(namespace).Get(name)
		if err != nil {
			return nil, false
		}
		return func(key string) bool { _, ok := secret.Data[key]; return ok }, true
	}
	config, err := e.cache.configMaps.ConfigMaps(namespace).Get(name)
	if err != nil {
		return nil, false
	}
	return func(key string) bool {
		_, text := config.Data[key]
		_, binary := config.BinaryData[key]
		return text || binary
	}, true
}

// Exists implements kubelet.World. Kinds that rules name are watched; of others nothing exists.
func (e *engine) Exists(kind, namespace, name string) bool {
	switch kind {
	case "Secret", "ConfigMap":
		_, ok := e.Keys(kind, namespace, name)
		return ok
	}
	return e.watches.exists(kind, namespace, name)
}

// Completed implements kubelet.World.
func (e *engine) Completed(kind, namespace, name string) bool {
	if kind != "Job" {
		return e.Exists(kind, namespace, name)
	}
	job, err := e.cache.jobs.Jobs(namespace).Get(name)
	return err == nil && jobHas(job, batchv1.JobComplete)
}

func jobHas(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == condition && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// configMapChanged lets Pods go on that wait for it, and reads the rules in it.
func (e *engine) configMapChanged(config *corev1.ConfigMap, gone bool) {
	e.changed(config.Namespace)
	if source := e.opts.RulesConfigMap; source.Name != "" && config.Namespace == source.Namespace && config.Name == source.Name {
		e.readConfigMap(config, gone)
	}
}

// secretChanged lets Pods go on that wait for it; a third-party controller makes one anew that it has lost.
func (e *engine) secretChanged(secret *corev1.Secret, gone bool) {
	e.changed(secret.Namespace)
	if gone {
		e.enqueueOwners(secret)
	}
}

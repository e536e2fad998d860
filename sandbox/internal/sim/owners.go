// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// patience is how long a Pod's owners may lag behind it in the caches before one goes on without them.
const patience = 10 * time.Second

// owners remembers of every workload how often its name was used and which generation brought which Pod
// template.
type owners struct {
	mu          sync.Mutex
	byUID       map[types.UID]*owner
	occurrences map[string]int
	pods        map[string]int
}

type owner struct {
	occurrence int
	templates  []template
	// revisions maps the hash label of StatefulSet and DaemonSet Pods to the generation.
	revisions map[string]int64
}

// template is a Pod template and the generation that brought it.
type template struct {
	generation int64
	hash       string
}

func newOwners() *owners {
	return &owners{byUID: map[types.UID]*owner{}, occurrences: map[string]int{}, pods: map[string]int{}}
}

// note takes over a workload as it is now.
func (o *owners) note(kind string, object metav1.Object, spec *corev1.PodTemplateSpec, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if gone {
		delete(o.byUID, object.GetUID())
		return
	}
	known := o.byUID[object.GetUID()]
	if known == nil {
		name := kind + "/" + object.GetNamespace() + "/" + object.GetName()
		o.occurrences[name]++
		known = &owner{occurrence: o.occurrences[name], revisions: map[string]int64{}}
		o.byUID[object.GetUID()] = known
	}
	hash := hashOf(spec)
	if n := len(known.templates); n == 0 || known.templates[n-1].hash != hash {
		known.templates = append(known.templates, template{object.GetGeneration(), hash})
	}
}

// hashOf identifies a Pod template; the label that a Deployment adds for its ReplicaSet does not count.
func hashOf(spec *corev1.PodTemplateSpec) string {
	if _, ok := spec.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ok {
		spec = spec.DeepCopy()
		delete(spec.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return ""
	}
	sum := fnv.New64a()
	_, _ = sum.Write(data)
	return fmt.Sprintf("%x", sum.Sum64())
}

// ownersOf returns the workloads above pod, nearest first. It is not ok while a cache lags behind.
func (e *engine) ownersOf(pod *corev1.Pod, images []string) ([]rules.Owner, bool) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return nil, true
	}
	var above *metav1.OwnerReference
	hash := ""
	switch ref.Kind {
	case "ReplicaSet":
		set, err := e.cache.replicaSets.ReplicaSets(pod.Namespace).Get(ref.Name)
		if err != nil || set.UID != ref.UID {
			return nil, false
		}
		above, hash = metav1.GetControllerOf(set), hashOf(&set.Spec.Template)
	case "Job":
		job, err := e.cache.jobs.Jobs(pod.Namespace).Get(ref.Name)
		if err != nil || job.UID != ref.UID {
			return nil, false
		}
		above = metav1.GetControllerOf(job)
	}
	e.owners.mu.Lock()
	defer e.owners.mu.Unlock()
	var out []rules.Owner
	for _, r := range []*metav1.OwnerReference{ref, above} {
		if r == nil {
			continue
		}
		next, ok := e.owners.see(pod, r, hash)
		if !ok {
			return nil, false
		}
		next.Images = images
		out = append(out, next)
	}
	return out, true
}

// see describes one owner of a Pod; hash is that of its ReplicaSet's template, if it has one.
func (o *owners) see(pod *corev1.Pod, ref *metav1.OwnerReference, hash string) (rules.Owner, bool) {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	out := rules.Owner{Object: rules.Object{Group: group, Kind: ref.Kind, Namespace: pod.Namespace, Name: ref.Name}}
	known := o.byUID[ref.UID]
	if known == nil {
		// Other kinds than workloads may own Pods as well; nothing is known of those.
		return out, !isWorkload(ref.Kind)
	}
	out.Occurrence = known.occurrence
	latest := known.templates[len(known.templates)-1].generation
	switch revision := pod.Labels[appsv1.ControllerRevisionHashLabelKey]; {
	case ref.Kind == "Deployment" && hash != "":
		for _, t := range known.templates {
			if t.hash == hash {
				out.Generation = t.generation
			}
		}
		if out.Generation == 0 {
			return out, false
		}
	case revision != "":
		if _, ok := known.revisions[revision]; !ok {
			known.revisions[revision] = latest
		}
		out.Generation = known.revisions[revision]
	default:
		out.Generation = latest
	}
	return out, true
}

func isWorkload(kind string) bool {
	switch kind {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob":
		return true
	}
	return false
}

// countPod gives each owner its next Pod.
func (o *owners) countPod(list []rules.Owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range list {
		name := list[i].Kind + "/" + list[i].Namespace + "/" + list[i].Name
		o.pods[name]++
		list[i].PodOccurrence = o.pods[name]
	}
}

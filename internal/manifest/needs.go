// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/field"
)

// Need is an object that somebody else brings and that has to be there and healthy
// before something is done.
type Need struct {
	Key
	// Anywhere says that no namespace was written: a namespaced object is looked for
	// in the namespace of what needs it.
	Anywhere bool
}

// ParseNeed reads an object as Pattern has it, without wildcards. The group may be
// left out of kinds that are Kubernetes' own.
func ParseNeed(text string) (Need, error) {
	p, err := split(text)
	if err != nil {
		return Need{}, err
	}
	if strings.ContainsAny(text, `*?[\ `) {
		return Need{}, fmt.Errorf("%q is no single object: neither wildcards nor spaces belong into it", text)
	}
	n := Need{Key: Key{Group: p.group, Kind: p.kind, Namespace: p.namespace, Name: p.name}, Anywhere: p.namespace == ""}
	if n.Group == "" {
		group, ok := ownGroup(n.Kind)
		if !ok {
			return Need{}, fmt.Errorf("%q: kind %s is not Kubernetes' own, so its group is needed: write group/%s", text, n.Kind, text)
		}
		n.Group = group
	}
	return n, nil
}

// ownGroup returns the group of a kind of Kubernetes itself.
func ownGroup(kind string) (group string, ok bool) {
	switch kind {
	case "ConfigMap", "Secret", "Service", "ServiceAccount", "PersistentVolumeClaim", "PersistentVolume", "Namespace", "Node", "Pod", "Endpoints",
		"LimitRange", "ResourceQuota", "ReplicationController":
		return "", true
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
		return groupApps, true
	case "Job", "CronJob":
		return groupBatch, true
	case "Ingress", "IngressClass", "NetworkPolicy":
		return groupNetworking, true
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return groupRBAC, true
	case "StorageClass", "CSIDriver":
		return groupStorage, true
	case "PriorityClass":
		return groupScheduling, true
	case "CustomResourceDefinition":
		return groupExtensions, true
	case "HorizontalPodAutoscaler":
		return groupAutoscaling, true
	case "PodDisruptionBudget":
		return "policy", true
	}
	return "", false
}

// NeedsField is where an object names what it needs.
const NeedsField = "metadata.annotations[" + AnnotationNeeds + "]"

// Needs returns what an object says that it needs from others: a list with commas
// or line breaks.
func Needs(u *unstructured.Unstructured) ([]Need, error) { return listed(u, AnnotationNeeds) }

// Produces returns what an object says that comes of it.
func Produces(u *unstructured.Unstructured) ([]Need, error) { return listed(u, AnnotationProduces) }

func listed(u *unstructured.Unstructured, annotation string) ([]Need, error) {
	annotations, _ := field.At(u.Object, "metadata.annotations").(map[string]any)
	text, _ := annotations[annotation].(string)
	var list []Need
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := ParseNeed(part)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// External says of objects that somebody else brings them.
type External struct {
	Pattern Pattern
	// Object is set if it is a single one, which NeededBy and Phases wait for.
	Object   Need
	NeededBy []Pattern
	Phases   []Phase
}

// NeedsIt tells whether an object that acts in a phase was said to wait for it.
func (e External) NeedsIt(k Key, phase Phase) bool {
	return slices.Contains(e.Phases, phase) || slices.ContainsFunc(e.NeededBy, func(p Pattern) bool { return p.Matches(k) })
}

// Blocks reports whether an object cannot become healthy before the target of its
// reference is there.
func (r Reference) Blocks(u *unstructured.Unstructured) bool {
	switch {
	case r.Optional:
		return false
	case r.AtStart:
		return StartsPods(u)
	case r.Declared:
		return true
	}
	gk := u.GroupVersionKind().GroupKind()
	switch gk.Group {
	case groupExternalSecrets, groupCertManager, groupCNPG, groupStrimzi:
		return true
	case groupAutoscaling, "keda.sh":
		return gk.Kind == "HorizontalPodAutoscaler" || gk.Kind == "ScaledObject"
	case "apiregistration.k8s.io":
		return true
	case groupGateway:
		return gk.Kind == "Gateway" && r.Target.Kind == "GatewayClass"
	case groupApps:
		return r.Target.Kind == "StorageClass"
	case "":
		return gk.Kind == "PersistentVolumeClaim"
	}
	return false
}

// StartsPods reports whether a rollout has Pods of the object start: a CronJob, a
// suspended Job and a workload scaled to nothing have not.
func StartsPods(u *unstructured.Unstructured) bool {
	switch u.GetKind() {
	case "CronJob", "PodTemplate", "ScaledJob":
		return false
	case "Job":
		suspended, _ := field.At(u.Object, "spec.suspend").(bool)
		return !suspended
	}
	switch replicas := field.At(u.Object, "spec.replicas").(type) {
	case int64:
		return replicas > 0
	case float64:
		return replicas > 0
	}
	return true
}

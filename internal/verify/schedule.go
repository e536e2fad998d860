// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// unschedulable finds Pods that can never run within what the same rollout sets as
// limits, or on the nodes that somebody has declared.
func unschedulable(w *world) {
	for _, s := range w.stages {
		all := containers(s.Object.Unstructured)
		for _, c := range all {
			for _, name := range []string{"cpu", "memory"} {
				w.judgeResource(s, c, name)
			}
		}
		if len(all) > 0 && manifest.StartsPods(s.Object.Unstructured) {
			w.judgeNodes(s)
		}
	}
	for _, namespace := range w.quotas() {
		w.judgeQuotas(namespace)
	}
}

func (w *world) judgeResource(s *stage, c container, name string) {
	request, limit := quantity(c.raw, "resources.requests", name), quantity(c.raw, "resources.limits", name)
	if request != nil && limit != nil && request.Cmp(*limit) > 0 {
		w.add(s, problem("unschedulable", diag.Warning, c.path+".resources",
			fmt.Sprintf("container %s of %s requests more %s (%s) than its limit (%s)", c.name, s.Key.Short(), name, request, limit),
			"raise the limit or lower the request"))
	}
	for _, other := range w.limits[s.Key.Namespace] {
		for _, item := range field.List(other.content(), "spec.limits") {
			if field.Text(item, "type") != "Container" {
				continue
			}
			most, lowest := quantity(item, "max", name), quantity(item, "min", name)
			asked := limit
			if asked == nil {
				asked = request
			}
			var message, hint string
			switch {
			case most != nil && asked != nil && asked.Cmp(*most) > 0:
				message, hint = fmt.Sprintf("asks for %s of %s, and %s allows %s", asked, name, other.Key.Short(), most), "raise the maximum or ask for less"
			case lowest != nil && request != nil && request.Cmp(*lowest) < 0:
				message, hint = fmt.Sprintf("asks for %s of %s, and %s wants at least %s", request, name, other.Key.Short(), lowest), "lower the minimum or ask for more"
			default:
				continue
			}
			f := problem("unschedulable", diag.Warning, c.path+".resources",
				fmt.Sprintf("container %s of %s %s: its Pods are refused", c.name, s.Key.Short(), message), hint)
			f.Needs = other.Key
			w.add(s, f)
		}
	}
}

// quotas returns the namespaces that have a ResourceQuota.
func (w *world) quotas() []string {
	var namespaces []string
	for _, s := range w.stages {
		if s.Key.Group == "" && s.Key.Kind == "ResourceQuota" {
			namespaces = append(namespaces, s.Key.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// judgeQuotas holds what the workloads of a namespace ask for together against its
// quotas. Hooks end and are left out, and so are quotas for some Pods only.
func (w *world) judgeQuotas(namespace string) {
	for _, quota := range w.stages {
		if quota.Key.Kind != "ResourceQuota" || quota.Key.Namespace != namespace || field.At(quota.content(), "spec.scopes") != nil || field.At(quota.content(), "spec.scopeSelector") != nil {
			continue
		}
		for _, name := range []string{"pods", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "cpu", "memory"} {
			if hard := quantity(quota.content(), "spec.hard", name); hard != nil {
				w.judgeQuota(quota, name, *hard)
			}
		}
	}
}

func (w *world) judgeQuota(quota *stage, name string, hard resource.Quantity) {
	var sum resource.Quantity
	for _, s := range w.stages {
		if s.Key.Namespace != quota.Key.Namespace || s.hook() || !manifest.StartsPods(s.Object.Unstructured) || len(containers(s.Object.Unstructured)) == 0 {
			continue
		}
		each, missing := w.podAsks(s, name)
		if missing != "" {
			f := problem("unschedulable", diag.Warning, missing+".resources",
				fmt.Sprintf("%s sets no %s, which %s demands of every Pod: its Pods are refused", s.Key.Short(), name, quota.Key.Short()),
				"set it, or add a LimitRange with a default")
			f.Needs = quota.Key
			w.add(s, f)
			continue
		}
		for range least(s) {
			sum.Add(each)
		}
	}
	if sum.Cmp(hard) > 0 {
		w.add(quota, problem("unschedulable", diag.Warning, "spec.hard["+name+"]",
			fmt.Sprintf("%s allows %s of %s, and what is rendered for its namespace asks for %s: the last Pods are refused", quota.Key.Short(), &hard, name, &sum),
			"raise the quota or ask for less"))
	}
}

// maxCounted bounds how many Pods of one workload are added up.
const maxCounted = 10_000

// least is how many Pods a workload has at least.
func least(s *stage) int64 {
	if replicas, set := number(field.At(s.content(), "spec.replicas")); set {
		return min(replicas, maxCounted)
	}
	if parallel, set := number(field.At(s.content(), "spec.parallelism")); set && s.Key.Kind == "Job" {
		return min(parallel, maxCounted)
	}
	return 1
}

// podAsks adds up what a Pod asks for of what a quota counts. Missing is the path of
// a container that has to say and does not.
func (w *world) podAsks(s *stage, name string) (sum resource.Quantity, missing string) {
	if name == "pods" {
		return resource.MustParse("1"), ""
	}
	list, resourceName := "requests", strings.TrimPrefix(name, "requests.")
	if rest, ok := strings.CutPrefix(name, "limits."); ok {
		list, resourceName = "limits", rest
	}
	for _, c := range containers(s.Object.Unstructured) {
		asked := quantity(c.raw, "resources."+list, resourceName)
		if asked == nil && list == "requests" {
			asked = quantity(c.raw, "resources.limits", resourceName)
		}
		switch {
		case asked != nil && !c.init:
			sum.Add(*asked)
		case asked == nil && len(w.limits[s.Key.Namespace]) == 0:
			return sum, c.path
		}
	}
	return sum, ""
}

func quantity(v any, path, name string) *resource.Quantity {
	entry := field.Map(v, path)[name]
	if entry == nil {
		return nil
	}
	q, err := resource.ParseQuantity(fmt.Sprint(entry))
	if err != nil {
		return nil
	}
	return &q
}

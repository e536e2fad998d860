// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Node is a sort of nodes that somebody says a cluster has.
type Node struct {
	Name   string
	Labels map[string]string
	// Taints that keep Pods away which do not tolerate them.
	Taints []Taint
	// CPU and Memory of one node; nil for unknown.
	CPU, Memory *resource.Quantity
}

// Taint of a node, one that lets no new Pod on it.
type Taint struct{ Key, Value, Effect string }

// judgeNodes finds Pods that none of the declared nodes takes.
func (w *world) judgeNodes(s *stage) {
	spec, path, ok := manifest.PodSpec(s.Object.Unstructured)
	if !ok || len(w.in.Nodes) == 0 || s.Key.Kind == "DaemonSet" || field.Text(spec, "nodeName") != "" {
		return
	}
	why := ""
	for _, n := range w.in.Nodes {
		obstacle := n.obstacle(s, spec)
		if obstacle == "" {
			return
		}
		if why == "" {
			why = n.Name + " " + obstacle
		}
	}
	w.add(s, problem("unschedulable", diag.Warning, path,
		fmt.Sprintf("no node of those declared takes the Pods of %s: %s%s", s.Key.Short(), why, others(len(w.in.Nodes))),
		"correct the Pod, or nodes in .wavetrain.yaml"))
}

func others(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", and %d more do not either", n-1)
}

// obstacle says why a node takes no Pod of a workload, empty if it does.
func (n Node) obstacle(s *stage, spec map[string]any) string {
	for _, key := range sorted(field.Map(spec, "nodeSelector")) {
		if want := fmt.Sprint(field.Map(spec, "nodeSelector")[key]); n.Labels[key] != want {
			return "lacks the label " + key + "=" + want
		}
	}
	terms := field.List(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms")
	if len(terms) > 0 && !slices.ContainsFunc(terms, n.fits) {
		return "is not what its node affinity requires"
	}
	for _, taint := range n.Taints {
		if taint.Effect != "PreferNoSchedule" && !slices.ContainsFunc(field.List(spec, "tolerations"), taint.tolerated) {
			return "has the taint " + taint.Key + ", which is not tolerated"
		}
	}
	for _, r := range []struct {
		name string
		has  *resource.Quantity
	}{{"cpu", n.CPU}, {"memory", n.Memory}} {
		asks := podRequests(s, r.name)
		if r.has != nil && asks.Cmp(*r.has) > 0 {
			return fmt.Sprintf("has %s of %s, and %s is asked for", r.has, r.name, &asks)
		}
	}
	return ""
}

func sorted(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// podRequests is what a Pod asks for: its containers together, or one that runs
// before them if that asks for more.
func podRequests(s *stage, name string) resource.Quantity {
	var sum, first resource.Quantity
	for _, c := range containers(s.Object.Unstructured) {
		asked := quantity(c.raw, "resources.requests", name)
		if asked == nil {
			asked = quantity(c.raw, "resources.limits", name)
		}
		switch {
		case asked == nil:
		case !c.init:
			sum.Add(*asked)
		case asked.Cmp(first) > 0:
			first = *asked
		}
	}
	if first.Cmp(sum) > 0 {
		return first
	}
	return sum
}

// fits reports whether a node is what a term of a node affinity asks for.
func (n Node) fits(term any) bool {
	if len(field.List(term, "matchFields")) > 0 {
		// By name: those of nodes are not declared.
		return true
	}
	expressions := field.List(term, "matchExpressions")
	return len(expressions) > 0 && !slices.ContainsFunc(expressions, func(e any) bool { return !n.matches(e) })
}

func (n Node) matches(expression any) bool {
	value, has := n.Labels[field.Text(expression, "key")]
	var values []string
	for _, v := range field.List(expression, "values") {
		values = append(values, fmt.Sprint(v))
	}
	switch field.Text(expression, "operator") {
	case "In":
		return has && slices.Contains(values, value)
	case "NotIn":
		return !has || !slices.Contains(values, value)
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	case "Gt", "Lt":
		label, errLabel := strconv.ParseInt(value, 10, 64)
		if errLabel != nil || len(values) != 1 {
			return false
		}
		bound, err := strconv.ParseInt(values[0], 10, 64)
		return err == nil && (field.Text(expression, "operator") == "Gt" && label > bound || field.Text(expression, "operator") == "Lt" && label < bound)
	}
	return true
}

func (t Taint) tolerated(toleration any) bool {
	key, effect := field.Text(toleration, "key"), field.Text(toleration, "effect")
	if effect != "" && effect != t.Effect {
		return false
	}
	if field.Text(toleration, "operator") == "Exists" {
		return key == "" || key == t.Key
	}
	return key == t.Key && field.Text(toleration, "value") == t.Value
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// entry is a row with the object behind it.
type entry struct {
	Row
	object *unstructured.Unstructured
	key    manifest.Key
	// subchart is the path of the subchart that rendered the object, empty for
	// the service's own chart and for plain manifests.
	subchart string
}

// serviceEntries are the entries of one service.
type serviceEntries struct {
	name    string
	entries []entry
}

// collect turns a plan into entries in the order of the page.
func collect(s Service) []entry {
	objects := map[manifest.Key]*unstructured.Unstructured{}
	var entries []entry
	add := func(groups []plan.Group, phase func(plan.Group) string, skip func(plan.Step) bool) {
		for _, g := range groups {
			for _, step := range g.Steps {
				if step.Object != nil && !skip(step) {
					objects[step.Key] = step.Object.Unstructured
					entries = append(entries, newEntry(phase(g), g.Wave, step))
				}
			}
		}
	}
	add(s.Plan.Groups, func(g plan.Group) string { return string(g.Phase) }, func(plan.Step) bool { return false })
	// A hook that also runs in a sync is shown there.
	inSync := func(step plan.Step) bool { return !manifest.Classify(step.Object.Unstructured).OnlyOnDelete() }
	add(s.Plan.OnDeletion, func(plan.Group) string { return DeleteOnly }, inSync)
	entries = mergeDeletion(entries)
	in := inference{objects: objects}
	for i := range entries {
		entries[i].Purpose, entries[i].PurposeFrom = purposeOf(s, entries[i], in)
	}
	slices.SortStableFunc(entries, compareEntries)
	return entries
}

// mergeDeletion leaves one entry of an object that runs both before and after
// a deletion: its hook types name both.
func mergeDeletion(entries []entry) []entry {
	seen := map[string]bool{}
	return slices.DeleteFunc(entries, func(e entry) bool {
		if e.Phase != DeleteOnly {
			return false
		}
		id := e.key.String() + "\x00" + e.object.GetGenerateName() + "\x00" + e.File
		twice := seen[id]
		seen[id] = true
		return twice
	})
}

func newEntry(phase string, wave int, step plan.Step) entry {
	u := step.Object.Unstructured
	class := manifest.Classify(u)
	name := step.Key.Name
	if name == "" {
		name = u.GetGenerateName() + "*"
	}
	e := entry{object: u, key: step.Key}
	e.Row = Row{
		Phase: phase, Wave: wave,
		Group: step.Key.Group, Version: step.Version, Kind: step.Key.Kind,
		Namespace: step.Key.Namespace, Name: name,
		Hook: []string{}, DeletePolicies: []string{},
		File: step.Object.Provenance.File,
	}
	if class.Hook {
		e.Hook = append(e.Hook, class.Types...)
		for _, p := range manifest.DeletePolicies(u) {
			e.DeletePolicies = append(e.DeletePolicies, string(p))
		}
	}
	if chart := step.Object.Provenance.Chart; strings.Contains(chart, "/") {
		e.subchart = chart
	}
	return e
}

// group names the entry's phase and wave.
func (e entry) group() string { return groupName(e.Phase, e.Wave) }

func groupName(phase string, wave int) string { return phase + " " + minus(wave) }

// minus writes a number with the minus sign that typesetters use.
func minus(n int) string {
	if n < 0 {
		return fmt.Sprintf("−%d", -n)
	}
	return fmt.Sprint(n)
}

// before reports whether a stands in an earlier group than b.
func (e entry) before(b entry) bool {
	return cmp.Or(cmp.Compare(phaseRank(e.Phase), phaseRank(b.Phase)), cmp.Compare(e.Wave, b.Wave)) < 0
}

func compareEntries(a, b entry) int {
	return cmp.Or(
		cmp.Compare(phaseRank(a.Phase), phaseRank(b.Phase)),
		cmp.Compare(a.Wave, b.Wave),
		cmp.Compare(kindRank(a.Kind), kindRank(b.Kind)),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Name, b.Name),
		a.key.Compare(b.key),
		cmp.Compare(a.File, b.File),
	)
}

// kindRank is the order of kinds inside a wave of the page: what is read
// before what reads it, identity and network before workloads.
func kindRank(kind string) int {
	order := []string{
		"Namespace", "CustomResourceDefinition", "ResourceQuota", "LimitRange", "StorageClass", "PriorityClass",
		"SecretStore", "ClusterSecretStore", "Issuer", "ClusterIssuer",
		"ConfigMap", "ExternalSecret", "SealedSecret", "Certificate", "Secret",
		"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
		"PersistentVolume", "PersistentVolumeClaim", "Service", "IngressClass", "Ingress", "PodDisruptionBudget", "NetworkPolicy",
		"Cluster", "StatefulSet", "DaemonSet", "Deployment", "ReplicaSet", "Pod", "CronJob", "Job", "HorizontalPodAutoscaler",
	}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// shortKind is the abbreviation of a kind where several stand together.
func shortKind(kind string) string {
	switch kind {
	case "ServiceAccount":
		return "SA"
	case "PodDisruptionBudget":
		return "PDB"
	case "HorizontalPodAutoscaler":
		return "HPA"
	case "PersistentVolumeClaim":
		return "PVC"
	case "CustomResourceDefinition":
		return "CRD"
	}
	return kind
}

// plural is the plural of a kind or word.
func plural(word string) string {
	switch {
	case strings.HasSuffix(word, "y"):
		return strings.TrimSuffix(word, "y") + "ies"
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "ss"):
		return word + "es"
	default:
		return word + "s"
	}
}

// chartName is the last part of a chart's path.
func chartName(chart string) string { return path.Base(chart) }

// remark says of a service whose objects share one group that they do.
func remark(name string, entries []entry) string {
	if len(entries) == 0 {
		return "Nothing is rendered."
	}
	groups := map[string]bool{}
	subcharts, hooks := false, false
	workloads := map[string]int{}
	for _, e := range entries {
		groups[e.group()] = true
		subcharts = subcharts || e.subchart != ""
		hooks = hooks || len(e.Hook) > 0
		if _, _, ok := manifest.PodSpec(e.object); ok {
			workloads[e.Kind]++
		}
	}
	if len(groups) != 1 || len(entries) == 1 {
		return ""
	}
	text := name + " is " + countKinds(workloads)
	var without []string
	if len(workloads) == 0 {
		text, without = name+" is configuration", append(without, "Pods")
	}
	if !hooks {
		without = append(without, "hooks")
	}
	if !subcharts {
		without = append(without, "subcharts")
	}
	if n := len(without); n > 0 {
		text += " without " + strings.Join(without[:n-1], ", ") + choose(n > 1, " or ", "") + without[n-1]
	}
	return fmt.Sprintf("%s: all %d objects land in %s.", text, len(entries), entries[0].group())
}

// countKinds writes "one Deployment and 2 Jobs".
func countKinds(counts map[string]int) string {
	kinds := make([]string, 0, len(counts))
	for k := range counts {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(cmp.Compare(kindRank(a), kindRank(b)), cmp.Compare(a, b)) })
	for i, k := range kinds {
		if counts[k] == 1 {
			kinds[i] = "one " + k
		} else {
			kinds[i] = fmt.Sprintf("%d %s", counts[k], plural(k))
		}
	}
	return enumerate(kinds)
}

// enumerate writes "a, b and c".
func enumerate(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

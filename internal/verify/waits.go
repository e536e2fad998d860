// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// waits finds Pods that wait, in an init container, a probe or the command of a
// Job, for what the rollout only makes when they are ready.
func waits(w *world) {
	for _, s := range w.stages {
		if !s.gated() || !manifest.StartsPods(s.Object.Unstructured) {
			continue
		}
		seen := map[manifest.Key]bool{}
		for _, c := range waiters(s) {
			for _, target := range w.awaited(s, c) {
				if target.at > s.at && !seen[target.Key] {
					seen[target.Key] = true
					w.waitsOnLater(s, c, target)
				}
			}
		}
	}
}

// waiters returns the containers that can keep a Pod from becoming ready.
func waiters(s *stage) []container {
	var all []container
	for _, c := range containers(s.Object.Unstructured) {
		if c.init || s.Key.Kind == "Job" || s.Key.Kind == "Pod" && s.hook() {
			all = append(all, c)
		}
		all = append(all, c.probes()...)
	}
	return all
}

func (w *world) waitsOnLater(s *stage, c container, target *stage) {
	where := "container " + c.name
	at := c.path + ".command"
	switch {
	case strings.HasSuffix(c.path, ".exec.command"):
		where, at = "a probe of container "+c.name, c.path
	case c.init:
		where = "init container " + c.name
	}
	f := problem("waits-on-later", diag.Error, at,
		fmt.Sprintf("%s of %s (%s) waits for %s, which %s creates only when %s is healthy: neither can move",
			where, s.Key.Short(), s.place(), target.Key.Short(), target.place(), s.Key.Short()),
		orderHint(s, provider{stage: target}))
	f.Needs, f.AvailableAt = target.Key, target.place()
	w.add(s, f)
}

// awaited returns the steps that a container waits for, as far as its command
// shows.
func (w *world) awaited(s *stage, c container) []*stage {
	var targets []*stage
	for _, k := range waitTargets(c) {
		for _, group := range groupsOf(k.Kind) {
			k.Group, k.Namespace = group, s.Key.Namespace
			if steps := w.byKey[k]; len(steps) > 0 {
				targets = append(targets, steps[0])
			}
		}
	}
	if waitsForNetwork(c.text()) {
		targets = append(targets, w.servers(s, c)...)
	}
	if waitsForMigration(c) {
		targets = append(targets, w.migrationsOf(s, c)...)
	}
	slices.SortFunc(targets, func(a, b *stage) int { return a.Key.Compare(b.Key) })
	return targets
}

// groupsOf returns the API groups in which checks know a kind.
func groupsOf(kind string) []string {
	if kind == "Job" {
		return []string{"batch"}
	}
	return []string{"apps"}
}

// waitTargets reads "kubectl wait job/x" and the arguments of images made for
// waiting.
func waitTargets(c container) []manifest.Key {
	words := fields(c.text())
	image := path.Base(c.repository())
	waiting := strings.Contains(image, "wait-for")
	for _, word := range words {
		if base := path.Base(word); base == "kubectl" || base == "oc" || strings.HasPrefix(base, "wait_for") || strings.HasPrefix(base, "wait-for") {
			waiting = true
		}
	}
	if !waiting {
		return nil
	}
	var keys []manifest.Key
	for i, word := range words {
		resource, name, slash := strings.Cut(word, "/")
		if !slash && i+1 < len(words) {
			name = words[i+1]
		}
		resource, _, _ = strings.Cut(resource, ".")
		kind := map[string]string{
			"job": "Job", "jobs": "Job", "job-wr": "Job", "job-we": "Job", "deployment": "Deployment", "deployments": "Deployment",
			"deploy": "Deployment", "statefulset": "StatefulSet", "statefulsets": "StatefulSet", "sts": "StatefulSet",
		}[resource]
		if kind != "" && name != "" && !strings.HasPrefix(name, "-") {
			keys = append(keys, manifest.Key{Kind: kind, Name: name})
		}
	}
	return keys
}

// fields splits a command line into words, without quotes and shell operators.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;&|()", r) })
}

// waitsForNetwork reports whether a command waits until somebody answers.
func waitsForNetwork(text string) bool {
	for _, idiom := range []string{"nc -", "ncat -", "wait-for-it", "wait-for ", "wait4x", "pg_isready", "mysqladmin", "redis-cli", "dockerize -wait", "/dev/tcp/", "curl ", "wget "} {
		if strings.Contains(text, idiom) && (strings.Contains(text, "until") || strings.Contains(text, "while") || strings.Contains(text, "wait") || strings.Contains(text, "--retry")) {
			return true
		}
	}
	return false
}

// servers returns the workloads behind the Services that a command names, where
// none of them is there before the last.
func (w *world) servers(s *stage, c container) []*stage {
	var found []*stage
	hosts := map[string]bool{}
	for _, word := range strings.FieldsFunc(c.text(), func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;&|()/:@=,", r) }) {
		name, rest, dotted := strings.Cut(word, ".")
		namespace, _, _ := strings.Cut(rest, ".")
		if !dotted || namespace == s.Key.Namespace || rest == "svc" {
			hosts[name] = true
		}
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		service, ok := w.first(manifest.Key{Kind: "Service", Namespace: s.Key.Namespace, Name: host})
		if !ok {
			continue
		}
		backends := w.selected(service)
		if len(backends) > 0 && !slices.Contains(backends, s) {
			found = append(found, slices.MinFunc(backends, func(a, b *stage) int { return a.at - b.at }))
		}
	}
	return found
}

// selected returns the workloads whose Pods a Service selects.
func (w *world) selected(service *stage) []*stage {
	return w.workloads(service.Key.Namespace, field.Map(service.content(), "spec.selector"))
}

// workloads returns the workloads of a namespace, Jobs left out, whose Pods have
// all labels of a selector.
func (w *world) workloads(namespace string, selector map[string]any) []*stage {
	var found []*stage
	for key, value := range selector {
		for _, s := range w.byLabel[label{namespace, key, fmt.Sprint(value)}] {
			if selects(selector, podLabels(s)) {
				found = append(found, s)
			}
		}
		break
	}
	return found
}

// podLabels returns the labels of the Pods that a workload makes.
func podLabels(s *stage) map[string]any {
	_, spec, ok := manifest.PodSpec(s.Object.Unstructured)
	if !ok {
		return nil
	}
	return field.Map(s.content(), strings.TrimPrefix(strings.TrimSuffix(spec, "spec")+"metadata.labels", "."))
}

// selects reports whether labels have all that a selector asks for.
func selects(selector, labels map[string]any) bool {
	if labels == nil {
		return false
	}
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// related says what a workload has to do with a Job that runs before it: the
// image they share, or the database that both are configured for. It is empty
// if the objects show nothing of the kind.
func (x explainer) related(job, workload entry) string {
	spec, _, ok := manifest.PodSpec(workload.object)
	jobSpec, _, isJob := manifest.PodSpec(job.object)
	if !ok || !isJob {
		return ""
	}
	theirs := images(spec)
	for _, image := range images(jobSpec) {
		if slices.Contains(theirs, image) {
			return fmt.Sprintf("same image `%s`", shortImage(image))
		}
	}
	settings := x.settings(jobSpec, job.Namespace)
	hosts, databases := named(settings, "HOST"), named(settings, "DATABASE", "DBNAME", "DB_NAME")
	config := x.configText(spec, workload.Namespace)
	host := firstMentioned(config, hosts)
	if host == "" {
		return ""
	}
	if len(databases) == 0 {
		return fmt.Sprintf("both use `%s`", host)
	}
	if database := firstMentioned(config, databases); database != "" {
		return fmt.Sprintf("both use database `%s` on `%s`", database, host)
	}
	return ""
}

func images(spec map[string]any) []string {
	var out []string
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range list(spec, field) {
			out = add(out, text(c, "image"))
		}
	}
	return out
}

// settings are the variables of a Pod that are written in its manifest or in a
// ConfigMap of the same service.
func (x explainer) settings(spec map[string]any, namespace string) map[string]string {
	out := map[string]string{}
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range list(spec, field) {
			for _, from := range list(c, "envFrom") {
				for k, v := range x.configMap(text(from, "configMapRef", "name"), namespace) {
					out[k] = show(v)
				}
			}
			for _, env := range list(c, "env") {
				if name, key := text(env, "valueFrom", "configMapKeyRef", "name"), text(env, "valueFrom", "configMapKeyRef", "key"); name != "" {
					out[text(env, "name")] = show(x.configMap(name, namespace)[key])
				} else if v := text(env, "value"); v != "" {
					out[text(env, "name")] = v
				}
			}
		}
	}
	return out
}

// configText is everything that a Pod is configured with, as one text.
func (x explainer) configText(spec map[string]any, namespace string) string {
	var parts []string
	settings := x.settings(spec, namespace)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		parts = append(parts, settings[key])
	}
	for _, v := range list(spec, "volumes") {
		names := []string{text(v, "configMap", "name")}
		for _, s := range list(v, "projected", "sources") {
			names = append(names, text(s, "configMap", "name"))
		}
		for _, name := range names {
			data := x.configMap(name, namespace)
			for _, key := range slices.Sorted(maps.Keys(data)) {
				parts = append(parts, show(data[key]))
			}
		}
	}
	return strings.Join(parts, "\n")
}

func (x explainer) configMap(name, namespace string) map[string]any {
	i, ok := x.byKey[manifest.Key{Kind: "ConfigMap", Namespace: namespace, Name: name}]
	if !ok {
		return nil
	}
	return mapping(x.entries[i].object.Object, "data")
}

// named returns the values of settings whose name ends in one of the words.
// Values that every installation has tell nothing.
func named(settings map[string]string, words ...string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		value := settings[key]
		if len(value) < 4 || value == "localhost" || value == "postgres" || strings.ContainsAny(value, " \n$") {
			continue
		}
		for _, w := range words {
			if strings.HasSuffix(strings.ToUpper(key), w) {
				out = add(out, value)
			}
		}
	}
	return out
}

// firstMentioned returns the first value that stands in the text as a word.
func firstMentioned(text string, values []string) string {
	for _, v := range values {
		for from := 0; ; {
			i := strings.Index(text[from:], v)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(v)
			if (start == 0 || !wordByte(text[start-1])) && (end == len(text) || !wordByte(text[end])) {
				return v
			}
			from = end
		}
	}
	return ""
}

func wordByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

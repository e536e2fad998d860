// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// container is a container of a Pod template as checks read it.
type container struct {
	name, image string
	// init is true for init containers that have to end before the others start;
	// a sidecar among the init containers is none.
	init bool
	// words are command and arguments, with the variables filled in whose values
	// are written out.
	words []string
	// path of the container in the object.
	path string
	raw  map[string]any
}

// text is the command line.
func (c container) text() string { return strings.Join(c.words, " ") }

// repository returns the image without tag and digest.
func (c container) repository() string {
	image, _, _ := strings.Cut(c.image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image = image[:i]
	}
	return image
}

// containers returns the containers of an object's Pods.
func containers(u *unstructured.Unstructured) []container {
	spec, path, ok := manifest.PodSpec(u)
	if !ok {
		return nil
	}
	var all []container
	for _, list := range []string{"initContainers", "containers"} {
		for i, item := range field.List(spec, list) {
			raw, ok := item.(map[string]any)
			if !ok {
				continue
			}
			all = append(all, container{
				name: field.Text(raw, "name"), image: field.Text(raw, "image"),
				init:  list == "initContainers" && field.Text(raw, "restartPolicy") != "Always",
				words: expand(raw, values(raw), "command", "args"), path: field.Index(field.Join(path, list), i), raw: raw,
			})
		}
	}
	return all
}

// probes returns the commands of a container's startup and readiness probes.
func (c container) probes() []container {
	var all []container
	for _, kind := range []string{"startupProbe", "readinessProbe"} {
		if exec := field.Map(c.raw, kind+".exec"); exec != nil {
			all = append(all, container{
				name: c.name, image: c.image, words: expand(exec, values(c.raw), "command"), path: c.path + "." + kind + ".exec",
			})
		}
	}
	return all
}

// values returns the environment of a container as far as it is written out.
func values(raw map[string]any) map[string]string {
	env := map[string]string{}
	for _, e := range field.List(raw, "env") {
		if value := field.Text(e, "value"); value != "" {
			env[field.Text(e, "name")] = value
		}
	}
	return env
}

func expand(raw map[string]any, env map[string]string, lists ...string) []string {
	var all []string
	for _, list := range lists {
		for _, item := range field.List(raw, list) {
			if s, ok := item.(string); ok {
				all = append(all, fill(s, env))
			}
		}
	}
	return all
}

// fill puts the values of variables in, as kubelet or a shell would.
func fill(s string, env map[string]string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, length := variable(rest)
		if value, ok := env[name]; ok {
			b.WriteString(value)
			s = rest[length:]
			continue
		}
		b.WriteByte('$')
		s = rest
	}
}

// variable reads the name behind a dollar sign, bare or in brackets, and how many
// bytes it takes.
func variable(s string) (name string, length int) {
	if s == "" {
		return "", 0
	}
	closing := ""
	switch s[0] {
	case '(':
		closing = ")"
	case '{':
		closing = "}"
	}
	if closing != "" {
		name, _, ok := strings.Cut(s[1:], closing)
		if !ok {
			return "", 0
		}
		return name, len(name) + 2
	}
	end := strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end < 0 {
		end = len(s)
	}
	return s[:end], end
}

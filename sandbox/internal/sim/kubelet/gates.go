// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

// World is what a kubelet asks the cluster about.
type World interface {
	// Keys returns the keys of a ConfigMap or Secret, and whether it exists.
	Keys(kind, namespace, name string) (func(key string) bool, bool)
	// Exists reports whether an object exists.
	Exists(kind, namespace, name string) bool
	// Completed reports whether a Job has completed.
	Completed(kind, namespace, name string) bool
}

// Gates is what keeps a Pod from going on at the moment.
type Gates struct {
	// Mount is why a volume cannot be mounted, so that nothing starts.
	Mount string
	// Config maps a container to why it cannot be created.
	Config map[string]string
	// HoldInit keeps the first init container running.
	HoldInit bool
	// HoldOutcome keeps the clock of a started Pod's outcome from running.
	HoldOutcome bool
}

// Blocked reports whether any gate is closed.
func (g *Gates) Blocked() bool {
	return g.Mount != "" || len(g.Config) > 0 || g.HoldInit || g.HoldOutcome
}

// GatesOf looks at what pod refers to and at what the rules say it needs.
func GatesOf(pod *corev1.Pod, effects *rules.Rule, world World) Gates {
	c := checker{pod: pod, world: world}
	gates := Gates{Config: map[string]string{}}
	needed := c.needs(effects, &gates)
	if gates.Mount == "" && needed == "" {
		gates.Mount = c.volumes()
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			problem := needed
			if problem == "" {
				problem = c.container(&list[i])
			}
			if problem != "" {
				gates.Config[list[i].Name] = problem
			}
		}
	}
	for _, ref := range effects.NeedsCompleted {
		gates.HoldInit = gates.HoldInit || !world.Completed(ref.Kind, c.namespace(ref), ref.Name)
	}
	return gates
}

type checker struct {
	pod   *corev1.Pod
	world World
}

func (c *checker) namespace(ref rules.Ref) string {
	if ref.Namespace != "" {
		return ref.Namespace
	}
	return c.pod.Namespace
}

// needs evaluates the objects a rule names; the result is why no container can be created.
func (c *checker) needs(effects *rules.Rule, gates *Gates) string {
	if effects.Needs == nil {
		return ""
	}
	for _, ref := range effects.Needs.Refs {
		switch ref.Kind {
		case "ConfigMap", "Secret":
			if _, ok := c.world.Keys(ref.Kind, c.namespace(ref), ref.Name); !ok {
				return notFound(ref.Kind, ref.Name)
			}
		case "PersistentVolumeClaim": // the scheduler's business
		default:
			gates.HoldOutcome = gates.HoldOutcome || !c.world.Exists(ref.Kind, c.namespace(ref), ref.Name)
		}
	}
	return ""
}

func notFound(kind, name string) string {
	return fmt.Sprintf("%s %q not found", strings.ToLower(kind), name)
}

// volumes returns the kubelet's message about the first volume that cannot be mounted.
func (c *checker) volumes() string {
	for i := range c.pod.Spec.Volumes {
		v := &c.pod.Spec.Volumes[i]
		problem := ""
		switch {
		case v.Secret != nil:
			problem = c.source("Secret", v.Secret.SecretName, v.Secret.Items, isTrue(v.Secret.Optional))
		case v.ConfigMap != nil:
			problem = c.source("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Items, isTrue(v.ConfigMap.Optional))
		case v.Projected != nil:
			problem = c.projected(v.Projected.Sources)
		}
		if problem != "" {
			return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %s", v.Name, problem)
		}
	}
	return ""
}

func (c *checker) projected(sources []corev1.VolumeProjection) string {
	for i := range sources {
		s := &sources[i]
		problem := ""
		switch {
		case s.Secret != nil:
			problem = c.source("Secret", s.Secret.Name, s.Secret.Items, isTrue(s.Secret.Optional))
		case s.ConfigMap != nil:
			problem = c.source("ConfigMap", s.ConfigMap.Name, s.ConfigMap.Items, isTrue(s.ConfigMap.Optional))
		}
		if problem != "" {
			return problem
		}
	}
	return ""
}

func (c *checker) source(kind, name string, items []corev1.KeyToPath, optional bool) string {
	has, ok := c.world.Keys(kind, c.pod.Namespace, name)
	switch {
	case !ok && optional:
		return ""
	case !ok:
		return notFound(kind, name)
	}
	for _, item := range items {
		if !has(item.Key) && !optional {
			what := "config"
			if kind == "Secret" {
				what = "secret"
			}
			return fmt.Sprintf("references non-existent %s key: %s", what, item.Key)
		}
	}
	return ""
}

// container returns the kubelet's message about the environment of one container.
func (c *checker) container(ctr *corev1.Container) string {
	for _, from := range ctr.EnvFrom {
		var kind, name string
		var optional bool
		switch {
		case from.SecretRef != nil:
			kind, name, optional = "Secret", from.SecretRef.Name, isTrue(from.SecretRef.Optional)
		case from.ConfigMapRef != nil:
			kind, name, optional = "ConfigMap", from.ConfigMapRef.Name, isTrue(from.ConfigMapRef.Optional)
		default:
			continue
		}
		if _, ok := c.world.Keys(kind, c.pod.Namespace, name); !ok && !optional {
			return notFound(kind, name)
		}
	}
	for _, env := range ctr.Env {
		if env.ValueFrom == nil {
			continue
		}
		problem := ""
		if ref := env.ValueFrom.SecretKeyRef; ref != nil {
			problem = c.key("Secret", ref.Name, ref.Key, isTrue(ref.Optional))
		}
		if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
			problem = c.key("ConfigMap", ref.Name, ref.Key, isTrue(ref.Optional))
		}
		if problem != "" {
			return problem
		}
	}
	return ""
}

func (c *checker) key(kind, name, key string, optional bool) string {
	has, ok := c.world.Keys(kind, c.pod.Namespace, name)
	switch {
	case optional:
		return ""
	case !ok:
		return notFound(kind, name)
	case !has(key):
		return fmt.Sprintf("couldn't find key %s in %s %s/%s", key, kind, c.pod.Namespace, name)
	}
	return ""
}

func isTrue(b *bool) bool { return b != nil && *b }

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/report/path"
)

// Expected is what a rollout will wait for, as far as manifests tell: they say how
// long a Pod has to be ready, not how long it needs to become so.
type Expected struct {
	path.Timeline
	// Gates are what each group waits for longest, in the order of the groups.
	Gates []Gate `json:"gates"`
	// Last is how long these groups took together in the last release.
	Last metav1.Duration `json:"last,omitzero"`
}

// Gate is the object that holds the next group up.
type Gate struct {
	Phase  string `json:"phase"`
	Wave   int    `json:"wave"`
	Object string `json:"object"`
	// AtLeast is the time that the manifest makes sure of, AtMost the one at which
	// the object fails; 0 if it has no limit.
	AtLeast metav1.Duration `json:"atLeast"`
	AtMost  metav1.Duration `json:"atMost,omitzero"`
	// Last is how long the group took in the last release, LastFor the object that it
	// waited for last; 0 if that is not known.
	Last    metav1.Duration `json:"last,omitzero"`
	LastFor string          `json:"lastFor,omitempty"`
	// Why says where these times are from, or what else the time depends on.
	Why string `json:"why"`
}

// wait is how long a step is waited for.
type wait struct {
	gates           bool
	atLeast, atMost time.Duration
	why             string
}

// expect lays the steps out in time, each as short as its manifest allows.
func expect(groups []Group) Expected {
	var laid []path.Group
	gates := []Gate{}
	var begin time.Duration
	for _, g := range groups {
		if g.onFailure() {
			continue
		}
		ends := map[string]time.Duration{}
		out := path.Group{Phase: g.Phase, Wave: g.Wave}
		end := begin
		for _, s := range g.Steps {
			start := begin
			for _, name := range s.After {
				start = max(start, ends[name])
			}
			ends[s.Object] = start + s.wait.atLeast
			end = max(end, ends[s.Object])
			out.Steps = append(out.Steps, path.Step{Object: s.Object, Start: start, Ready: ends[s.Object], After: s.After})
		}
		laid = append(laid, out)
		if gate, ok := gateOf(g); ok {
			gates = append(gates, gate)
		}
		begin = end
	}
	return Expected{Timeline: path.Of(laid), Gates: gates}
}

// with adds what groups took in the last release.
func (e Expected) with(took []Took) Expected {
	e.Gates = slices.Clone(e.Gates)
	for i := range e.Gates {
		g := &e.Gates[i]
		for _, t := range took {
			if t.Phase == g.Phase && t.Wave == g.Wave {
				g.Last, g.LastFor = metav1.Duration{Duration: t.Time}, t.Object
				e.Last.Duration += t.Time
			}
		}
	}
	return e
}

// gateOf is what a group waits for longest: by the time that is sure, then by what
// may take any time.
func gateOf(g Group) (Gate, bool) {
	var waited []Step
	for _, s := range g.Steps {
		if s.wait.gates {
			waited = append(waited, s)
		}
	}
	if len(waited) == 0 {
		return Gate{}, false
	}
	s := slices.MaxFunc(waited, func(a, b Step) int {
		switch {
		case a.wait.atLeast != b.wait.atLeast:
			return int(a.wait.atLeast/time.Millisecond - b.wait.atLeast/time.Millisecond)
		case (a.Action == Hook) != (b.Action == Hook):
			if a.Action == Hook {
				return 1
			}
			return -1
		}
		return strings.Compare(b.Object, a.Object)
	})
	return Gate{
		Phase: g.Phase, Wave: g.Wave, Object: s.Object, Why: s.wait.why,
		AtLeast: metav1.Duration{Duration: s.wait.atLeast}, AtMost: metav1.Duration{Duration: s.wait.atMost},
	}, true
}

// waitFor says how long a step is waited for.
func waitFor(s plan.Step, step Step, was *unstructured.Unstructured) wait {
	if s.Object == nil || !step.Acts() || step.Action == Delete {
		return wait{}
	}
	u := s.Object.Unstructured
	switch s.Key.Kind {
	case "Deployment", "StatefulSet", "DaemonSet", "Rollout":
		return rolling(u, was, step)
	case "Job", "Pod":
		limit := seconds(field.At(u.Object, "spec.activeDeadlineSeconds"))
		w := wait{gates: true, atMost: limit, why: "until it has completed, without a limit: activeDeadlineSeconds is not set"}
		if limit > 0 {
			w.why = fmt.Sprintf("until it has completed, %s at most (activeDeadlineSeconds)", span(limit))
		}
		return w
	}
	if len(manifest.Products(u)) > 0 {
		return wait{gates: true, why: "until its controller has made what others use"}
	}
	if _, _, pods := manifest.PodSpec(u); pods && s.Key.Kind != "CronJob" {
		return wait{gates: true, why: "until its Pods are ready"}
	}
	return wait{}
}

// rolling is the time of a workload's rollout: so many rounds of Pods, one behind
// the other, each as long as a Pod cannot be available yet.
func rolling(u, was *unstructured.Unstructured, step Step) wait {
	spec := field.Map(u.Object, "spec")
	pods := replicas(u, was)
	if step.Action == Update && !step.Restarts && pods <= replicas(was, nil) {
		return wait{gates: true, why: "its Pods stay"}
	}
	each := untilReady(field.Map(spec, "template.spec")) + seconds(spec["minReadySeconds"])
	rounds := 1
	if step.Restarts {
		rounds = roundsOf(u, pods)
	}
	w := wait{gates: true, atLeast: time.Duration(rounds) * each}
	switch {
	case pods == 0:
		return wait{gates: true, why: "it has no Pods"}
	case each == 0:
		w.why = "until " + ready(pods) + "; its manifest asks for no delay"
	case rounds == 1:
		w.why = fmt.Sprintf("%s until a Pod is available (initial delays of probes, minReadySeconds)", span(each))
	default:
		w.why = fmt.Sprintf("%d rounds for %s, %s each until a Pod is available (initial delays of probes, minReadySeconds)", rounds, many(pods, "Pod"), span(each))
	}
	if u.GetKind() == "Rollout" {
		w = w.canary(spec)
	}
	return w
}

// canary adds the pauses between the steps of an Argo Rollout.
func (w wait) canary(spec map[string]any) wait {
	var pauses time.Duration
	for _, s := range field.List(spec, "strategy.canary.steps") {
		pause, ok := field.At(s, "pause").(map[string]any)
		if !ok {
			continue
		}
		if pause["duration"] == nil {
			w.why += "; a pause of its canary waits for a person"
		}
		if text, ok := pause["duration"].(string); ok {
			d, err := time.ParseDuration(text)
			if err == nil {
				pauses += d
			}
		}
		pauses += seconds(pause["duration"])
	}
	if w.atLeast += pauses; pauses > 0 {
		w.why += fmt.Sprintf("; %s of pauses of its canary", span(pauses))
	}
	return w
}

func ready(pods int) string {
	if pods == 1 {
		return "its Pod is ready"
	}
	return fmt.Sprintf("its %d Pods are ready", pods)
}

// replicas is how many Pods a workload has: as written, else as there are.
func replicas(u, was *unstructured.Unstructured) int {
	if u == nil {
		return 0
	}
	if u.GetKind() == "DaemonSet" {
		if was == nil {
			was = u
		}
		if n, ok := number(field.At(was.Object, "status.desiredNumberScheduled")); ok {
			return n
		}
		return 1
	}
	for _, from := range []*unstructured.Unstructured{u, was} {
		if from == nil {
			continue
		}
		if n, ok := number(field.At(from.Object, "spec.replicas")); ok {
			return n
		}
	}
	return 1
}

// roundsOf is how many times Pods are replaced one after the other.
func roundsOf(u *unstructured.Unstructured, pods int) int {
	var at int
	switch u.GetKind() {
	case "StatefulSet":
		if partition, ok := number(field.At(u.Object, "spec.updateStrategy.rollingUpdate.partition")); ok {
			pods = max(0, pods-partition)
		}
		at = max(1, share(field.At(u.Object, "spec.updateStrategy.rollingUpdate.maxUnavailable"), pods, 1, false))
	case "DaemonSet":
		surge := share(field.At(u.Object, "spec.updateStrategy.rollingUpdate.maxSurge"), pods, 0, true)
		at = max(1, surge+share(field.At(u.Object, "spec.updateStrategy.rollingUpdate.maxUnavailable"), pods, 1, true))
	default:
		if field.Text(u.Object, "spec.strategy.type") == "Recreate" {
			return 1
		}
		quarter := intstr.FromString("25%")
		up, _ := intstr.GetScaledValueFromIntOrPercent(&quarter, pods, true)
		down, _ := intstr.GetScaledValueFromIntOrPercent(&quarter, pods, false)
		surge := share(field.At(u.Object, "spec.strategy.rollingUpdate.maxSurge"), pods, up, true)
		at = max(1, surge+share(field.At(u.Object, "spec.strategy.rollingUpdate.maxUnavailable"), pods, down, false))
	}
	return max(1, int(math.Ceil(float64(pods)/float64(at))))
}

// share reads a number or percentage of Pods.
func share(v any, of, fallback int, roundUp bool) int {
	if n, ok := number(v); ok {
		return n
	}
	text, ok := v.(string)
	if !ok {
		return fallback
	}
	value := intstr.Parse(text)
	n, err := intstr.GetScaledValueFromIntOrPercent(&value, of, roundUp)
	if err != nil {
		return fallback
	}
	return n
}

// untilReady is how long probes keep a Pod from being ready.
func untilReady(pod map[string]any) time.Duration {
	var longest time.Duration
	for _, c := range field.List(pod, "containers") {
		own := seconds(field.At(c, "startupProbe.initialDelaySeconds"))
		if probe := field.Map(c, "readinessProbe"); probe != nil {
			own = max(own, seconds(probe["initialDelaySeconds"]))
			if times, ok := number(probe["successThreshold"]); ok && times > 1 {
				period := seconds(probe["periodSeconds"])
				if period == 0 {
					// The API server's default.
					period = 10 * time.Second
				}
				own += time.Duration(times-1) * period
			}
		}
		longest = max(longest, own)
	}
	return longest
}

func seconds(v any) time.Duration {
	n, _ := number(v)
	return time.Duration(max(0, n)) * time.Second
}

func number(v any) (int, bool) {
	switch n := v.(type) {
	case int64:
		return int(n), true
	case float64:
		return int(n), true
	}
	return 0, false
}

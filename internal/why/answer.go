// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// Answer is why an Application, or an object, is not done.
type Answer struct {
	App string `json:"app,omitempty"`
	// Phase and Operation are what the last operation says of itself.
	Phase     string `json:"phase,omitempty"`
	Operation string `json:"operation,omitempty"`
	// Health is that of the Application if it is not Healthy, with its reason.
	Health string `json:"health,omitempty"`
	// Gate is where the operation stands.
	Gate *Gate `json:"gate,omitempty"`
	// Chains lead from what is waited for down to what it hangs on.
	Chains [][]Link `json:"chains"`
	// Obstacles are what no object explains: windows, projects, somebody's word.
	Obstacles []string `json:"obstacles,omitempty"`
	// Waits is true if anything is waited for.
	Waits bool `json:"waits"`
}

// Gate is the group that an operation is at, and the one that it does not open yet.
type Gate struct {
	// At and Next are "Phase/wave"; Next is empty at the last group.
	At   string `json:"at"`
	Next string `json:"next,omitempty"`
	// Group of Groups, counted from 1.
	Group  int `json:"group"`
	Groups int `json:"groups"`
}

// Application says why an Application is not done. p is its plan, nil if there is
// none; wait is what the record of its operation says that it waits for, or nil.
func (e Explainer) Application(ctx context.Context, app *v1alpha1.Application, p *plan.Plan, wait *machine.Wait) (Answer, error) {
	a := Answer{App: app.Name, Chains: [][]Link{}, Obstacles: Obstacles(app)}
	running := false
	if state := app.Status.OperationState; state != nil {
		a.Phase, a.Operation = string(state.Phase), state.Message
		running = !state.Phase.Completed()
		if running {
			a.Gate = gate(state.Message, p)
		}
		if wait != nil && len(Named(state.Message, "")) > 0 && !strings.Contains(state.Message, wait.Subject()) {
			// Whichever of the two was written later names what is waited for now; the
			// record is written less often.
			wait = nil
		}
		if wait != nil && a.Gate == nil && running {
			a.Gate = gate(wait.Message(), p)
		}
	}
	questions := Questions(app, wait)
	if h := app.Status.Health; h.Status != v1alpha1.HealthHealthy && h.Status != "" {
		a.Health = strings.TrimSuffix(string(h.Status)+": "+h.Message, ": ")
		if len(questions) == 0 {
			questions = e.unwellOf(ctx, app)
		}
	}
	var err error
	if a.Chains, err = e.chains(ctx, questions); err != nil {
		return a, err
	}
	failed := app.Status.OperationState != nil && app.Status.OperationState.Phase.Completed() && !app.Status.OperationState.Phase.Successful()
	a.Waits = running || failed || a.Health != "" || len(a.Chains)+len(a.Obstacles) > 0 || app.Operation != nil || app.DeletionTimestamp != nil
	return a, nil
}

// chains follows each of some objects down, if it is not well.
func (e Explainer) chains(ctx context.Context, questions []manifest.Key) ([][]Link, error) {
	chains, told := [][]Link{}, map[manifest.Key]bool{}
	for _, key := range questions {
		// A message names what its first object hangs on as well.
		if told[key] {
			continue
		}
		chain, err := e.Explain(ctx, key)
		if err != nil {
			return chains, err
		}
		if len(chain) > 0 && !chain[0].Well() {
			chains = append(chains, chain)
			for _, l := range chain {
				told[l.Object] = true
			}
		}
	}
	return chains, nil
}

// unwellOf are the objects of an Application that are not as they should be, found by
// looking at them: what the Application lists need not say.
func (e Explainer) unwellOf(ctx context.Context, app *v1alpha1.Application) []manifest.Key {
	judge := e.Judge
	if judge == nil {
		judge = health.Of
	}
	var keys []manifest.Key
	for _, r := range app.Status.Resources {
		u, err := e.Cluster.Current(ctx, keyOf(r))
		if err != nil || r.Hook {
			continue
		}
		if verdict := judge(u); verdict.Known && verdict.Status != health.Healthy && len(keys) < maxQuestions {
			keys = append(keys, keyOf(r))
		}
	}
	return keys
}

// Object says why an object does not get on.
func (e Explainer) Object(ctx context.Context, key manifest.Key) (Answer, error) {
	chain, err := e.Explain(ctx, key)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Chains: [][]Link{chain}, Waits: len(chain) > 0 && !chain[0].Well()}, nil
}

// place begins the message of an operation that waits.
var place = regexp.MustCompile(`^(\w+) wave (-?\d+) \((\d+)/(\d+)\): `)

// gate reads where an operation stands from its message, and from the plan what
// comes next.
func gate(message string, p *plan.Plan) *Gate {
	m := place.FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	g := &Gate{At: m[1] + "/" + m[2]}
	// The pattern lets only digits through.
	g.Group, _ = strconv.Atoi(m[3])
	g.Groups, _ = strconv.Atoi(m[4])
	if p == nil {
		return g
	}
	at := slices.IndexFunc(p.Groups, func(group plan.Group) bool { return fmt.Sprintf("%s/%d", group.Phase, group.Wave) == g.At })
	if at >= 0 && at+1 < len(p.Groups) {
		g.Next = fmt.Sprintf("%s/%d", p.Groups[at+1].Phase, p.Groups[at+1].Wave)
	}
	return g
}

// Lines are the answer in words: each chain in a line, the root cause last.
func (a Answer) Lines() []string {
	var lines []string
	for _, chain := range a.Chains {
		text := Text(chain)
		if a.Gate != nil {
			text = a.Gate.At + " " + text
			if a.Gate.Next != "" {
				text = a.Gate.Next + " not opened: " + text
			}
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 && a.Operation != "" && a.Phase != string(v1alpha1.OperationSucceeded) {
		lines = append(lines, "the operation is "+a.Phase+": "+a.Operation)
	}
	if len(lines) == 0 && a.Health != "" {
		lines = append(lines, "it is "+a.Health)
	}
	return append(lines, a.Obstacles...)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// A verdict that only says that time is up is told with what took the time.
func TestOverdue(t *testing.T) {
	const failed = "one or more synchronization tasks completed unsuccessfully, reason: "
	jobFails := func(reason, message string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True", "reason": reason, "message": message}}}
	}
	hookOf := group(manifest.PreSync, 0, hook(object("Job", "prepare", "never")))
	cases := map[string]struct {
		reason  string
		groups  []plan.Group
		blocked string
		// unblocked says that what held the object up has gone before the verdict.
		unblocked bool
		// ending says that it is told of in other words on the way to its end.
		ending  bool
		status  map[string]any
		message string
	}{
		"Hook": {
			reason: "A Job that never got a Pod fails at its deadline: the deadline is not what is wrong.",
			groups: []plan.Group{hookOf}, blocked: `serviceaccount "prepare" not found`,
			status:  jobFails("DeadlineExceeded", "Job was active longer than specified deadline"),
			message: failed + `batch/Job/prepare: Job was active longer than specified deadline; until then: serviceaccount "prepare" not found`,
		},
		"HookOnItsWay": {
			reason: "What is said of a Job while its Pods are being stopped is no reason.",
			groups: []plan.Group{hookOf}, blocked: `serviceaccount "prepare" not found`, ending: true,
			status:  jobFails("DeadlineExceeded", "Job was active longer than specified deadline"),
			message: failed + `batch/Job/prepare: Job was active longer than specified deadline; until then: serviceaccount "prepare" not found`,
		},
		"Workload": {
			reason: "A Deployment past its progress deadline is told with what its Pods lack.",
			groups: []plan.Group{
				sync(0, step(object("Deployment", "prepare", "bad@9s"))),
				sync(1, step(object("ConfigMap", "late", ""))),
			},
			blocked: `secret "token" not found`,
			message: failed + `apps/Deployment/prepare: ProgressDeadlineExceeded: deadline exceeded; until then: secret "token" not found`,
		},
		"NothingKnown": {
			reason: "Nothing was in the way: the Job was too slow.",
			groups: []plan.Group{hookOf}, status: jobFails("DeadlineExceeded", "Job was active longer than specified deadline"),
			message: failed + "batch/Job/prepare: Job was active longer than specified deadline",
		},
		"Mended": {
			reason: "What was in the way has gone before; it is not what took the time.",
			groups: []plan.Group{hookOf}, blocked: `serviceaccount "prepare" not found`, unblocked: true,
			status:  jobFails("DeadlineExceeded", "Job was active longer than specified deadline"),
			message: failed + "batch/Job/prepare: Job was active longer than specified deadline",
		},
		"NotAboutTime": {
			reason: "A Job whose Pods failed says so itself.",
			groups: []plan.Group{hookOf}, blocked: "image is being pulled",
			status:  jobFails("BackoffLimitExceeded", "Job has reached the specified backoff limit"),
			message: failed + "batch/Job/prepare: Job has reached the specified backoff limit",
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.blocked = map[string]string{"prepare": tt.blocked}
			w.begin(tt.groups...)
			w.later = []happening{{2 * time.Second, func() {
				if tt.unblocked {
					delete(w.blocked, "prepare")
				}
			}}}
			if tt.ending {
				w.later = append(w.later, happening{3 * time.Second, func() {
					w.cluster.SetStatus(key("Job", "prepare"), map[string]any{"conditions": []any{
						map[string]any{"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded"},
					}})
					w.blocked["prepare"] = "its Pods are being stopped"
				}})
			}
			if tt.status != nil {
				w.later = append(w.later, happening{4 * time.Second, func() { w.cluster.SetStatus(key("Job", "prepare"), tt.status) }})
			}
			w.run(t)
			if got := w.record.Outcome; got.Phase != machine.PhaseFailed || got.Message != tt.message {
				t.Errorf("%s\n%s: %s\nwant: %s", tt.reason, got.Phase, got.Message, tt.message)
			}
		})
	}
}

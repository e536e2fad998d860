// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"time"
)

func batchRule(kind string) rule {
	switch kind {
	case "Job":
		return job
	case "CronJob":
		return cronJob
	}
	return nil
}

// job reads conditions by their status, so that a resumed Job, whose Suspended condition stays with status False, is
// Progressing until it ends.
func job(s subject) Result {
	if !s.versionIn("batch/v1") {
		return unsupported(s)
	}
	var failed, complete, paused, failing condition
	for _, c := range s.conditions() {
		switch c.Type {
		case "Failed":
			failed = c
		case "Complete":
			complete = c
		case "Suspended":
			paused = c
		case "FailureTarget":
			failing = c
		}
	}
	switch {
	case failed.isTrue():
		return degraded(failed.Reason, failed.words())
	case complete.isTrue():
		return healthy("Complete", jobCounts(s))
	case paused.isTrue():
		return suspended(paused.Reason, paused.words())
	case failing.isTrue():
		return progressing(failing.Reason, "failing, its Pods are being stopped: "+failing.words())
	}
	return progressing("Running", jobCounts(s))
}

func jobCounts(s subject) string {
	text := fmt.Sprintf("%d of %d completed", s.status.count("succeeded"), s.spec.countOr(1, "completions"))
	if n := s.status.count("active"); n > 0 {
		text += fmt.Sprintf(", %d active", n)
	}
	if n := s.status.count("failed"); n > 0 {
		text += fmt.Sprintf(", %d failed (backoff limit %d)", n, s.spec.countOr(6, "backoffLimit"))
	}
	return text
}

// cronJob is Healthy while suspended: a schedule that is switched off on purpose must not make an application look
// suspended.
func cronJob(s subject) Result {
	if s.spec.isTrue("suspend") {
		return healthy("Suspended", "the schedule is suspended")
	}
	if s.status == nil {
		return progressing("NoStatus", "its controller has not seen it yet")
	}
	if n := len(s.status.list("active")); n > 0 {
		return healthy("Active", fmt.Sprintf("%d active", n))
	}
	succeeded, ok := s.status.instant("lastSuccessfulTime")
	if !ok {
		return healthy("NeverSucceeded", "no run has succeeded so far")
	}
	if scheduled, ok := s.status.instant("lastScheduleTime"); ok && succeeded.Before(scheduled) {
		return degraded("LastRunFailed", fmt.Sprintf("the run of %s did not succeed; the last success was %s",
			s.status.text("lastScheduleTime"), s.status.text("lastSuccessfulTime")))
	}
	return healthy("Succeeded", "the last run succeeded")
}

// instant returns a point in time and whether it is there.
func (f fields) instant(path ...string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, f.text(path...))
	return t, err == nil
}

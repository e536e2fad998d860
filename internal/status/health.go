// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// maxCauses bounds how many objects a health message names.
const maxCauses = 3

// Health returns the application's health: the worst of its objects. before is
// what was written last; its time stays as long as the status does.
//
// An object that does not exist yet makes nothing worse, unless not a single one
// exists. Hooks, objects that ask to be overlooked, kinds about which nothing is
// known and those that wait by design do not count.
func (s State) Health(before v1alpha1.AppHealthStatus, now time.Time) v1alpha1.AppHealthStatus {
	expected, present := 0, 0
	worst := health.Healthy
	var causes []Object
	for _, obj := range s.Objects {
		if obj.Part == Managed {
			expected++
		}
		if obj.Part == LiveHook || obj.Live == nil {
			continue
		}
		if obj.Part == Managed {
			present++
		}
		if !s.counts(obj) {
			continue
		}
		if obj.Health.Status.WorseThan(worst) {
			worst, causes = obj.Health.Status, nil
		}
		if obj.Health.Status == worst && worst != health.Healthy {
			causes = append(causes, obj)
		}
	}
	if expected > 0 && present == 0 {
		worst = health.Missing
	}
	return transition(before, v1alpha1.HealthStatusCode(worst), causedBy(causes), now)
}

// counts reports whether a live object has a part in the application's health.
func (s State) counts(obj Object) bool {
	switch {
	case !obj.Health.Known, obj.Health.ByDesign, obj.Key == s.self:
		return false
	case obj.Live.GetAnnotations()[manifest.AnnotationIgnoreHealth] == "true":
		return false
	case isApplication(obj.Key):
		return obj.Health.Status != health.Missing && obj.Health.Status != health.Unknown
	}
	return true
}

// causedBy names the objects that an unhealthy application owes its health to,
// and what the first of them says.
func causedBy(causes []Object) string {
	if len(causes) == 0 {
		return ""
	}
	names := make([]string, 0, maxCauses)
	for _, obj := range causes[:min(len(causes), maxCauses)] {
		names = append(names, obj.Key.Group+"/"+obj.Key.Kind+":"+obj.Key.Namespace+"/"+obj.Key.Name)
	}
	message := "Caused by " + strings.Join(names, ", ")
	if more := len(causes) - maxCauses; more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	if causes[0].Health.Message != "" {
		message += ": " + causes[0].Health.Message
	}
	return message
}

// UnknownHealth is the health of an application that cannot be looked at.
func UnknownHealth(before v1alpha1.AppHealthStatus, message string, now time.Time) v1alpha1.AppHealthStatus {
	return transition(before, v1alpha1.HealthUnknown, message, now)
}

func transition(before v1alpha1.AppHealthStatus, status v1alpha1.HealthStatusCode, message string, now time.Time) v1alpha1.AppHealthStatus {
	after := v1alpha1.AppHealthStatus{Status: status, Message: message, LastTransitionTime: before.LastTransitionTime}
	if before.Status != status || before.LastTransitionTime == nil {
		t := metav1.NewTime(now)
		after.LastTransitionTime = &t
	}
	return after
}

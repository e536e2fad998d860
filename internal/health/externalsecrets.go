// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func externalSecretsRule(kind string) rule {
	switch kind {
	case "ExternalSecret":
		return externalSecret
	case "PushSecret":
		return pushSecret
	case "ClusterExternalSecret":
		return clusterExternalSecret
	case "SecretStore", "ClusterSecretStore":
		return func(s subject) Result { return s.byCondition("Ready") }
	}
	return nil
}

// externalSecret trusts Ready only when the operator has processed the present generation. A failure counts at once:
// the operator records the generation of successes only, so whether a failure is an old one cannot be told.
func externalSecret(s subject) Result {
	r := s.byCondition("Ready")
	if r.Status == Healthy && refreshesOnChange(s) {
		return s.ifProcessed(r)
	}
	return r
}

func pushSecret(s subject) Result {
	r := s.byCondition("Ready")
	if r.Status == Healthy {
		return s.ifProcessed(r)
	}
	return r
}

// clusterExternalSecret judges by the condition that was added last: earlier versions of the operator keep one of each
// kind and never take a True back.
func clusterExternalSecret(s subject) Result {
	for _, c := range slices.Backward(s.conditions()) {
		switch {
		case c.Type == "Ready" && c.isTrue():
			return healthy(c.Reason, c.words())
		case c.Type == "Ready" && c.isFalse(), c.isTrue() && (c.Type == "NotReady" || c.Type == "PartiallyReady"):
			return degraded(c.Reason, c.words())
		}
	}
	return progressing("ConditionAbsent", "its controller has not reported Ready yet")
}

// refreshesOnChange tells whether the operator processes a changed ExternalSecret again. It does not when the Secret is
// to be created once, or never refreshed.
func refreshesOnChange(s subject) bool {
	switch s.spec.text("refreshPolicy") {
	case "CreatedOnce":
		return false
	case "", "Periodic":
		interval, err := time.ParseDuration(s.spec.text("refreshInterval"))
		return err != nil || interval > 0
	}
	return true
}

// ifProcessed returns r unless status.syncedResourceVersion, "GENERATION-HASH", names an earlier generation. When the
// operator reports nothing of the kind, r stands.
func (s subject) ifProcessed(r Result) Result {
	text, _, ok := strings.Cut(s.status.text("syncedResourceVersion"), "-")
	if !ok {
		return r
	}
	processed, err := strconv.ParseInt(text, 10, 64)
	if err != nil || processed >= s.obj.GetGeneration() {
		return r
	}
	return progressing("GenerationNotObserved",
		fmt.Sprintf("generation %d has not been processed, generation %d is the last that was", s.obj.GetGeneration(), processed))
}

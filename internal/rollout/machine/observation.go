// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Observer answers what is known of an object. The answer must not be older
// than the last write of this process to that object, and "does not exist" must
// be certain.
type Observer func(manifest.Key) Observation

// Observation is what the machine needs to know of a live object.
type Observation struct {
	Exists          bool
	UID             types.UID
	ResourceVersion string
	Generation      int64
	// Deleting is set once the object has a deletion timestamp.
	Deleting bool
	// Held is set while the object carries our hook finalizer, Holders are the
	// finalizers of others.
	Held    bool
	Holders []string
	// Mark is the value of the operation annotation.
	Mark string
	// Health is the verdict on the object as it is.
	Health health.Result
	// Processed says whether the object's controller has seen its generation.
	Processed Processed
	// Keys are the keys of a Secret's or ConfigMap's data.
	Keys []string
	// Progress changes whenever something about the object or its Pods moves.
	Progress string
	// Busy says that work is under way (a Job's Pod runs): there is no limit.
	Busy bool
	// Stuck says that a Pod below the object is held up by what rarely mends
	// itself: image pull, crash loop, configuration error.
	Stuck bool
	// Blocked is why the object does not get on, in the words of the cluster:
	// "container main: ImagePullBackOff: …".
	Blocked string
}

// Processed is what an object says about its controller having seen it.
type Processed int

// Answers to whether an object's present generation has been processed.
const (
	// Unreported objects say nothing about it.
	Unreported Processed = iota
	// Behind objects report an older generation.
	Behind
	// UpToDate objects report the present generation.
	UpToDate
)

// reason returns the object's own words on why it does not get on.
func (o Observation) reason() string {
	if o.Blocked != "" {
		return o.Blocked
	}
	return sentence(o.Health.Reason, o.Health.Message)
}

// keptBy returns why the object is not gone yet.
func (o Observation) keptBy() string {
	if o.Blocked != "" || len(o.Holders) == 0 {
		return o.Blocked
	}
	return "held by finalizer " + strings.Join(o.Holders, ", ")
}

// olderThan reports whether o shows the object before the write that s records.
func (o Observation) olderThan(s *StepRecord) bool {
	if o.UID != s.UID {
		return false
	}
	return o.Generation < s.Generation || versionBefore(o.ResourceVersion, s.ResourceVersion)
}

// versionBefore compares resource versions, which are decimal numbers of
// increasing value. Anything else counts as not before.
func versionBefore(a, b string) bool {
	if !decimal(a) || !decimal(b) {
		return false
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

func decimal(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

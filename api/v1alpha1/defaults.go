// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strconv"
	"time"
)

// Defaults of an Application. The types leave absent fields absent, so that writing an object back adds nothing that
// its owner did not write; whoever needs a value asks the methods below.
const (
	DefaultProject              = "default"
	DefaultRevisionHistoryLimit = 10
	DefaultAutomatedRetryLimit  = 5
	DefaultBackoffDuration      = 5 * time.Second
	DefaultBackoffFactor        = 2
	DefaultBackoffMaxDuration   = 3 * time.Minute
	// InClusterServer is the address by which an Application names the cluster it lives on.
	InClusterServer = "https://kubernetes.default.svc"
	// InClusterName is the name of that cluster.
	InClusterName = "in-cluster"
)

// ProjectName returns the project, "default" when none is given.
func (s *ApplicationSpec) ProjectName() string {
	if s.Project == "" {
		return DefaultProject
	}
	return s.Project
}

// EffectiveSources returns what is to be rendered: the branch of a hydrator, else sources, else source. It returns
// nothing when none of them is given.
func (s *ApplicationSpec) EffectiveSources() []ApplicationSource {
	switch {
	case s.SourceHydrator != nil:
		return []ApplicationSource{s.SourceHydrator.RenderedSource()}
	case len(s.Sources) > 0:
		return s.Sources
	case s.Source != nil:
		return []ApplicationSource{*s.Source}
	}
	return nil
}

// MultipleSources tells whether revisions are kept as a list: sources are in force, be it only one of them.
func (s *ApplicationSpec) MultipleSources() bool {
	return s.SourceHydrator == nil && len(s.Sources) > 0
}

// HistoryLimit returns the number of history entries to keep.
func (s *ApplicationSpec) HistoryLimit() int {
	if s.RevisionHistoryLimit == nil {
		return DefaultRevisionHistoryLimit
	}
	return int(max(0, *s.RevisionHistoryLimit))
}

// AutomatedEnabled tells whether syncs start without a person.
func (s *ApplicationSpec) AutomatedEnabled() bool {
	return s.SyncPolicy != nil && s.SyncPolicy.Automated != nil && isTrue(s.SyncPolicy.Automated.Enabled, true)
}

// AutomatedPrune tells whether automated syncs delete what the source no longer contains.
func (s *ApplicationSpec) AutomatedPrune() bool {
	return s.AutomatedEnabled() && isTrue(s.SyncPolicy.Automated.Prune, false)
}

// AutomatedSelfHeal tells whether drift starts a sync.
func (s *ApplicationSpec) AutomatedSelfHeal() bool {
	return s.AutomatedEnabled() && isTrue(s.SyncPolicy.Automated.SelfHeal, false)
}

// AutomatedAllowEmpty tells whether an automated sync may delete everything.
func (s *ApplicationSpec) AutomatedAllowEmpty() bool {
	return s.AutomatedEnabled() && isTrue(s.SyncPolicy.Automated.AllowEmpty, false)
}

// AutomatedRetry returns the retry strategy of an automated sync: that of the policy, five attempts without one.
func (s *ApplicationSpec) AutomatedRetry() RetryStrategy {
	if s.SyncPolicy != nil && s.SyncPolicy.Retry != nil {
		return *s.SyncPolicy.Retry
	}
	return RetryStrategy{Limit: DefaultAutomatedRetryLimit}
}

// SyncOptionList returns the sync options of the policy, which is where a new operation copies them from.
func (s *ApplicationSpec) SyncOptionList() []string {
	if s.SyncPolicy == nil {
		return nil
	}
	return s.SyncPolicy.SyncOptions
}

// RenderedSource returns the source that a hydrator's result is applied from.
func (h *SourceHydrator) RenderedSource() ApplicationSource {
	repo := h.SyncSource.RepoURL
	if repo == "" {
		repo = h.DrySource.RepoURL
	}
	return ApplicationSource{RepoURL: repo, Path: h.SyncSource.Path, TargetRevision: h.SyncSource.TargetBranch}
}

// Allows tells whether another attempt may follow after so many retries.
func (r RetryStrategy) Allows(retries int64) bool {
	return r.Limit < 0 || retries < r.Limit
}

// Delay returns the pause before retry number n, counted from 0: duration × factorⁿ, at most maxDuration.
func (r RetryStrategy) Delay(n int64) (time.Duration, error) {
	b := Backoff{}
	if r.Backoff != nil {
		b = *r.Backoff
	}
	delay, err := parseSeconds("duration", b.Duration, DefaultBackoffDuration)
	if err != nil {
		return 0, err
	}
	if delay < 0 {
		return 0, fmt.Errorf("retry.backoff.duration %q is less than nothing", b.Duration)
	}
	limit, err := parseSeconds("maxDuration", b.MaxDuration, DefaultBackoffMaxDuration)
	if err != nil {
		return 0, err
	}
	factor := int64(DefaultBackoffFactor)
	if b.Factor != nil {
		factor = *b.Factor
	}
	const ceiling = time.Duration(1<<63 - 1)
	for range n {
		if limit > 0 && delay >= limit || factor <= 1 {
			break
		}
		if delay > ceiling/time.Duration(factor) {
			delay = ceiling
			break
		}
		delay *= time.Duration(factor)
	}
	if limit > 0 {
		delay = min(delay, limit)
	}
	return delay, nil
}

// parseSeconds reads a Go duration or a bare number of seconds.
func parseSeconds(field, text string, absent time.Duration) (time.Duration, error) {
	if text == "" {
		return absent, nil
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("read retry.backoff.%s %q: want a number of seconds or a duration like \"30s\"", field, text)
	}
	return d, nil
}

func isTrue(b *bool, absent bool) bool {
	if b == nil {
		return absent
	}
	return *b
}

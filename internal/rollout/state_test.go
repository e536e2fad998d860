// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/rollout"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// uidOf is as random as a real uid.
func uidOf(i int) types.UID {
	sum := sha256.Sum256([]byte(fmt.Sprint(i)))
	return types.UID(fmt.Sprintf("%x-%x-4%x-a%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// large is the state in the middle of an operation of n objects.
func large(n int) rollout.State {
	rec := machine.Record{
		Operation: "op-1", Attempt: 1, Plan: "p", Render: "r", Revisions: []string{"4f2c1d9"},
		StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Steps: map[string]*machine.StepRecord{},
	}
	for i := range n {
		key := manifest.Key{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("service-%d-settings", i)}
		s := &machine.StepRecord{State: machine.Succeeded, Key: key, UID: uidOf(i), Message: machine.Accepted(key, "created")}
		if i > n-200 {
			s.State, s.ResourceVersion, s.Generation = machine.Applied, fmt.Sprint(1000000+7*i), 1
		}
		rec.Steps["Sync/0/"+key.String()] = s
	}
	return rollout.State{Operation: &rec}
}

func TestStateSurvivesEncoding(t *testing.T) {
	s := large(50)
	s.Released = &rollout.Release{Operation: "op-0", Plan: "p0", Render: "r0", Spec: "s0", Revisions: []string{"a"}, At: s.Operation.StartedAt}
	s.Inventory = []rollout.Entry{{Key: manifest.Key{Kind: "Secret", Namespace: "shop", Name: "x"}, UID: "u"}}
	s.Operation.Failure = &machine.Failure{Message: "m", Causes: []manifest.Key{{Kind: "Job", Name: "x"}}}
	s.Attempts = []rollout.Attempt{{Operation: "op-0", Attempt: 2, Outcome: machine.Outcome{Phase: machine.PhaseFailed, Retry: true}}}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := rollout.DecodeState(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got, cmpopts.IgnoreFields(rollout.State{}, "Version"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeState(t *testing.T) {
	if s, err := rollout.DecodeState(nil); err != nil || s.Operation != nil {
		t.Errorf("no payload: %+v, %v", s, err)
	}
	for reason, data := range map[string]string{
		"a version of the future is not guessed at": `{"version":99}`,
		"damage is an error":                        `{"version":1,"operation":`,
	} {
		if _, err := rollout.DecodeState([]byte(data)); err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
}

// An application of 5,000 objects fits into one object.
func TestLargeStateFits(t *testing.T) {
	data, err := large(5000).Encode()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := releasev1alpha1.Pack(data)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, packed %d", len(data), len(parts[0]))
	if len(parts) != 1 {
		t.Errorf("the state of 5,000 objects takes %d parts of %d bytes", len(parts), releasev1alpha1.MaxPartLength)
	}
}

func TestOwned(t *testing.T) {
	key := func(name string) manifest.Key { return manifest.Key{Kind: "ConfigMap", Namespace: "shop", Name: name} }
	step := func(name string, s machine.StepRecord) *machine.StepRecord {
		s.Key = key(name)
		return &s
	}
	s := rollout.State{
		Inventory: []rollout.Entry{{Key: key("kept"), UID: "1"}, {Key: key("pruned"), UID: "2"}, {Key: key("remade"), UID: "3"}},
		Operation: &machine.Record{Steps: map[string]*machine.StepRecord{
			"a": step("pruned", machine.StepRecord{State: machine.Pruned}),
			"b": step("remade", machine.StepRecord{State: machine.Applied, UID: "4"}),
			"c": step("hook", machine.StepRecord{State: machine.Succeeded, UID: "5", Hook: true}),
			"d": step("namespace", machine.StepRecord{State: machine.Succeeded, UID: "6", Untracked: true}),
			"e": step("refused", machine.StepRecord{State: machine.Failed, Rejected: true}),
			"f": step("new", machine.StepRecord{State: machine.Failed, UID: "7"}),
		}},
	}
	want := []rollout.Entry{{Key: key("kept"), UID: "1"}, {Key: key("new"), UID: "7"}, {Key: key("remade"), UID: "4"}}
	if diff := cmp.Diff(want, s.Owned()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHandedOverNamespaceLeavesTheInventory(t *testing.T) {
	ns, settings := manifest.Key{Kind: "Namespace", Name: "shop"}, manifest.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	s := rollout.State{
		Inventory: []rollout.Entry{{Key: ns, UID: "1"}, {Key: settings, UID: "2"}},
		Operation: &machine.Record{Steps: map[string]*machine.StepRecord{
			"PreSync/0/Namespace//shop": {State: machine.Succeeded, Key: ns, UID: "1", Untracked: true},
		}},
	}
	if diff := cmp.Diff([]rollout.Entry{{Key: settings, UID: "2"}}, s.Owned()); diff != "" {
		t.Errorf("owned (-want +got):\n%s", diff)
	}
}

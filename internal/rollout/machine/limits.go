// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Limits are the times that end a wait. Zero values mean the defaults.
type Limits struct {
	// FlapGrace is how long a kind that flaps by nature may be Degraded before
	// that counts. Defaults to 30 s; an object of any kind may set its own with
	// GateGrace=DURATION.
	FlapGrace time.Duration
	// NoProgress is how long a gate waits while nothing about the object moves.
	// Defaults to 10 min; an object may set its own with GateTimeout=DURATION.
	NoProgress time.Duration
	// Stuck replaces NoProgress for image pulls, crash loops and configuration
	// errors. Defaults to 3 min.
	Stuck time.Duration
	// HookGone is how long the result of a hook that somebody else deleted is
	// waited for. Defaults to 20 s.
	HookGone time.Duration
	// IngressAddress is how long an Ingress without an address is waited for.
	// Defaults to 60 s.
	IngressAddress time.Duration
	// AwaitGone makes the last group wait until its prunes are really gone, as
	// every other group does.
	AwaitGone bool
	Switches
}

// Switches take the machine's differences to Argo CD back.
type Switches struct {
	// WaveDelay is a pause between groups.
	WaveDelay time.Duration
	// HookPolicyOfOperation has the delete policies of hooks look at the outcome of
	// the operation instead of the hook's own.
	HookPolicyOfOperation bool
	// PendingGates has objects that are pending by design hold a group up.
	PendingGates bool
	// AnyGeneration takes health for what it is, whatever generation it is about.
	AnyGeneration bool
}

// SwitchesOf reads an application's options.
func SwitchesOf(options manifest.OptionSet) Switches {
	delay, _ := duration(options, "WaveDelay")
	return Switches{
		WaveDelay: delay, HookPolicyOfOperation: options.Has(hookPolicyOfOperation),
		PendingGates: options.Has(pendingGates), AnyGeneration: options.Has(anyGeneration),
	}
}

// Options that an application or a single object may have.
const (
	hookPolicyOfOperation = "HookPolicy=operation"
	pendingGates          = "PendingByDesign=gate"
	anyGeneration         = "ObservedGeneration=false"
)

// has reports whether the step's object carries an option.
func has(s *plan.Step, option string) bool {
	return s.Object != nil && manifest.SyncOptions(s.Object.Unstructured).Has(option)
}

// With returns the limits as an application's options change them: GateTimeout is
// the limit of every wait without progress, whatever holds it up, GateGrace that of
// kinds that flap; the switches are those of the options.
func (l Limits) With(options manifest.OptionSet) Limits {
	if d, ok := duration(options, "GateTimeout"); ok {
		l.NoProgress, l.Stuck = d, d
	}
	if d, ok := duration(options, "GateGrace"); ok {
		l.FlapGrace = d
	}
	l.Switches = SwitchesOf(options)
	return l
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&l.FlapGrace, 30 * time.Second},
		{&l.NoProgress, 10 * time.Minute},
		{&l.Stuck, 3 * time.Minute},
		{&l.HookGone, 20 * time.Second},
		{&l.IngressAddress, time.Minute},
	} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	return l
}

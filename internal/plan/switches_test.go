// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func own(options string) mutation { return annotate(manifest.AnnotationWavetrainOptions, options) }

func TestEffectGateOff(t *testing.T) {
	external := object("external-secrets.io/v1 ExternalSecret dest/db", fetches("vault", "db", "url"))
	for name, test := range map[string]struct {
		options Options
		web     mutation
		needs   int
	}{
		"a workload waits for its Secret": {web: own(""), needs: 1},
		"off for the application":         {options: Options{NoEffects: true}, web: own("")},
		"off for the workload":            {web: own("EffectGate=false")},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(external, object("apps/v1 Deployment dest/web", uses("db.url"), test.web))
			in.Options = test.options
			s := findStep(t, Build(in), "Sync/0/apps/Deployment/dest/web")
			if len(s.Needs) != test.needs || len(s.After) != 1 {
				t.Errorf("needs %v, after %v: want %d needs, and the producer first", s.Needs, s.After, test.needs)
			}
		})
	}
}

func TestPruneSwitches(t *testing.T) {
	held := live(object("v1 ConfigMap dest/old", uid("1")))
	held.Holder = manifest.Key{Kind: "Pod", Namespace: "dest", Name: "user"}
	heldAtOnce := live(object("v1 ConfigMap dest/old", uid("1"), own("DeferPrune=false")))
	heldAtOnce.Holder = held.Holder
	namespace := live(object("v1 Namespace dest", uid("2")))
	definition := live(object("apiextensions.k8s.io/v1 CustomResourceDefinition widgets.example.test", defines("example.test", "Widget"), uid("3")))
	for name, test := range map[string]struct {
		prune   Live
		options Options
		want    Action
	}{
		"what is used is put off":              {prune: held, want: SkipPrune},
		"not with the application's option":    {prune: held, options: Options{PruneHeld: true}, want: Prune},
		"nor with the object's":                {prune: heldAtOnce, want: Prune},
		"the namespace is handed over":         {prune: namespace, options: Options{CreateNamespace: true}, want: SkipPrune},
		"the namespace is pruned, if wanted":   {prune: namespace, options: Options{CreateNamespace: true, PruneHandedOver: true}, want: Prune},
		"a definition is pruned":               {prune: definition, want: Prune},
		"definitions stay, if that is wanted":  {prune: definition, options: Options{KeepDefinitions: true}, want: SkipPrune},
		"nothing else stays with definitions":  {prune: live(object("v1 ConfigMap dest/old", uid("1"))), options: Options{KeepDefinitions: true}, want: Prune},
		"nothing else goes with the namespace": {prune: held, options: Options{CreateNamespace: true, PruneHandedOver: true}, want: SkipPrune},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(object("v1 ConfigMap dest/kept"))
			in.Prune, in.Options = []Live{test.prune}, test.options
			in.Options.Prune = true
			if isNamespace(test.prune.Key()) {
				in.Live = map[manifest.Key]Live{test.prune.Key(): test.prune}
			}
			for _, s := range allSteps(Build(in)) {
				if s.Key == test.prune.Key() && s.Action != test.want {
					t.Errorf("%s %q, want %s", s.Action, s.Reason, test.want)
				}
			}
		})
	}
}

func TestOptionsWithoutEffectAreFound(t *testing.T) {
	found := Build(input(object("v1 ConfigMap dest/a", in("a.yaml", 4), own("WaveDelay=2s,GateTimeout=5m,Prune=false")))).Findings
	if got := codes(found); !slices.Equal(got, []string{"warning unknown-option"}) {
		t.Fatalf("findings %v", got)
	}
	if want := `ConfigMap/a in a.yaml:4: sync option "WaveDelay=2s" is for Applications, not for objects`; found[0].Message != want {
		t.Errorf("it says %q, want %q", found[0].Message, want)
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestEffectiveSources(t *testing.T) {
	one, two := ApplicationSource{RepoURL: "one", Path: "a"}, ApplicationSource{RepoURL: "two", Chart: "b"}
	hydrator := &SourceHydrator{
		DrySource:  DrySource{RepoURL: "dry", TargetRevision: "main", Path: "apps"},
		SyncSource: SyncSource{TargetBranch: "env/dev", Path: "out"},
		HydrateTo:  &HydrateTo{TargetBranch: "env/dev-next"},
	}
	elsewhere := hydrator.DeepCopy()
	elsewhere.SyncSource.RepoURL = "wet"
	for name, tt := range map[string]struct {
		reason   string
		spec     ApplicationSpec
		want     []ApplicationSource
		multiple bool
	}{
		"nothing":   {reason: "there is nothing to render", spec: ApplicationSpec{}},
		"source":    {reason: "the plain case", spec: ApplicationSpec{Source: &one}, want: []ApplicationSource{one}},
		"sources":   {reason: "sources win over source", spec: ApplicationSpec{Source: &one, Sources: []ApplicationSource{two}}, want: []ApplicationSource{two}, multiple: true},
		"empty":     {reason: "an empty list is as good as none", spec: ApplicationSpec{Source: &one, Sources: []ApplicationSource{}}, want: []ApplicationSource{one}},
		"hydrator":  {reason: "what was rendered into the branch is applied, staging or not", spec: ApplicationSpec{Sources: []ApplicationSource{one, two}, SourceHydrator: hydrator}, want: []ApplicationSource{{RepoURL: "dry", Path: "out", TargetRevision: "env/dev"}}},
		"elsewhere": {reason: "the branch may be in another repository", spec: ApplicationSpec{SourceHydrator: elsewhere}, want: []ApplicationSource{{RepoURL: "wet", Path: "out", TargetRevision: "env/dev"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.spec.EffectiveSources()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if got := tt.spec.MultipleSources(); got != tt.multiple {
				t.Errorf("%s: MultipleSources is %t, want %t", tt.reason, got, tt.multiple)
			}
		})
	}
}

func TestAutomation(t *testing.T) {
	for name, tt := range map[string]struct {
		reason               string
		policy               *SyncPolicy
		on, prune, heal, all bool
	}{
		"no policy":    {reason: "by hand is the default"},
		"other policy": {reason: "a policy about something else does not automate", policy: &SyncPolicy{SyncOptions: []string{"PruneLast=true"}}},
		"empty":        {reason: "its presence switches automation on, and nothing more", policy: &SyncPolicy{Automated: &SyncPolicyAutomated{}}, on: true},
		"everything":   {reason: "each switch for itself", policy: &SyncPolicy{Automated: &SyncPolicyAutomated{Prune: new(true), SelfHeal: new(true), AllowEmpty: new(true)}}, on: true, prune: true, heal: true, all: true},
		"explicitly":   {reason: "false is false", policy: &SyncPolicy{Automated: &SyncPolicyAutomated{Enabled: new(true), Prune: new(false), SelfHeal: new(true)}}, on: true, heal: true},
		"off":          {reason: "enabled: false takes everything with it", policy: &SyncPolicy{Automated: &SyncPolicyAutomated{Enabled: new(false), Prune: new(true), SelfHeal: new(true), AllowEmpty: new(true)}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := ApplicationSpec{SyncPolicy: tt.policy}
			got := [4]bool{s.AutomatedEnabled(), s.AutomatedPrune(), s.AutomatedSelfHeal(), s.AutomatedAllowEmpty()}
			if want := [4]bool{tt.on, tt.prune, tt.heal, tt.all}; got != want {
				t.Errorf("%s: enabled, prune, selfHeal, allowEmpty = %v, want %v", tt.reason, got, want)
			}
		})
	}
}

func TestSmallDefaults(t *testing.T) {
	empty := ApplicationSpec{}
	if got := empty.ProjectName(); got != "default" {
		t.Errorf("no project means %q, want default", got)
	}
	if got := (&ApplicationSpec{Project: "shop"}).ProjectName(); got != "shop" {
		t.Errorf("project shop means %q", got)
	}
	for _, tt := range []struct {
		limit *int64
		want  int
	}{{nil, 10}, {new(int64(0)), 0}, {new(int64(3)), 3}, {new(int64(-1)), 0}} {
		if got := (&ApplicationSpec{RevisionHistoryLimit: tt.limit}).HistoryLimit(); got != tt.want {
			t.Errorf("revisionHistoryLimit %v keeps %d entries, want %d", tt.limit, got, tt.want)
		}
	}
	if got := empty.AutomatedRetry(); got.Limit != 5 {
		t.Errorf("an automated sync without a retry block has %d retries, want 5", got.Limit)
	}
	block := ApplicationSpec{SyncPolicy: &SyncPolicy{Retry: &RetryStrategy{}, SyncOptions: []string{"PruneLast=true"}}}
	if got := block.AutomatedRetry(); got.Limit != 0 {
		t.Errorf("a retry block without a limit means %d retries, want 0", got.Limit)
	}
	if got := block.SyncOptionList(); !cmp.Equal(got, []string{"PruneLast=true"}) || empty.SyncOptionList() != nil {
		t.Errorf("sync options are %v, and %v without a policy", got, empty.SyncOptionList())
	}
}

func TestRetryAllows(t *testing.T) {
	for _, tt := range []struct {
		reason         string
		limit, retries int64
		want           bool
	}{
		{"none by default", 0, 0, false},
		{"the first of two", 2, 0, true},
		{"the second of two", 2, 1, true},
		{"not a third", 2, 2, false},
		{"no limit", -1, 1000, true},
	} {
		if got := (RetryStrategy{Limit: tt.limit}).Allows(tt.retries); got != tt.want {
			t.Errorf("%s: limit %d after %d retries allows another: %t, want %t", tt.reason, tt.limit, tt.retries, got, tt.want)
		}
	}
}

func TestRetryDelay(t *testing.T) {
	seconds := func(s ...int) []time.Duration {
		all := make([]time.Duration, len(s))
		for i, n := range s {
			all[i] = time.Duration(n) * time.Second
		}
		return all
	}
	for name, tt := range map[string]struct {
		reason  string
		backoff *Backoff
		want    []time.Duration
	}{
		"defaults":    {reason: "5 s doubled up to 3 min; the first pause is the announced one", want: seconds(5, 10, 20, 40, 80, 160, 180, 180)},
		"empty block": {reason: "an empty block changes nothing", backoff: &Backoff{}, want: seconds(5, 10, 20)},
		"bare number": {reason: "a bare number counts seconds", backoff: &Backoff{Duration: "7", MaxDuration: "20"}, want: seconds(7, 14, 20)},
		"steady":      {reason: "factor 1 keeps the pause", backoff: &Backoff{Duration: "1m", Factor: new(int64(1))}, want: seconds(60, 60, 60)},
		"no bound":    {reason: "zero removes the bound", backoff: &Backoff{Duration: "1m", Factor: new(int64(10)), MaxDuration: "0"}, want: seconds(60, 600, 6000)},
		"short bound": {reason: "the bound holds for the first pause, too", backoff: &Backoff{Duration: "10m", MaxDuration: "1m"}, want: seconds(60, 60)},
	} {
		t.Run(name, func(t *testing.T) {
			for n, want := range tt.want {
				got, err := RetryStrategy{Backoff: tt.backoff}.Delay(int64(n))
				if err != nil || got != want {
					t.Errorf("%s: pause %d is %v (%v), want %v", tt.reason, n, got, err, want)
				}
			}
		})
	}
}

func TestRetryDelayAtTheEnds(t *testing.T) {
	huge := RetryStrategy{Backoff: &Backoff{Factor: new(int64(1 << 40)), MaxDuration: "-1s"}}
	if got, err := huge.Delay(1 << 40); err != nil || got <= 0 {
		t.Errorf("a pause beyond all bounds is %v (%v), want the longest there is", got, err)
	}
	for field, b := range map[string]Backoff{
		"duration": {Duration: "soon"}, "maxDuration": {MaxDuration: "5 minutes"},
	} {
		_, err := RetryStrategy{Backoff: &b}.Delay(0)
		if err == nil || !strings.Contains(err.Error(), "retry.backoff."+field) {
			t.Errorf("an unreadable %s gives %v, want an error that names the field", field, err)
		}
	}
}

func TestCovers(t *testing.T) {
	values := func(text string) *ApplicationSourceHelm {
		return &ApplicationSourceHelm{ValuesObject: &runtime.RawExtension{Raw: []byte(text)}}
	}
	base := ApplicationSpec{
		Source:      &ApplicationSource{RepoURL: "r", Path: "p", Helm: values(`{"b":1,"a":[1,2]}`)},
		Destination: ApplicationDestination{Name: "dev", Namespace: "shop"},
	}
	for name, tt := range map[string]struct {
		reason string
		change func(*ApplicationSpec)
		want   bool
	}{
		"nothing":       {reason: "the same spec", change: func(*ApplicationSpec) {}, want: true},
		"order of keys": {reason: "YAML maps have no order", change: func(s *ApplicationSpec) { s.Source.Helm = values(`{ "a":[1,2],"b":1 }`) }, want: true},
		"empty tool block": {reason: "an empty block says nothing", change: func(s *ApplicationSpec) {
			s.Source.Directory, s.Source.Plugin = &ApplicationSourceDirectory{}, &ApplicationSourcePlugin{}
		}, want: true},
		"empty list":  {reason: "an empty list says nothing", change: func(s *ApplicationSpec) { s.IgnoreDifferences = []ResourceIgnoreDifferences{} }, want: true},
		"project":     {reason: "a comparison does not depend on it", change: func(s *ApplicationSpec) { s.Project = "shop" }, want: true},
		"value":       {reason: "other values render something else", change: func(s *ApplicationSpec) { s.Source.Helm = values(`{"b":2,"a":[1,2]}`) }},
		"path":        {reason: "another directory", change: func(s *ApplicationSpec) { s.Source.Path = "q" }},
		"destination": {reason: "another namespace", change: func(s *ApplicationSpec) { s.Destination.Namespace = "other" }},
		"ignored":     {reason: "differences count differently", change: func(s *ApplicationSpec) { s.IgnoreDifferences = []ResourceIgnoreDifferences{{Kind: "Job"}} }},
		"sources":     {reason: "one source in a list has its revision in a list", change: func(s *ApplicationSpec) { s.Sources = []ApplicationSource{*s.Source} }},
	} {
		t.Run(name, func(t *testing.T) {
			compared, spec := base.ComparedTo(), *base.DeepCopy()
			tt.change(&spec)
			if got := compared.Covers(&spec); got != tt.want {
				t.Errorf("%s: covers is %t, want %t", tt.reason, got, tt.want)
			}
		})
	}
}

// TestEmptyIsNotAbsent: for a few lists and maps it matters whether they were written down.
func TestEmptyIsNotAbsent(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		text   string
		into   func() any
	}{
		"no kinds at all": {reason: "an empty list permits nothing, an absent one everything", text: `{"namespaceResourceWhitelist":[]}`, into: func() any { return &AppProjectSpec{} }},
		"all kinds":       {reason: "absent stays absent", text: `{}`, into: func() any { return &AppProjectSpec{} }},
		"empty parameter": {reason: "a plugin sees an empty list", text: `{"name":"p","map":{},"array":[]}`, into: func() any { return &PluginParameter{} }},
	} {
		t.Run(name, func(t *testing.T) {
			v := tt.into()
			if err := json.Unmarshal([]byte(tt.text), v); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(v)
			if err != nil || string(got) != tt.text {
				t.Errorf("%s: %s came back as %s (%v)", tt.reason, tt.text, got, err)
			}
			if p, ok := v.(*AppProjectSpec); ok && (p.DeepCopy().NamespaceResourceWhitelist == nil) != (p.NamespaceResourceWhitelist == nil) {
				t.Errorf("%s: a deep copy confuses them", tt.reason)
			}
		})
	}
}

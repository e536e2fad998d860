// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// DeleteOnly is the phase under which the page shows hooks that run only when
// the application is deleted.
const DeleteOnly = "Delete-only"

// Service is one application or chart, planned.
type Service struct {
	Name string
	Plan *plan.Plan
	// Config tells purposes of objects that do not tell them themselves.
	Config config.Config
}

// Input is what a page is made of.
type Input struct {
	Services []Service
	// Command reproduces the page; Digest identifies what it read.
	Command, Digest string
}

// Page is the waves page as a value.
type Page struct {
	Services []ServicePage `json:"services"`
	// Pattern compares the services; empty with less than two.
	Pattern []Bucket `json:"pattern"`

	phases          []string
	command, digest string
}

// ServicePage is the part of the page about one service.
type ServicePage struct {
	Name string `json:"name"`
	// Rows has one row per object and phase.
	Rows []Row `json:"rows"`

	table  []merged
	remark string
	why    []string
	// leftOut are objects that take no part in a rollout, with the reason.
	leftOut []string
	// problems are what would keep the plan from running.
	problems []string
}

// Row is one object in one phase.
type Row struct {
	// Phase is PreSync, Sync, PostSync, SyncFail or Delete-only.
	Phase     string `json:"phase"`
	Wave      int    `json:"wave"`
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Hook are the hook types as the object has them, empty for an ordinary one.
	Hook           []string `json:"hook"`
	DeletePolicies []string `json:"deletePolicies"`
	Purpose        string   `json:"purpose"`
	// PurposeFrom is annotation, config or inferred; empty without a purpose.
	PurposeFrom string `json:"purposeFrom"`
	File        string `json:"file"`
}

// Where a purpose comes from.
const (
	fromAnnotation = "annotation"
	fromConfig     = "config"
	fromInference  = "inferred"
)

// Build makes the page.
func Build(in Input) *Page {
	page := &Page{Services: []ServicePage{}, Pattern: []Bucket{}, command: in.Command, digest: in.Digest}
	var all []serviceEntries
	for _, s := range in.Services {
		entries := collect(s)
		all = append(all, serviceEntries{name: s.Name, entries: entries})
		sp := ServicePage{
			Name:   s.Name,
			Rows:   make([]Row, 0, len(entries)),
			table:  merge(s.Name, entries),
			remark: remark(s.Name, entries),
			why:    explain(s.Name, s.Plan, entries),
		}
		for _, e := range entries {
			sp.Rows = append(sp.Rows, e.Row)
		}
		for _, n := range s.Plan.Ignored {
			sp.leftOut = append(sp.leftOut, n.Key.Short()+" ("+n.Reason+")")
		}
		for _, f := range s.Plan.Findings {
			if f.Severity == diag.Error {
				sp.problems = append(sp.problems, f.Message)
			}
		}
		page.Services = append(page.Services, sp)
	}
	page.phases = phasesUsed(all)
	if len(all) > 1 {
		page.Pattern = pattern(all)
	}
	return page
}

// allPhases are the phases a page can show, in the order of the page.
func allPhases() []string {
	return []string{string(manifest.PreSync), string(manifest.Sync), string(manifest.PostSync), string(manifest.SyncFail), DeleteOnly}
}

func phaseRank(phase string) int {
	for i, p := range allPhases() {
		if p == phase {
			return i
		}
	}
	return len(allPhases())
}

func phasesUsed(services []serviceEntries) []string {
	used := map[string]bool{}
	for _, s := range services {
		for _, e := range s.entries {
			used[e.Phase] = true
		}
	}
	var list []string
	for _, p := range allPhases() {
		if used[p] {
			list = append(list, p)
		}
	}
	return list
}

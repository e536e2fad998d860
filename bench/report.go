// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a scenario has found.
type Report struct {
	Scenario string `json:"scenario"`
	// Shape says in words what was measured.
	Shape string `json:"shape"`
	// Machine says what it was measured on.
	Machine string   `json:"machine"`
	Figures []Figure `json:"figures"`
}

// Figure is a measured value, beside its floor if it has one.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	// Floor is what a bare client took, FloorName which.
	Floor     float64 `json:"floor,omitempty"`
	FloorName string  `json:"floorName,omitempty"`
	// Ratio is Value to Floor.
	Ratio float64 `json:"ratio,omitempty"`
	// Target is what Ratio, if OfRatio is set, or else Value is compared with.
	Target  *float64 `json:"target,omitempty"`
	OfRatio bool     `json:"targetOfRatio,omitempty"`
	// Sign of the comparison: <=, >= or =.
	Sign string `json:"sign,omitempty"`
	Met  *bool  `json:"met,omitempty"`
}

func newReport(scenario, shape string, args ...any) *Report {
	return &Report{
		Scenario: scenario, Shape: fmt.Sprintf(shape, args...),
		Machine: fmt.Sprintf("%d CPUs, %s/%s, shared with the API server", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH),
	}
}

// bound is a target of a figure.
type bound func(*Figure)

func atMost(limit float64) bound { return func(f *Figure) { f.Target, f.Sign = &limit, "<=" } }

func atLeast(limit float64) bound { return func(f *Figure) { f.Target, f.Sign = &limit, ">=" } }

func exactly(want float64) bound { return func(f *Figure) { f.Target, f.Sign = &want, "=" } }

func ratioAtMost(limit float64) bound {
	return func(f *Figure) { f.Target, f.Sign, f.OfRatio = &limit, "<=", true }
}

func ratioAtLeast(limit float64) bound {
	return func(f *Figure) { f.Target, f.Sign, f.OfRatio = &limit, ">=", true }
}

// add records a value.
func (r *Report) add(name string, value float64, unit string, bounds ...bound) {
	r.beside(name, value, unit, 0, "", bounds...)
}

// beside records a value beside its floor.
func (r *Report) beside(name string, value float64, unit string, floor float64, floorName string, bounds ...bound) {
	f := Figure{Name: name, Value: value, Unit: unit, Floor: floor, FloorName: floorName}
	if floorName != "" && floor > 0 {
		f.Ratio = value / floor
	}
	for _, b := range bounds {
		f.bind(b)
	}
	r.Figures = append(r.Figures, f)
}

// bind gives a figure a target and judges it.
func (f *Figure) bind(b bound) {
	b(f)
	measured := f.Value
	if f.OfRatio {
		measured = f.Ratio
	}
	met := measured == *f.Target
	switch f.Sign {
	case "<=":
		met = measured <= *f.Target
	case ">=":
		met = measured >= *f.Target
	}
	f.Met = &met
}

func (r *Report) missed() bool {
	for _, f := range r.Figures {
		if f.Met != nil && !*f.Met {
			return true
		}
	}
	return false
}

func (r *Report) print(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	fmt.Fprintf(w, "%s: %s\n%s\n\n", r.Scenario, r.Shape, r.Machine)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tVALUE\tFLOOR\tRATIO\tTARGET\tMET")
	for i := range r.Figures {
		f := &r.Figures[i]
		fmt.Fprintln(table, strings.Join([]string{f.Name, amount(f.Value, f.Unit), f.floor(), f.ratio(), f.target(), f.met()}, "\t"))
	}
	return table.Flush()
}

func (f *Figure) floor() string {
	if f.FloorName == "" {
		return "-"
	}
	return f.FloorName + " " + amount(f.Floor, f.Unit)
}

func (f *Figure) ratio() string {
	if f.Ratio == 0 {
		return "-"
	}
	return strconv.FormatFloat(f.Ratio, 'f', 2, 64)
}

func (f *Figure) target() string {
	if f.Target == nil {
		return "-"
	}
	if f.OfRatio {
		return "ratio " + f.Sign + " " + amount(*f.Target, "")
	}
	return f.Sign + " " + amount(*f.Target, f.Unit)
}

func (f *Figure) met() string {
	switch {
	case f.Met == nil:
		return "-"
	case *f.Met:
		return "yes"
	default:
		return "NO"
	}
}

// amount writes a number with three significant digits or, from 100 on, as an
// integer.
func amount(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'g', 3, 64)
	if v >= 100 || v == float64(int64(v)) {
		text = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.TrimSpace(text + " " + unit)
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percentile returns the value below which the share p of the sorted values lies.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(p*float64(len(sorted)-1)+0.5)]
}

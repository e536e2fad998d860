// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/wavetrain/wavetrain/internal/cli/recap"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

// upReport is what was told of the run so far.
type upReport struct {
	// since is when the present rollout began, after the resourceVersion of the
	// last event before it.
	since time.Time
	after uint64
	// told is true when the present rollout was told, broken when the order was
	// not kept in one of them.
	told, broken bool
}

// next begins a report on what happens after the given moments.
func (r *upReport) next(moments []timeline.Moment, now time.Time) {
	r.told, r.since = false, now
	if n := len(moments); n > 0 {
		r.after = moments[n-1].ResourceVersion
	}
}

// record is the form in which --timeline-out is written.
type record struct {
	Start   time.Time         `json:"start"`
	Moments []timeline.Moment `json:"moments"`
	Proofs  []timeline.Proof  `json:"proofs"`
}

// tell prints the timeline and the proof of the present rollout. It fails when
// the order was not kept.
func (u *up) tell() error {
	u.report.told = true
	moments := slices.DeleteFunc(u.recorder.Moments(), func(m timeline.Moment) bool { return m.ResourceVersion <= u.report.after })
	proofs := timeline.Prove(moments)
	if err := u.writeRecord(record{Start: u.report.since, Moments: moments, Proofs: proofs}); err != nil {
		return err
	}
	told := recap.Of(moments, proofs, u.report.since)
	broken := recap.Broken(proofs)
	var err error
	u.show.Print(func() {
		fmt.Fprintf(u.streams.Err, "\nEverything is Synced and Healthy at commit %s, after %.1f s.\n", shortRevision(u.apps.commit), time.Since(u.report.since).Seconds())
		if !told.Empty() {
			fmt.Fprintln(u.streams.Out)
			if err = told.Timeline(u.streams.Out); err != nil {
				return
			}
			fmt.Fprintln(u.streams.Out, "\nThe order, by the resourceVersions of the API server's own events. Each line was created")
			fmt.Fprint(u.streams.Out, "after everything of the line before was done; a Secret exists before what mounts it.\n\n")
			if err = told.Proof(u.streams.Out); err != nil {
				return
			}
		}
		u.conclude(broken)
	})
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		u.report.broken = true
		if u.flags.whenSynced {
			return withCode(exitFailed, nil)
		}
	}
	return nil
}

// conclude says what the proofs amount to, and what can be done next.
func (u *up) conclude(broken []timeline.Proof) {
	w := u.streams.Err
	if len(broken) > 0 {
		fmt.Fprintf(w, "\nTHE ORDER WAS NOT KEPT:\n")
		for _, p := range broken {
			fmt.Fprintf(w, "  %s, %s: %s\n", p.App, p.Gate, p)
		}
	}
	if u.flags.whenSynced {
		return
	}
	kubeconfig := u.sandbox.Kubeconfig()
	if u.flags.kubeconfigOut != "" {
		kubeconfig = u.flags.kubeconfigOut
	}
	fmt.Fprintf(w, `
From another terminal:
  export KUBECONFIG=%s
  wavetrain app list
  kubectl get applications -n %s
Commit a change in %s and it rolls out. Ctrl-C takes everything down.
`, kubeconfig, controller.DefaultNamespace, u.dir)
}

func (u *up) writeRecord(r record) error {
	if u.flags.timelineOut == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(u.flags.timelineOut, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("--timeline-out: %w", err)
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/wavetrain/wavetrain/internal/plan/saved"
	"github.com/wavetrain/wavetrain/internal/report/change"
)

// planFileVersion is the version of the form in which plans are kept and printed.
const planFileVersion = 1

// planFile is a plan as it is kept and printed.
type planFile struct {
	Version   int          `json:"version"`
	Apps      []plannedApp `json:"apps"`
	Unchanged int          `json:"unchanged"`
}

// plannedApp is what happens to one application, and the sync that makes it happen;
// there is none for a plan that nobody can carry out.
type plannedApp struct {
	*change.App
	Sync *plannedSync `json:"sync,omitempty"`
}

// plannedSync is what is needed to carry a plan out.
type plannedSync struct {
	// ID identifies what is in Plan.
	ID string `json:"id"`
	// Prune and Options are the operation's.
	Prune   bool       `json:"prune"`
	Options []string   `json:"options,omitempty"`
	Plan    saved.Plan `json:"plan"`
}

func newPlanFile(apps []*change.App, unchanged int, syncs map[string]plannedSync) planFile {
	f := planFile{Version: planFileVersion, Apps: []plannedApp{}, Unchanged: unchanged}
	for _, app := range apps {
		entry := plannedApp{App: app}
		if sync, ok := syncs[app.Name]; ok {
			entry.Sync = &sync
		}
		f.Apps = append(f.Apps, entry)
	}
	return f
}

func (f planFile) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("keep the plan: %w", err)
	}
	return b.Bytes(), nil
}

// readPlan reads the syncs of a plan that was kept, in their order.
func readPlan(file string) ([]plannedSync, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	var f struct {
		Version int `json:"version"`
		Apps    []struct {
			App  string       `json:"app"`
			Sync *plannedSync `json:"sync"`
		} `json:"apps"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read the plan %s: %w: give a file that `wavetrain plan --out` has written", file, err)
	}
	if f.Version != planFileVersion {
		return nil, fmt.Errorf("read the plan %s: version %d is not known, this program writes version %d: make the plan again", file, f.Version, planFileVersion)
	}
	var list []plannedSync
	for _, app := range f.Apps {
		if app.Sync == nil {
			return nil, fmt.Errorf("read the plan %s: application %q cannot be synced from it: make the plan with `wavetrain plan --app %s --out FILE`", file, app.App, app.App)
		}
		if app.Sync.ID != app.Sync.Plan.ID() {
			return nil, fmt.Errorf("read the plan %s: what it says about application %q was changed by hand: make the plan again", file, app.App)
		}
		list = append(list, *app.Sync)
	}
	return list, nil
}

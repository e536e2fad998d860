// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Shared finds objects that more than one application renders for one cluster.
// The result is by application, in the order of plans.
func Shared(plans []*plan.Plan) map[string][]Finding {
	type place struct {
		server string
		key    manifest.Key
	}
	type rendering struct {
		app  string
		step plan.Step
	}
	at := map[place][]rendering{}
	for _, p := range plans {
		for _, g := range p.Groups {
			for _, s := range g.Steps {
				if s.HookType != "" || s.Untracked || deletes(s.Action) {
					continue
				}
				here := place{p.Server, s.Key}
				at[here] = append(at[here], rendering{p.App, s})
			}
		}
	}
	found := map[string][]Finding{}
	for here, all := range at {
		for i, one := range all {
			j := slices.IndexFunc(all, func(r rendering) bool { return r.app != one.app })
			if j < 0 || slices.ContainsFunc(all[:i], func(r rendering) bool { return r.app == one.app }) {
				continue
			}
			other := all[j]
			f := problem("shared-resource", diag.Warning, "",
				fmt.Sprintf("%s is rendered by %s too: whichever syncs last owns it", here.key.Short(), other.app),
				"render it in one of them, or in an application of its own that comes first")
			if manifest.Digest([]manifest.Object{untracked(one.step)}) != manifest.Digest([]manifest.Object{untracked(other.step)}) {
				f.Severity = diag.Error
				f.Message = fmt.Sprintf("%s is rendered by %s too, and differently: each sync undoes the other's", here.key.Short(), other.app)
			}
			f.Subject, f.At, f.Details = here.key, one.step.Object.Provenance, map[string]string{"other": other.app}
			found[one.app] = append(found[one.app], f)
		}
	}
	for _, list := range found {
		slices.SortFunc(list, compare)
	}
	return found
}

// untracked is a step's object without the mark of its application.
func untracked(s plan.Step) manifest.Object {
	u := s.Object.DeepCopy()
	annotations := u.GetAnnotations()
	delete(annotations, manifest.AnnotationTrackingID)
	u.SetAnnotations(annotations)
	return manifest.Object{Unstructured: u}
}

// Elsewhere is the finding about an Application whose source is not at hand.
func Elsewhere(app manifest.Object, source string) Finding {
	key := app.Key()
	f := problem("source-elsewhere", diag.Info, "spec.source",
		fmt.Sprintf("%s is not looked at: its source %s is not in this repository", key.Short(), source), "verify it where its source lies, or as it is rendered: helm template … | wavetrain verify -")
	f.Subject, f.At = key, app.Provenance
	return f
}

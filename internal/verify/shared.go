// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/diff"
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

// taken finds objects of the cluster that belong to another application, which this
// one would take from it.
func taken(w *world) {
	if w.in.Owners == nil {
		return
	}
	for _, s := range w.stages {
		if s.hook() || s.Untracked || s.Object == nil || deletes(s.Action) {
			continue
		}
		owners := w.in.Owners(s.Key)
		if len(owners) == 0 {
			continue
		}
		others := strings.Join(owners, " and ")
		f := problem("shared-resource", diag.Warning, "",
			fmt.Sprintf("%s belongs to %s in the cluster: this application takes it over", s.Key.Short(), others),
			"render it in one of them, or in an application of its own that comes first")
		if live, _ := w.live(s.Key); live != nil && !within(diff.Normalize(untracked(*s.Step).Unstructured).Object, live.Object) {
			f.Severity = diag.Error
			f.Message = fmt.Sprintf("%s belongs to %s in the cluster, and is different there: each sync undoes the other's", s.Key.Short(), others)
		}
		f.Details = map[string]string{"other": others}
		w.add(s, f)
	}
}

// within reports whether a live value has everything that a rendered one asks for.
func within(asked, live any) bool {
	switch asked := asked.(type) {
	case map[string]any:
		there, ok := live.(map[string]any)
		if !ok {
			return len(asked) == 0
		}
		for key, value := range asked {
			if !within(value, there[key]) {
				return false
			}
		}
		return true
	case []any:
		there, _ := live.([]any)
		return slices.EqualFunc(asked, there, within)
	case nil:
		return true
	}
	return fmt.Sprint(asked) == fmt.Sprint(live)
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

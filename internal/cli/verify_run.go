// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/report/findings"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// verifyAll runs the checks on services that are looked at together: what one of
// them renders, another need not.
func verifyAll(ctx context.Context, services []planned, strays []stray) (apps []string, list []findings.Finding, err error) {
	plans := make([]*plan.Plan, len(services))
	for i, s := range services {
		plans[i] = s.plan
	}
	elsewhere := renderedBy(services)
	shared := verify.Shared(plans)
	definitions := definedBy(plans)
	scanned := map[string]bool{}
	ignored := newIgnored()
	for _, s := range services {
		app := s.plan.App
		apps = append(apps, app)
		external, table, err := s.repo.outside()
		if err != nil {
			return nil, nil, err
		}
		rules, err := rulesOf(ctx, s.repo)
		if err != nil {
			return nil, nil, err
		}
		found := verify.Run(verify.Input{
			Owners: func(k manifest.Key) []string {
				// What is looked at together is compared as it is rendered.
				if slices.ContainsFunc(shared[app], func(f verify.Finding) bool { return f.Subject == k }) {
					return nil
				}
				return s.owners[k]
			},
			Plan: s.plan, Live: s.live, Base: s.base, External: external, Table: table, Rules: rules, Ignores: ignoresOf(s.app),
			Elsewhere: func(k manifest.Key) string { return elsewhere.besides(s.plan, k) },
			Unstable:  s.unstable(), Definitions: definitions.besides(s.plan), Nodes: s.repo.nodes(s.destination()...),
		})
		found = append(found, s.remarks()...)
		found = append(found, shared[app]...)
		found = append(found, s.plaintext(scanned)...)
		own, problems := verify.Suppressions(s.plan, rules)
		kept, unused := verify.Suppress(append(found, problems...), own)
		for _, i := range unused {
			kept = append(kept, verify.Unused(own[i]))
		}
		if kept, err = ignored.apply(s.repo, kept); err != nil {
			return nil, nil, err
		}
		verify.Lines(kept, s.objects, func(file string) []byte {
			// A chart of another repository is not here.
			text, _ := fs.ReadFile(s.repo.files.FS, file)
			return text
		})
		verify.Sort(kept)
		list = append(list, findings.Of(app, kept)...)
	}
	general, err := ignored.general(services)
	if err != nil {
		return nil, nil, err
	}
	byHand, err := ignored.applications(ctx, services, strays)
	if err != nil {
		return nil, nil, err
	}
	general = slices.Concat(byHand, general, ignored.unused())
	return apps, append(list, findings.Of("", general)...), nil
}

// destination are the names by which the cluster of an Application is known.
func (s planned) destination() []string {
	if s.app == nil {
		return nil
	}
	return []string{s.app.Spec.Destination.Name, s.app.Spec.Destination.Server}
}

// remarks are what there is to say about the rendering, besides fields that come out
// differently each time: those are judged with the plan.
func (s planned) remarks() []verify.Finding {
	var found []verify.Finding
	for _, w := range s.warnings {
		if w.Code != render.CodeNondeterministic {
			found = append(found, verify.Finding{Diagnostic: w})
		}
	}
	return found
}

// unstable are the fields that come out differently each time, by the keys that
// their objects have in the plan.
func (s planned) unstable() []verify.UnstableField {
	var list []verify.UnstableField
	for _, r := range s.restless {
		at := r.Object
		for _, g := range s.plan.Groups {
			for _, step := range g.Steps {
				if k := step.Key; k.GroupKind() == at.GroupKind() && k.Name == at.Name && (at.Namespace == "" || at.Namespace == k.Namespace) {
					at = k
				}
			}
		}
		list = append(list, verify.UnstableField{Object: at, Field: r.Field, Cause: r.Cause, GuardedBy: r.GuardedBy})
	}
	return list
}

// definers are the CustomResourceDefinitions of each cluster, by the application that
// brings them.
type definers map[string]map[string]map[schema.GroupKind]*unstructured.Unstructured

func definedBy(plans []*plan.Plan) definers {
	d := definers{}
	for _, p := range plans {
		for _, g := range p.Groups {
			for _, step := range g.Steps {
				if step.Object == nil {
					continue
				}
				gk, ok := manifest.DefinesKind(step.Object.Unstructured)
				if !ok {
					continue
				}
				if d[p.Server] == nil {
					d[p.Server] = map[string]map[schema.GroupKind]*unstructured.Unstructured{}
				}
				if d[p.Server][p.App] == nil {
					d[p.Server][p.App] = map[schema.GroupKind]*unstructured.Unstructured{}
				}
				d[p.Server][p.App][gk] = step.Object.Unstructured
			}
		}
	}
	return d
}

// besides are the definitions that others bring to the cluster of a plan.
func (d definers) besides(p *plan.Plan) map[schema.GroupKind]*unstructured.Unstructured {
	all := map[schema.GroupKind]*unstructured.Unstructured{}
	for _, app := range slices.Sorted(maps.Keys(d[p.Server])) {
		if app != p.App {
			maps.Copy(all, d[p.Server][app])
		}
	}
	return all
}

// renderers knows which service renders what, by cluster.
type renderers map[string]map[manifest.Key][]string

func renderedBy(services []planned) renderers {
	r := renderers{}
	for _, s := range services {
		if r[s.plan.Server] == nil {
			r[s.plan.Server] = map[manifest.Key][]string{}
		}
		at := r[s.plan.Server]
		for _, g := range s.plan.Groups {
			for _, step := range g.Steps {
				if step.Object == nil || step.HookType != "" {
					continue
				}
				at[step.Key] = append(at[step.Key], s.plan.App)
				for _, p := range manifest.Products(step.Object.Unstructured) {
					at[p.Object] = append(at[p.Object], s.plan.App)
				}
			}
		}
	}
	return r
}

func (r renderers) besides(p *plan.Plan, k manifest.Key) string {
	for _, app := range r[p.Server][k] {
		if app != p.App {
			return app
		}
	}
	return ""
}

// plaintext looks for credentials in value files, each once, and in the values
// that the Application itself gives.
func (s planned) plaintext(scanned map[string]bool) []verify.Finding {
	var found []verify.Finding
	for _, file := range s.valueFiles {
		id := filepath.Join(s.repo.dir, file)
		if scanned[id] {
			continue
		}
		scanned[id] = true
		data, err := s.repo.files.ReadFile(file)
		if err != nil {
			// A chart need not have values, and a file that must be there has failed
			// the rendering.
			continue
		}
		found = append(found, verify.Plaintext(file, data)...)
	}
	if s.app == nil {
		return found
	}
	for _, source := range s.app.Spec.EffectiveSources() {
		if source.Helm != nil {
			found = append(found, helmPlaintext(source.Helm, s.file)...)
		}
	}
	return found
}

func helmPlaintext(h *v1alpha1.ApplicationSourceHelm, at manifest.Provenance) []verify.Finding {
	parameters := map[string]string{}
	for _, p := range h.Parameters {
		parameters[p.Name] = p.Value
	}
	data, err := json.Marshal(parameters)
	texts := [][]byte{[]byte(h.Values)}
	if err == nil {
		texts = append(texts, data)
	}
	if h.ValuesObject != nil {
		texts = append(texts, h.ValuesObject.Raw)
	}
	var found []verify.Finding
	for _, text := range texts {
		for _, f := range verify.Plaintext(at.File, text) {
			// Lines of the embedded text mean nothing in the file.
			f.At = at
			found = append(found, f)
		}
	}
	return found
}

// ignored applies verify.ignore of repositories, and knows what of it was used.
type ignored struct {
	byRepo map[*localRepo][]verify.Suppression
	used   map[manifest.Provenance]bool
}

func newIgnored() *ignored {
	return &ignored{byRepo: map[*localRepo][]verify.Suppression{}, used: map[manifest.Provenance]bool{}}
}

func (i *ignored) apply(repo *localRepo, found []verify.Finding) ([]verify.Finding, error) {
	list, ok := i.byRepo[repo]
	if !ok {
		for _, entry := range repo.config.Verify.Ignore {
			s := verify.Suppression{Code: verify.Alias(entry.Code), Path: entry.Path, Reason: entry.Reason, At: manifest.Provenance{File: config.FileName, Line: entry.Line}}
			if entry.Match != "" {
				var err error
				if s.Match, err = manifest.ParsePattern(entry.Match); err != nil {
					return nil, fmt.Errorf("%s:%d: %w", repo.configFile(), entry.Line, err)
				}
			}
			list = append(list, s)
		}
		i.byRepo[repo] = list
	}
	kept, unused := verify.Suppress(found, list)
	for n, s := range list {
		if !slices.Contains(unused, n) {
			i.used[s.At] = true
		}
	}
	return kept, nil
}

// general are the findings about repositories as a whole.
func (i *ignored) general(services []planned) ([]verify.Finding, error) {
	var found []verify.Finding
	seen := map[*localRepo]bool{}
	for _, s := range services {
		if seen[s.repo] {
			continue
		}
		seen[s.repo] = true
		strays, err := layoutOf(s.repo)
		if err != nil {
			return nil, err
		}
		if strays, err = i.apply(s.repo, strays); err != nil {
			return nil, err
		}
		found = append(found, strays...)
	}
	return found, nil
}

// applications are the findings about Applications that no other brings: those that
// are applied by hand, and those that were passed over.
func (i *ignored) applications(ctx context.Context, services []planned, strays []stray) ([]verify.Finding, error) {
	rendered := map[manifest.Key]bool{}
	for _, s := range services {
		for _, o := range s.objects {
			rendered[o.Key()] = true
		}
		strays = append(strays, stray{s.repo, s.written, ""})
	}
	var found []verify.Finding
	for _, s := range strays {
		if s.written.Unstructured == nil {
			continue
		}
		key := s.written.Key()
		var about []verify.Finding
		if !rendered[key] {
			rules, err := rulesOf(ctx, s.repo)
			if err != nil {
				return nil, err
			}
			about = verify.CheckRules(rules, s.written, key)
		}
		if s.source != "" {
			about = append(about, verify.Elsewhere(s.written, s.source))
		}
		about, err := i.apply(s.repo, about)
		if err != nil {
			return nil, err
		}
		found = append(found, about...)
	}
	verify.Sort(found)
	return found, nil
}

func (i *ignored) unused() []verify.Finding {
	var found []verify.Finding
	repos := slices.SortedFunc(maps.Keys(i.byRepo), func(a, b *localRepo) int {
		if a.dir < b.dir {
			return -1
		}
		return 1
	})
	for _, repo := range repos {
		for _, s := range i.byRepo[repo] {
			if !i.used[s.At] {
				found = append(found, verify.Unused(s))
			}
		}
	}
	return found
}

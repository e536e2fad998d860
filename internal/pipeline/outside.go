// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/source"
)

// maxConfig bounds how much of a repository's configuration is read.
const maxConfig = 1 << 20

// readConfig reads what the sources' repositories say that others bring. It is read
// anew each time: it decides what a rollout waits for, not what is rolled out. What
// cannot be read is an error of the plan, as otherwise nothing would be waited for.
func (d *Desired) readConfig(sources []v1alpha1.ApplicationSource, trees []source.Tree, keep bool) {
	seen := map[string]bool{}
	for i, src := range sources {
		id := src.RepoURL + "@" + trees[i].Revision()
		if src.Chart != "" || seen[id] {
			continue
		}
		seen[id] = true
		data, err := fs.ReadFile(trees[i], config.FileName)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && len(data) > maxConfig {
			err = fmt.Errorf("%s of %s is larger than 1 MiB", config.FileName, src.RepoURL)
		}
		var external []manifest.External
		if err == nil {
			if keep {
				d.Configs = append(d.Configs, Config{src.RepoURL, data})
			}
			external, err = config.ParseExternal(config.FileName, data)
		}
		d.External = append(d.External, external...)
		if err == nil {
			continue
		}
		at := manifest.Provenance{File: config.FileName, Source: i}
		if fault, ok := errors.AsType[*manifest.ParseError](err); ok {
			at.Line = fault.Line
		}
		d.Warnings = append(d.Warnings, diag.Diagnostic{
			Code: plan.CodeInvalidNeeds, Severity: diag.Error, At: at,
			Message: err.Error(), Hint: "correct external in " + config.FileName + " of " + src.RepoURL,
		})
	}
}

// outsideKinds are the kinds of what others bring, as far as it is said which: what
// becomes of those objects is seen then.
func outsideKinds(external []manifest.External, objects []manifest.Object) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, e := range external {
		if e.Object.Kind != "" {
			kinds = append(kinds, e.Object.GroupKind())
		}
	}
	for _, o := range objects {
		// What cannot be read is a finding of the plan.
		needs, _ := manifest.Needs(o.Unstructured)
		for _, n := range needs {
			kinds = append(kinds, n.GroupKind())
		}
	}
	return kinds
}

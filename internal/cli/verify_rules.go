// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/script"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// rulesOf compiles the rules of a repository. A rule that cannot be read is an
// error with its line.
func rulesOf(ctx context.Context, repo *localRepo) ([]verify.Rule, error) {
	written := repo.config.Verify.Rules
	if len(written) == 0 {
		return nil, nil
	}
	compiler, err := script.NewCEL()
	if err != nil {
		return nil, err
	}
	list := make([]verify.Rule, len(written))
	for i, r := range written {
		at := fmt.Sprintf("%s:%d", repo.configFile(), r.Line)
		expression, err := compiler.Compile("rule "+r.Name, r.Holds, cel.BoolType)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		list[i] = verify.Rule{Name: r.Name, Severity: severityOf(r), Path: r.Path, Message: r.Message, Holds: func(object map[string]any) (bool, error) {
			value, err := expression.Eval(ctx, object)
			if err != nil {
				return false, err
			}
			holds, ok := value.(bool)
			if !ok {
				return false, errors.New("the expression yields neither true nor false")
			}
			return holds, nil
		}}
		if r.Match == "" {
			continue
		}
		if list[i].Match, err = manifest.ParsePattern(r.Match); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	return list, nil
}

// layoutOf compares where things lie with what the repository says about it.
func layoutOf(repo *localRepo) ([]verify.Finding, error) {
	layouts := repo.config.Verify.Layout
	if len(layouts) == 0 {
		return nil, nil
	}
	var found []verify.Finding
	err := fs.WalkDir(repo.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" && ext != ".json" {
			return nil
		}
		var objects []manifest.Object
		for _, l := range layouts {
			layout := verify.Layout{Path: l.Path, Only: l.Only, Reason: l.Reason}
			if !verify.MatchPath(l.Path, name) {
				continue
			}
			if objects == nil {
				data, err := repo.files.ReadFile(name)
				if err != nil {
					return err
				}
				if objects, err = manifest.Decode(name, data); err != nil {
					return err
				}
			}
			found = append(found, layout.Check(name, objects)...)
		}
		return nil
	})
	return found, err
}

// testReference runs the tests of a row of the repository's table of references.
func testReference(s Streams, row manifest.Mention, written config.Reference) (ran, failed int) {
	for n, test := range written.Tests {
		name := cmp.Or(test.Name, fmt.Sprintf("test %d", n+1))
		u := &unstructured.Unstructured{Object: maps.Clone(test.Object)}
		if u.Object == nil {
			u.Object = map[string]any{}
		}
		u.SetGroupVersionKind(row.Of.WithVersion("v1"))
		got := []string{}
		for _, key := range row.Targets(u) {
			if key.Namespace != "" && key.Namespace != u.GetNamespace() {
				got = append(got, key.Kind+"/"+key.Namespace+"/"+key.Name)
			} else {
				got = append(got, key.Short())
			}
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(test.Finds))
		ran++
		at := written.Kind + " " + written.Path
		if slices.Equal(got, want) {
			fmt.Fprintf(s.Out, "ok    %s: %s\n", at, name)
			continue
		}
		failed++
		fmt.Fprintf(s.Out, "FAIL  %s: %s: finds %s, want %s\n", at, name, listed(got), listed(want))
	}
	return ran, failed
}

func listed(names []string) string { return cmp.Or(strings.Join(names, ", "), "nothing") }

// testRules runs the tests of the repositories' rules and references.
func testRules(ctx context.Context, s Streams, inputs []string) error {
	collector := newWavesCollector(wavesArguments{}, s.In)
	failed, ran := 0, 0
	for _, in := range inputs {
		repo, err := collector.repo(in)
		if err != nil {
			return err
		}
		rules, err := rulesOf(ctx, repo)
		if err != nil {
			return err
		}
		_, table, err := repo.outside()
		if err != nil {
			return err
		}
		for i := range table {
			more, wrong := testReference(s, table[i], repo.config.References[i])
			ran, failed = ran+more, failed+wrong
		}
		for i, rule := range rules {
			for n, test := range repo.config.Verify.Rules[i].Tests {
				ran++
				name := test.Name
				if name == "" {
					name = fmt.Sprintf("test %d", n+1)
				}
				holds, err := rule.Holds(test.Object)
				switch {
				case err != nil:
					failed++
					fmt.Fprintf(s.Out, "FAIL  %s: %s: %v\n", rule.Name, name, err)
				case holds != test.Holds:
					failed++
					fmt.Fprintf(s.Out, "FAIL  %s: %s: holds is %v, want %v\n", rule.Name, name, holds, test.Holds)
				default:
					fmt.Fprintf(s.Out, "ok    %s: %s\n", rule.Name, name)
				}
			}
		}
	}
	fmt.Fprintf(s.Out, "%d tests, %d failed\n", ran, failed)
	if failed > 0 {
		return withCode(exitFailed, nil)
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/trace"
	"github.com/wavetrain/wavetrain/internal/render/tree"
)

// maxValues bounds the value files of one chart.
const maxValues = 16 << 20

// layer is one of the places that set values.
type layer struct {
	name   string
	values map[string]any
}

// merged are the values that a source gives to its chart, and how they came about.
type merged struct {
	values map[string]any
	// layers from the weakest to the strongest.
	layers []layer
	// dropped are the names of value files for which there is no file.
	dropped []string
}

func (m *merged) add(name string, values map[string]any) {
	m.layers = append(m.layers, layer{name, values})
	m.values = loader.MergeMaps(m.values, values)
}

// mergeValues puts the values of a source together, from the weakest to the
// strongest: value files in order, inline values, parameters, file parameters.
func mergeValues(ctx context.Context, in Input) (*merged, error) {
	r := valueReader{ctx: ctx, in: in, budget: tree.Budget{Limit: maxValues}}
	m := &merged{values: map[string]any{}}
	for _, name := range in.Options.ValueFiles {
		files, err := r.find(name)
		if missing, ok := errors.AsType[*missingFileError](err); ok {
			m.dropped = append(m.dropped, missing.name)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			more, err := r.load(f)
			if err != nil {
				return nil, err
			}
			m.add(f.shown, more)
		}
	}
	if len(m.dropped) > 0 && !in.Options.IgnoreMissingValueFiles {
		return nil, missingFault(m.dropped)
	}
	inline, field, err := inlineValues(in.Options)
	if err != nil {
		return nil, err
	}
	m.add(field, inline)
	return m, r.setParameters(m)
}

// missingFileError is the error when a value file's name stands for no file.
type missingFileError struct{ name string }

func (e *missingFileError) Error() string { return e.name + " does not exist" }

func missingFault(names []string) error {
	if len(names) == 1 {
		return fmt.Errorf("value file %s does not exist (set helm.ignoreMissingValueFiles if it need not)", names[0])
	}
	return fmt.Errorf("value files %s do not exist (set helm.ignoreMissingValueFiles if they need not)", strings.Join(names, ", "))
}

func inlineValues(options v1alpha1.ApplicationSourceHelm) (values map[string]any, field string, err error) {
	text, field := options.Values, "helm.values"
	if options.ValuesObject != nil && len(options.ValuesObject.Raw) > 0 {
		text, field = string(options.ValuesObject.Raw), "helm.valuesObject"
	}
	if values, err = loader.LoadValues(strings.NewReader(text)); err != nil {
		return nil, field, fmt.Errorf("%s: %w", field, oneLine(err))
	}
	return values, field, nil
}

// valueFile is a file and the tree it is read from; one from another host has no
// tree and its content at once.
type valueFile struct {
	files   fs.FS
	path    string
	content []byte
	// shown is the path as messages name it.
	shown string
}

type valueReader struct {
	ctx    context.Context
	in     Input
	budget tree.Budget
}

func (r *valueReader) load(f valueFile) (map[string]any, error) {
	data := f.content
	if f.files != nil {
		var err error
		if data, err = r.budget.Read(f.files, f.path); err != nil {
			return nil, err
		}
	}
	values, err := loader.LoadValues(bytes.NewReader(data))
	if err != nil {
		return nil, valuesFault(f.shown, err)
	}
	return values, nil
}

// splitRef takes "$ref/path" apart.
func splitRef(name string) (ref, rest string, ok bool) {
	if !strings.HasPrefix(name, "$") {
		return "", "", false
	}
	ref, rest, ok = strings.Cut(name[1:], "/")
	return ref, rest, ok
}

// find lists the files that a value file's name stands for: one, or those that
// match a glob.
func (r *valueReader) find(written string) ([]valueFile, error) {
	files, dir, shown, name := r.in.Files, r.in.Path, "", written
	if ref, rest, ok := splitRef(written); ok && r.in.Refs[ref] != nil {
		files, dir, shown, name = r.in.Refs[ref], ".", "$"+ref+"/", "/"+rest
	} else if ok && !isVariable(ref) {
		return nil, fmt.Errorf("value file %s: no source of this application has the ref %q", written, ref)
	}
	name = r.in.Expand(name)
	if strings.Contains(name, "://") {
		return r.fetch(name)
	}
	full, err := tree.Resolve(dir, name)
	if err != nil {
		return nil, fmt.Errorf("value file %w", err)
	}
	matches := []string{full}
	if strings.ContainsAny(name, "*?[{") {
		if matches, err = doublestar.Glob(files, full, doublestar.WithFilesOnly()); err != nil {
			return nil, fmt.Errorf("value file %s: %w", written, err)
		}
		slices.SortFunc(matches, filesFirst)
	} else if _, err := fs.Stat(files, full); errors.Is(err, fs.ErrNotExist) {
		matches = nil
	}
	if len(matches) == 0 {
		return nil, &missingFileError{shown + full}
	}
	found := make([]valueFile, 0, len(matches))
	for _, m := range matches {
		found = append(found, valueFile{files: files, path: m, shown: shown + m})
	}
	return found, nil
}

// fetch reads a file from another host, if that is allowed.
func (r *valueReader) fetch(url string) ([]valueFile, error) {
	if r.in.Fetch == nil {
		scheme, _, _ := strings.Cut(url, "://")
		return nil, fmt.Errorf("value file %s: files are read from the repository only, not by %s", url, scheme)
	}
	content, err := r.in.Fetch(r.ctx, url)
	if err != nil {
		return nil, fmt.Errorf("value file %s: %w", url, err)
	}
	if int64(len(content)) > r.budget.Limit {
		return nil, fmt.Errorf("value file %s is larger than %d MiB", url, r.budget.Limit>>20)
	}
	r.in.Trace.Answered(string(content), trace.Fetch, url)
	return []valueFile{{content: content, path: url, shown: url}}, nil
}

// filesFirst orders paths: a directory's own files come before those of its
// subdirectories, each in lexical order.
func filesFirst(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(x), len(y)) {
		lastX, lastY := i == len(x)-1, i == len(y)-1
		switch {
		case lastX != lastY && lastX:
			return -1
		case lastX != lastY:
			return 1
		case x[i] != y[i]:
			return strings.Compare(x[i], y[i])
		}
	}
	return 0
}

func isVariable(name string) bool { return strings.HasPrefix(strings.Trim(name, "{}"), "ARGOCD_") }

// setParameters applies parameters as --set, --set-string and --set-file do, in
// this order, whatever order they are written in. Of two parameters of one
// name the last counts.
func (r *valueReader) setParameters(m *merged) error {
	set := map[string]any{}
	for _, forced := range []bool{false, true} {
		for i, p := range r.in.Options.Parameters {
			if p.ForceString != forced || overridden(r.in.Options.Parameters, i) {
				continue
			}
			parse := strvals.ParseInto
			if forced {
				parse = strvals.ParseIntoString
			}
			assignment := p.Name + "=" + escapeCommas(r.in.Expand(p.Value))
			if err := errors.Join(parse(assignment, m.values), parse(assignment, set)); err != nil {
				return fmt.Errorf("helm.parameters: %s: %w", p.Name, oneLine(err))
			}
		}
	}
	m.layers = append(m.layers, layer{"helm.parameters", set})
	set = map[string]any{}
	for _, p := range r.in.Options.FileParameters {
		content, err := r.fileParameter(p)
		if err != nil {
			return err
		}
		read := func([]rune) (any, error) { return content, nil }
		assignment := p.Name + "=" + path.Base(p.Path)
		if err := errors.Join(strvals.ParseIntoFile(assignment, m.values, read), strvals.ParseIntoFile(assignment, set, read)); err != nil {
			return fmt.Errorf("helm.fileParameters: %s: %w", p.Name, oneLine(err))
		}
	}
	m.layers = append(m.layers, layer{"helm.fileParameters", set})
	return nil
}

func (r *valueReader) fileParameter(p v1alpha1.HelmFileParameter) (string, error) {
	files, err := r.find(p.Path)
	if err != nil {
		return "", fmt.Errorf("helm.fileParameters: %s: %w", p.Name, err)
	}
	if len(files) != 1 {
		return "", fmt.Errorf("helm.fileParameters: %s: %s names %d files, must name one", p.Name, p.Path, len(files))
	}
	if files[0].files == nil {
		return string(files[0].content), nil
	}
	data, err := r.budget.Read(files[0].files, files[0].path)
	return string(data), err
}

// overridden reports whether a later parameter of the same kind has the i-th
// one's name.
func overridden(list []v1alpha1.HelmParameter, i int) bool {
	return slices.ContainsFunc(list[i+1:], func(p v1alpha1.HelmParameter) bool {
		return p.Name == list[i].Name && p.ForceString == list[i].ForceString
	})
}

// escapeCommas keeps a comma inside a value from starting the next assignment.
// Lists in braces and commas that are escaped already stay as they are.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	for i := range len(value) {
		if value[i] == ',' && (i == 0 || value[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// valuesFault gives a broken value file the form file:line where the YAML
// library tells the line.
func valuesFault(file string, err error) error {
	msg := oneLine(err).Error()
	if _, rest, ok := strings.Cut(msg, "yaml: line "); ok {
		var line int
		var text string
		if n, _ := fmt.Sscanf(rest, "%d:", &line); n == 1 {
			_, text, _ = strings.Cut(rest, ": ")
			return &manifest.ParseError{File: file, Line: line, Msg: "invalid YAML: " + text}
		}
	}
	return &manifest.ParseError{File: file, Msg: msg}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/wavetrain/wavetrain/internal/render/tree"
)

// loaded is a chart with the place of each of its files in the repository.
type loaded struct {
	chart  *chart.Chart
	origin map[*common.File]string
}

// load reads a chart directory. Subcharts are loaded one by one instead of
// leaving them to Helm, because Helm forgets which file a template came from.
func load(files fs.FS, dir string) (*loaded, error) {
	if _, err := fs.Stat(files, path.Join(dir, "Chart.yaml")); err != nil {
		return nil, errors.New("Chart.yaml is missing")
	}
	rules, err := ignoreRules(files, dir)
	if err != nil {
		return nil, err
	}
	budget := tree.Budget{Limit: archive.MaxDecompressedChartSize}
	var buffered []*archive.BufferedFile
	err = tree.Walk(files, dir, rules.Ignore, func(f tree.File) error {
		if rules.Ignore(f.Rel, f.Info) {
			return nil
		}
		data, err := budget.Read(files, f.Path)
		if err != nil {
			return err
		}
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		buffered = append(buffered, &archive.BufferedFile{Name: f.Rel, Data: data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	c := &loaded{origin: map[*common.File]string{}}
	if c.chart, err = c.build(buffered, dir); err != nil {
		return nil, err
	}
	return c, c.addNeighbours(files, dir)
}

// addNeighbours adds dependencies that Chart.yaml finds in a directory of the
// same repository ("file://../base") and that nobody has copied to charts/.
func (c *loaded) addNeighbours(files fs.FS, dir string) error {
	for _, d := range c.chart.Metadata.Dependencies {
		rel, local := strings.CutPrefix(d.Repository, "file://")
		if !local || slices.ContainsFunc(c.chart.Dependencies(), func(sub *chart.Chart) bool { return sub.Name() == d.Name }) {
			continue
		}
		at, err := tree.Resolve(dir, rel)
		if err != nil {
			return fmt.Errorf("dependency %s: %w", d.Name, err)
		}
		if at == dir || strings.HasPrefix(dir+"/", at+"/") {
			return fmt.Errorf("dependency %s: %s contains the chart itself", d.Name, d.Repository)
		}
		sub, err := load(files, at)
		if err != nil {
			return fmt.Errorf("dependency %s in %s: %w", d.Name, at, err)
		}
		maps.Copy(c.origin, sub.origin)
		c.chart.AddDependency(sub.chart)
	}
	return nil
}

func ignoreRules(files fs.FS, dir string) (*ignore.Rules, error) {
	rules := ignore.Empty()
	data, err := fs.ReadFile(files, path.Join(dir, ignore.HelmIgnore))
	if err == nil {
		if rules, err = ignore.Parse(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
	}
	rules.AddDefaults()
	return rules, nil
}

// build makes a chart of its files, dir being where they stand.
func (c *loaded) build(files []*archive.BufferedFile, dir string) (*chart.Chart, error) {
	var own []*archive.BufferedFile
	var order []string
	subcharts := map[string][]*archive.BufferedFile{}
	for _, f := range files {
		rest, inCharts := strings.CutPrefix(f.Name, "charts/")
		name, inner, isDir := strings.Cut(rest, "/")
		switch {
		case !inCharts || path.Ext(rest) == ".prov":
			own = append(own, f)
			continue
		case name == "" || name[0] == '_' || name[0] == '.':
			continue
		case !isDir && path.Ext(name) != ".tgz":
			continue // a stray file such as charts/README.md
		}
		if subcharts[name] == nil {
			order = append(order, name)
		}
		subcharts[name] = append(subcharts[name], &archive.BufferedFile{Name: inner, Data: f.Data})
	}
	ch, err := loader.LoadFiles(own)
	if err != nil {
		return nil, oneLine(err)
	}
	for _, list := range [][]*common.File{ch.Templates, ch.Files} {
		for _, f := range list {
			c.origin[f] = path.Join(dir, f.Name)
		}
	}
	for _, name := range order {
		sub, err := c.subchart(name, subcharts[name], path.Join(dir, "charts", name))
		if err != nil {
			return nil, fmt.Errorf("subchart charts/%s: %w", name, err)
		}
		ch.AddDependency(sub)
	}
	return ch, nil
}

func (c *loaded) subchart(name string, files []*archive.BufferedFile, dir string) (*chart.Chart, error) {
	if path.Ext(name) != ".tgz" {
		return c.build(files, dir)
	}
	unpacked, err := archive.LoadArchiveFiles(bytes.NewReader(files[0].Data))
	if err != nil {
		return nil, err
	}
	return c.build(unpacked, dir)
}

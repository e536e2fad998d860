// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
)

// maxIndex bounds the index of a Helm repository. The largest public ones have
// some thirty megabytes.
const maxIndex = 512 << 20

// maxEntry bounds what the index says of one chart.
const maxEntry = 32 << 20

// index is the index.yaml of a Helm repository, on disk. Only where each chart
// stands in it is in memory.
type index struct {
	file   string
	digest string
	json   bool
	charts map[string]span

	mu     sync.Mutex
	parsed map[string][]chartVersion
}

// span is a part of a file.
type span struct{ from, to int64 }

// chartVersion is what the index says of one version of a chart.
type chartVersion struct {
	Version string   `json:"version" yaml:"version"`
	URLs    []string `json:"urls" yaml:"urls"`
	Digest  string   `json:"digest" yaml:"digest"`
}

// readIndex finds the charts in an index file, reading it once from front to end.
func readIndex(file, digest string) (*index, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	ix := &index{file: file, digest: digest, charts: map[string]span{}, parsed: map[string][]chartVersion{}}
	buffered := bufio.NewReaderSize(f, 64<<10)
	first, err := buffered.Peek(1)
	if err != nil {
		return nil, errors.New("the index is empty")
	}
	if ix.json = first[0] == '{'; ix.json {
		err = ix.scanJSON(buffered)
	} else {
		err = ix.scanYAML(buffered)
	}
	if err != nil {
		return nil, err
	}
	return ix, nil
}

// scanYAML looks for the keys of "entries" by their indentation: everything that
// belongs to a chart stands deeper than its name, or is an item of its list.
func (ix *index) scanYAML(r *bufio.Reader) error {
	var at int64
	name, from, depth, inside := "", int64(0), -1, false
	finish := func(to int64) {
		if name != "" {
			ix.charts[name] = span{from, to}
		}
		name = ""
	}
	for {
		line, err := r.ReadString('\n')
		if line == "" && errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		start := at
		at += int64(len(line))
		text := strings.TrimRight(line, " \r\n")
		trimmed := strings.TrimLeft(text, " ")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		indent := len(text) - len(trimmed)
		item := strings.HasPrefix(trimmed, "- ") || trimmed == "-"
		switch {
		case indent == 0 && !item:
			finish(start)
			if inside, err = beginsEntries(text); err != nil {
				return err
			}
			depth = -1
		case inside && (depth < 0 || indent == depth) && !item:
			key, ok := strings.CutSuffix(trimmed, ":")
			if !ok {
				return fmt.Errorf("line %q is not the name of a chart", trimmed)
			}
			finish(start)
			depth, name, from = indent, strings.Trim(key, "\"'"), start
		}
	}
	finish(at)
	return nil
}

// beginsEntries tells whether a line at the left edge begins the charts.
func beginsEntries(text string) (bool, error) {
	rest, ok := strings.CutPrefix(text, "entries:")
	if rest = strings.TrimSpace(rest); ok && rest != "" && rest != "{}" {
		return false, errors.New("its entries are not written as a block, one chart after another")
	}
	return ok && rest == "", nil
}

func (ix *index) scanJSON(r io.Reader) error {
	dec := json.NewDecoder(r)
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if key != "entries" {
			var skipped json.RawMessage
			if err := dec.Decode(&skipped); err != nil {
				return err
			}
			continue
		}
		if _, err := dec.Token(); err != nil {
			return err
		}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				return err
			}
			to := dec.InputOffset()
			ix.charts[fmt.Sprint(name)] = span{to - int64(len(value)), to}
		}
		if _, err := dec.Token(); err != nil {
			return err
		}
	}
	return nil
}

// versions returns what the index says of a chart.
func (ix *index) versions(chart string) ([]chartVersion, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if known, ok := ix.parsed[chart]; ok {
		return known, nil
	}
	at, ok := ix.charts[chart]
	if !ok {
		return nil, fmt.Errorf("it has no chart of this name among %d: %w", len(ix.charts), ErrNoRevision)
	}
	if at.to-at.from > maxEntry {
		return nil, fmt.Errorf("what its index says of the chart is larger than %d MiB", maxEntry>>20)
	}
	f, err := os.Open(ix.file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, at.to-at.from)
	if _, err := f.ReadAt(data, at.from); err != nil {
		return nil, err
	}
	var list []chartVersion
	if ix.json {
		err = json.Unmarshal(data, &list)
	} else {
		var block map[string][]chartVersion
		err = yaml.Unmarshal(data, &block)
		for _, found := range block {
			list = found
		}
	}
	if err != nil {
		return nil, fmt.Errorf("its index cannot be read: %w", err)
	}
	ix.parsed[chart] = list
	return list, nil
}

// choose finds the version that a constraint names: the one that is written so, or
// else the highest that it allows.
func choose(versions []chartVersion, wanted string) (chartVersion, error) {
	names := make([]string, len(versions))
	for i, v := range versions {
		if v.Version == wanted {
			return v, nil
		}
		names[i] = v.Version
	}
	best, err := chooseVersion(names, wanted)
	if err != nil {
		return chartVersion{}, err
	}
	for _, v := range versions {
		if v.Version == best {
			return v, nil
		}
	}
	return chartVersion{}, err
}

// chooseVersion is the highest version that a constraint allows.
func chooseVersion(versions []string, wanted string) (string, error) {
	constraint, err := semver.NewConstraint(wanted)
	if err != nil {
		return "", fmt.Errorf("it has no version %q, and that is no constraint: %w", wanted, ErrNoRevision)
	}
	best, ok := highest(constraint, versions, "")
	if !ok {
		return "", fmt.Errorf("none of its %d versions is %s: %w", len(versions), wanted, ErrNoRevision)
	}
	return best, nil
}

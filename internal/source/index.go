// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bufio"
	"bytes"
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
		line, length, err := readLine(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		start := at
		at += length
		text := bytes.TrimRight(line, " \r\n")
		trimmed := bytes.TrimLeft(text, " ")
		if len(trimmed) == 0 || trimmed[0] == '#' {
			continue
		}
		indent := len(text) - len(trimmed)
		item := isItem(trimmed)
		switch {
		case indent == 0 && !item:
			finish(start)
			if inside, err = beginsEntries(string(text)); err != nil {
				return err
			}
			depth = -1
		case inside && (depth < 0 || indent == depth) && !item:
			key, ok := strings.CutSuffix(string(trimmed), ":")
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

func isItem(text []byte) bool {
	return text[0] == '-' && (len(text) == 1 || text[1] == ' ')
}

// readLine returns the beginning of the next line, as much as is buffered, and how
// long it is. The bytes are good until the next call.
func readLine(r *bufio.Reader) (line []byte, length int64, err error) {
	line, err = r.ReadSlice('\n')
	length = int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		// Whatever is so long is no name of a chart.
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			var rest []byte
			rest, err = r.ReadSlice('\n')
			length += int64(len(rest))
		}
	}
	if errors.Is(err, io.EOF) && length > 0 {
		err = nil
	}
	return line, length, err
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
			if err := skipValue(dec); err != nil {
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
			from := dec.InputOffset()
			if err := skipValue(dec); err != nil {
				return err
			}
			ix.charts[fmt.Sprint(name)] = span{from, dec.InputOffset()}
		}
		if _, err := dec.Token(); err != nil {
			return err
		}
	}
	return nil
}

// skipValue passes over a value without having all of it in memory.
func skipValue(dec *json.Decoder) error {
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
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
	part := io.NewSectionReader(f, at.from, at.to-at.from)
	var list []chartVersion
	if ix.json {
		list, err = versionsInJSON(part)
	} else {
		list, err = versionsInYAML(part)
	}
	if err != nil {
		return nil, fmt.Errorf("its index cannot be read: %w", err)
	}
	ix.parsed[chart] = list
	return list, nil
}

// versionsInJSON reads what follows the name of a chart, version by version.
func versionsInJSON(part io.Reader) ([]chartVersion, error) {
	r := bufio.NewReader(part)
	if _, err := r.ReadString(':'); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(r)
	if begin, err := dec.Token(); err != nil || begin == nil {
		return nil, err
	} else if begin != json.Delim('[') {
		return nil, fmt.Errorf("%v is no list of versions", begin)
	}
	var list []chartVersion
	for dec.More() {
		var v chartVersion
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// maxWhole is how much the index may say of a chart to be read in one piece, which
// takes twenty times as much memory.
const maxWhole = 1 << 20

// versionsInYAML reads the name of a chart and the list below it, version by version:
// each begins with a dash in the column of the first.
func versionsInYAML(part *io.SectionReader) ([]chartVersion, error) {
	if part.Size() <= maxWhole {
		var block map[string][]chartVersion
		if err := yaml.NewDecoder(part).Decode(&block); err != nil {
			return nil, err
		}
		for _, list := range block {
			return list, nil
		}
	}
	var list []chartVersion
	var item bytes.Buffer
	add := func() error {
		var one []chartVersion
		err := yaml.Unmarshal(item.Bytes(), &one)
		list = append(list, one...)
		item.Reset()
		return err
	}
	column := -1
	lines := bufio.NewReader(part)
	if _, err := lines.ReadBytes('\n'); err != nil {
		return nil, err
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		text := bytes.TrimRight(bytes.TrimLeft(line, " "), "\r\n")
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		if len(text) > 0 && isItem(text) && (column < 0 || indent == column) {
			column = indent
			if err := add(); err != nil {
				return nil, err
			}
		}
		item.Write(line)
		if err != nil {
			return list, add()
		}
	}
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

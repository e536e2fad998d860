// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// addStdin adds rendered manifests from standard input. "helm template" writes
// in front of each the template it comes from, which is taken for its file.
func (c *wavesCollector) addStdin() error {
	data, err := io.ReadAll(c.stdin)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	sum := sha256.Sum256(data)
	c.piped = hex.EncodeToString(sum[:])
	objects, err := decodePiped(data)
	if err != nil {
		return err
	}
	repo, err := c.repo(".")
	if err != nil {
		return err
	}
	name := c.args.release
	if name == "" {
		name = instanceOf(objects)
	}
	return c.plan(name, c.namespaceOr(defaultNamespace), objects, planned{repo: repo})
}

// decodePiped decodes a stream document by document.
func decodePiped(data []byte) ([]manifest.Object, error) {
	const pipe = "stdin"
	var objects []manifest.Object
	var doc bytes.Buffer
	start, line := 1, 0
	flush := func() error {
		file, chart := sourceOf(doc.Bytes())
		decoded, _, err := manifest.DecodeTolerant(pipe, doc.Bytes())
		if fault, ok := errors.AsType[*manifest.ParseError](err); ok {
			return &manifest.ParseError{File: pipe, Line: fault.Line + start - 1, Msg: fault.Msg}
		}
		for _, o := range decoded {
			o.Provenance.Line += start - 1
			if file != "" {
				o.Provenance = manifest.Provenance{File: file, Chart: chart}
			}
			objects = append(objects, o)
		}
		doc.Reset()
		return err
	}
	in := bufio.NewReader(bytes.NewReader(data))
	for {
		text, err := in.ReadString('\n')
		line++
		if text == "---\n" || strings.HasPrefix(text, "--- ") {
			if err := flush(); err != nil {
				return nil, err
			}
			start = line
		}
		doc.WriteString(text)
		if errors.Is(err, io.EOF) {
			return objects, flush()
		}
	}
}

// sourceOf reads "# Source: chart/charts/sub/templates/x.yaml" in front of a
// document: the template, and the chart it belongs to.
func sourceOf(doc []byte) (file, chart string) {
	for text := range strings.Lines(string(doc)) {
		text = strings.TrimSpace(text)
		if rest, ok := strings.CutPrefix(text, "# Source: "); ok {
			parts := strings.Split(rest, "/")
			for i, p := range parts {
				if p == "templates" || p == "crds" {
					parts = parts[:i]
					break
				}
			}
			charts := slices.DeleteFunc(parts, func(p string) bool { return p == "charts" })
			return rest, strings.Join(charts, "/")
		}
		if text != "" && text != "---" && !strings.HasPrefix(text, "#") {
			break
		}
	}
	return "", ""
}

// instanceOf is the release that most objects name as theirs.
func instanceOf(objects []manifest.Object) string {
	counts := map[string]int{}
	best := "stdin"
	for _, o := range objects {
		name := o.GetLabels()["app.kubernetes.io/instance"]
		if name == "" {
			continue
		}
		counts[name]++
		if counts[name] > counts[best] || counts[name] == counts[best] && name < best {
			best = name
		}
	}
	return best
}

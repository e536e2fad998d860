// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// isManifest tells whether Helm takes a rendered template for manifests: not
// the notes, not partials.
func isManifest(name string) bool {
	base := path.Base(name)
	return !strings.HasSuffix(base, "NOTES.txt") && !strings.HasPrefix(base, "_")
}

// parted breaks the line where Helm parts documents in front of text on the same
// line, which YAML would not allow.
func parted(text string) string {
	var out strings.Builder
	rest := text
	for at := 0; at < len(rest); {
		line, _, whole := strings.Cut(rest[at:], "\n")
		if after, separates := strings.CutPrefix(line, "---"); separates {
			if after = strings.TrimLeft(after, " \t"); after != "" {
				out.WriteString(rest[:at] + "---\n")
				rest, at = rest[at+len(line)-len(after):], 0
				line = after
			}
		}
		if at += len(line); whole {
			at++
		}
	}
	if out.Len() == 0 {
		return text
	}
	return out.String() + rest
}

// decodeOutput decodes what a template made.
func decodeOutput(file, text string) ([]manifest.Object, []*manifest.ParseError, error) {
	objects, repeated, err := manifest.DecodeTolerant(file, []byte(parted(text)))
	if fault, ok := errors.AsType[*manifest.ParseError](err); ok {
		return nil, nil, &manifest.ParseError{File: file, Msg: fmt.Sprintf("line %d of its output: %s", fault.Line, fault.Msg)}
	}
	return objects, repeated, err
}

// emitted tells whether "helm template" prints an object: it drops hooks of a
// type it does not know, and tests if asked to.
func emitted(o manifest.Object, skipTests bool) bool {
	value, isHook := o.GetAnnotations()[manifest.AnnotationHelmHook]
	if !isHook {
		return true
	}
	for t := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.TrimSpace(t)) {
		case "pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback":
		case "test", "test-success":
			if skipTests {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// withoutRemoteSchemas takes away value schemas that refer to other files or
// to the network, since rendering reads nothing but the repository. Values are
// then not checked, which changes no rendered object.
func (c *loaded) withoutRemoteSchemas() []diag.Diagnostic {
	var warnings []diag.Diagnostic
	var visit func(*chart.Chart)
	visit = func(ch *chart.Chart) {
		if ref := remoteReference(ch.Schema); ref != "" {
			ch.Schema = nil
			warnings = append(warnings, diag.Diagnostic{
				Code: "schema-not-checked", Severity: diag.Info,
				Message: fmt.Sprintf("chart %s: values.schema.json refers to %s, which is not fetched: the values were not checked", ch.Name(), ref),
				Hint:    "copy what the schema refers to into the schema",
			})
		}
		for _, d := range ch.Dependencies() {
			visit(d)
		}
	}
	visit(c.chart)
	return warnings
}

// remoteReference returns a "$ref" that leaves the schema, or nothing.
func remoteReference(schema []byte) string {
	var content any
	if len(schema) == 0 || json.Unmarshal(schema, &content) != nil {
		return ""
	}
	return referenceIn(content)
}

func referenceIn(v any) string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if ref := referenceIn(item); ref != "" {
				return ref
			}
		}
	case map[string]any:
		for _, key := range []string{"$ref", "$dynamicRef"} {
			if ref, ok := v[key].(string); ok && !strings.HasPrefix(ref, "#") {
				return ref
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if ref := referenceIn(v[key]); ref != "" {
				return ref
			}
		}
	}
	return ""
}

// location is how Helm's engine writes a place: template, line, column.
var location = regexp.MustCompile(`([^\s():]+/(?:templates|charts)/[^\s():]+):(\d+)(?::\d+)?`)

// templateFault turns the engine's many-line error into one line at the
// innermost place it names, with the place that led there.
func (c *loaded) templateFault(err error) error {
	text := err.Error()
	found := location.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return oneLine(err)
	}
	inner, outer := found[len(found)-1], found[0]
	fault := &manifest.ParseError{File: c.fileOf(inner[1]), Msg: engineMessage(text)}
	fault.Line, _ = strconv.Atoi(inner[2])
	if inner[0] != outer[0] {
		fault.Msg += fmt.Sprintf(" (included from %s:%s)", c.fileOf(outer[1]), outer[2])
	}
	return fault
}

func (c *loaded) fileOf(template string) string {
	if p, ok := c.places()[template]; ok && p.file != "" {
		return p.file
	}
	return template
}

// engineMessage takes the message proper out of the engine's error.
func engineMessage(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	for _, intro := range []string{"parse error at (", "execution error at ("} {
		if rest, ok := strings.CutPrefix(last, intro); ok {
			if _, msg, ok := strings.Cut(rest, "): "); ok {
				return msg
			}
		}
	}
	return last
}

// oneLine joins the lines of a library's error.
func oneLine(err error) error {
	text := err.Error()
	if !strings.Contains(text, "\n") {
		return err
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}

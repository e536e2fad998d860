// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ParseError is a fault in a file at a line. Line is zero if it is not known.
type ParseError struct {
	File string
	Line int
	Msg  string
}

// Error returns "file:line: message".
func (e *ParseError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Msg
}

// Decode reads the Kubernetes objects of a YAML or JSON file: any number of
// documents, lists flattened, empty documents left out. Values become what the
// API machinery expects (map[string]any, []any, string, bool, int64, float64),
// and plain scalars are read as kubectl reads them, that is by YAML 1.1: yes
// and on are booleans, 0777 is octal.
//
// The error is a *ParseError for everything that is wrong with the file: text
// that is not YAML, a key that stands twice in one mapping, a document that is
// not a Kubernetes object.
func Decode(file string, data []byte) ([]Object, error) {
	d := decoder{file: file}
	return d.decode(data)
}

// DecodeTolerant is Decode for text that a template engine wrote. A key that
// stands twice is not an error there, because Helm takes the last one and
// charts rely on it; each such place is returned as a remark.
func DecodeTolerant(file string, data []byte) ([]Object, []*ParseError, error) {
	d := decoder{file: file, tolerant: true}
	objects, err := d.decode(data)
	return objects, d.repeated, err
}

// FromValue is Decode for a document that somebody else has read: the values in it
// are of the types that Decode gives. Lines are not known.
func FromValue(file string, content map[string]any) ([]Object, error) {
	d := decoder{file: file}
	return d.appendObjects(nil, content, 0, func(int) int { return 0 })
}

type decoder struct {
	file     string
	tolerant bool
	repeated []*ParseError
	// aliased counts the values that aliases of the current document made.
	aliased int
}

func (d *decoder) decode(data []byte) ([]Object, error) {
	if looksLikeJSON(data) {
		objects, err := d.decodeJSON(data)
		var syntax *jsonSyntaxError
		// A flow mapping with YAML's freedoms (unquoted keys, comments) starts
		// like JSON; only a file that is called JSON has to be JSON.
		if !errors.As(err, &syntax) {
			return objects, err
		}
		if strings.HasSuffix(d.file, ".json") {
			return nil, d.fault(syntax.line, "invalid JSON: %s", syntax.msg)
		}
	}
	if objects, ok := d.decodeFast(data); ok {
		return objects, nil
	}
	return d.decodeYAML(data)
}

func (d *decoder) decodeYAML(data []byte) ([]Object, error) {
	var objects []Object
	in := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, d.syntaxFault(err, data)
		}
		root := &doc
		if root.Kind == yaml.DocumentNode {
			root = root.Content[0]
		}
		d.aliased = 0
		value, err := d.value(root)
		if err != nil {
			return nil, err
		}
		objects, err = d.appendObjects(objects, value, root.Line, func(i int) int { return itemLine(root, i) })
		if err != nil {
			return nil, err
		}
	}
}

// appendObjects turns a document's value into objects. lineOf tells on which
// line the i-th item of a list begins.
func (d *decoder) appendObjects(objects []Object, value any, line int, lineOf func(int) int) ([]Object, error) {
	if value == nil {
		return objects, nil
	}
	content, ok := value.(map[string]any)
	if !ok {
		return nil, d.fault(line, "not a Kubernetes object: the document is %s, not a mapping", describe(value))
	}
	if len(content) == 0 {
		return objects, nil
	}
	kind, _ := content["kind"].(string)
	items, isList := content["items"].([]any)
	if isList && strings.HasSuffix(kind, "List") {
		return d.appendItems(objects, content, kind, items, lineOf)
	}
	if err := d.check(content, line); err != nil {
		return nil, err
	}
	return append(objects, Object{
		Unstructured: &unstructured.Unstructured{Object: content},
		Provenance:   Provenance{File: d.file, Line: line},
	}), nil
}

// appendItems flattens a list. Items of a typed list ("ConfigMapList") may
// leave their kind to the list, as they do in answers of the API server.
func (d *decoder) appendItems(objects []Object, list map[string]any, kind string, items []any, lineOf func(int) int) ([]Object, error) {
	for i, item := range items {
		if content, ok := item.(map[string]any); ok && kind != "List" {
			if _, has := content["kind"]; !has {
				content["kind"] = strings.TrimSuffix(kind, "List")
			}
			if _, has := content["apiVersion"]; !has {
				content["apiVersion"] = list["apiVersion"]
			}
		}
		var err error
		if objects, err = d.appendObjects(objects, item, lineOf(i), func(int) int { return lineOf(i) }); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// check refuses what no API server would take and what the accessors of
// unstructured objects would silently read as absent.
func (d *decoder) check(content map[string]any, line int) error {
	var missing []string
	for _, field := range []string{"apiVersion", "kind"} {
		switch v := content[field].(type) {
		case string:
			if v == "" {
				missing = append(missing, field)
			}
		case nil:
			missing = append(missing, field)
		default:
			return d.fault(line, "%s is %s, must be a string", field, describe(v))
		}
	}
	if len(missing) > 0 {
		return d.fault(line, "not a Kubernetes object: %s missing", verbed(missing))
	}
	kind := content["kind"].(string)
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		if v := content["metadata"]; v != nil {
			return d.fault(line, "%s: metadata is %s, must be a mapping", kind, describe(v))
		}
		return d.fault(line, "%s: metadata.name is missing", kind)
	}
	for _, field := range []string{"name", "generateName", "namespace"} {
		switch v := metadata[field].(type) {
		case string:
		case nil:
			delete(metadata, field)
		default:
			return d.fault(line, "%s: metadata.%s is %s, must be a string (put it in quotes)", kind, field, describe(v))
		}
	}
	name, _ := metadata["name"].(string)
	generate, _ := metadata["generateName"].(string)
	if name == "" && generate == "" {
		return d.fault(line, "%s: metadata.name is missing", kind)
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := d.checkStrings(metadata, field, kind+"/"+name+generate, line); err != nil {
			return err
		}
	}
	return nil
}

// checkStrings wants a mapping of strings. A null value counts as the empty
// string, which is what the API server makes of it.
func (d *decoder) checkStrings(metadata map[string]any, field, subject string, line int) error {
	switch values := metadata[field].(type) {
	case nil:
		delete(metadata, field)
	case map[string]any:
		for _, key := range sortedKeys(values) {
			switch v := values[key].(type) {
			case string:
			case nil:
				values[key] = ""
			default:
				return d.fault(line, "%s: metadata.%s: %s is %s, must be a string (put it in quotes)", subject, field, key, describe(v))
			}
		}
	default:
		return d.fault(line, "%s: metadata.%s is %s, must be a mapping", subject, field, describe(values))
	}
	return nil
}

func (d *decoder) fault(line int, format string, args ...any) *ParseError {
	return &ParseError{File: d.file, Line: line, Msg: fmt.Sprintf(format, args...)}
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntaxFault makes a ParseError of the YAML library's error.
func (d *decoder) syntaxFault(err error, data []byte) *ParseError {
	hint, msg := splitYAMLError(err)
	return d.fault(searchLine(data, hint, msg), "invalid YAML: %s", strings.ReplaceAll(msg, "\n", " "))
}

func splitYAMLError(err error) (line int, msg string) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	m := yamlLine.FindStringSubmatch(msg)
	if m == nil {
		return 1, msg
	}
	line, _ = strconv.Atoi(m[1])
	return line, msg[len(m[0]):]
}

// maxLineSearch bounds the parses that searchLine makes.
const maxLineSearch = 200

// searchLine finds where the text goes wrong. The library tells where the
// mapping or list begins that holds the fault, or nothing; the fault itself is
// on the first line whose presence gives the same complaint.
func searchLine(data []byte, hint int, msg string) int {
	line, end := 0, 0
	for tries := 0; end < len(data) && tries < maxLineSearch; {
		line++
		if next := bytes.IndexByte(data[end:], '\n'); next >= 0 {
			end += next + 1
		} else {
			end = len(data)
		}
		if line < hint {
			continue
		}
		tries++
		if _, complaint := splitYAMLError(scanYAML(data[:end])); complaint == msg {
			return line
		}
	}
	return hint
}

var errNoFault = errors.New("no fault")

// scanYAML returns the first syntax error of a stream, or errNoFault.
func scanYAML(data []byte) error {
	in := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if err := in.Decode(&doc); errors.Is(err, io.EOF) {
			return errNoFault
		} else if err != nil {
			return err
		}
	}
}

// itemLine finds the line of the i-th element of the mapping's "items".
func itemLine(root *yaml.Node, i int) int {
	for k := 0; k+1 < len(root.Content); k += 2 {
		if items := root.Content[k+1]; root.Content[k].Value == "items" && i < len(items.Content) {
			return items.Content[i].Line
		}
	}
	return root.Line
}

// verbed returns "a is" or "a and b are".
func verbed(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, " and ") + " are"
}

// describe names a value in an error message.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case string:
		return "a string"
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}

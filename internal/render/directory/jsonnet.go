// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/tree"
)

// jsonnetMachine evaluates the Jsonnet files of one directory.
type jsonnetMachine struct {
	vm     *jsonnet.VM
	loader *importer
}

// newJsonnet prepares an evaluation: libraries are directories from the root of the
// repository, variables may use build variables.
func newJsonnet(files fs.FS, budget *tree.Budget, options v1alpha1.ApplicationSourceJsonnet, expand func(string) string) (*jsonnetMachine, error) {
	m := &jsonnetMachine{vm: jsonnet.MakeVM(), loader: &importer{files: files, budget: budget, read: map[string]jsonnet.Contents{}}}
	for _, lib := range options.Libs {
		dir, err := tree.Resolve(".", lib)
		if err != nil {
			return nil, fmt.Errorf("directory.jsonnet.libs: %w", err)
		}
		m.loader.libs = append(m.loader.libs, dir)
	}
	m.vm.Importer(m.loader)
	for _, v := range options.ExtVars {
		if v.Code {
			m.vm.ExtCode(v.Name, expand(v.Value))
		} else {
			m.vm.ExtVar(v.Name, expand(v.Value))
		}
	}
	for _, v := range options.TLAs {
		if v.Code {
			m.vm.TLACode(v.Name, expand(v.Value))
		} else {
			m.vm.TLAVar(v.Name, expand(v.Value))
		}
	}
	return m, nil
}

// evaluate returns the objects that a file makes: one, a list of them, or a List.
func (m *jsonnetMachine) evaluate(file string) ([]manifest.Object, error) {
	text, err := m.vm.EvaluateFile(file)
	if err != nil {
		return nil, jsonnetFault(file, err)
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		text = `{"apiVersion": "v1", "kind": "List", "items": ` + text + "}"
	}
	objects, err := manifest.Decode(file, []byte(text))
	if fault, ok := errors.AsType[*manifest.ParseError](err); ok {
		return nil, &manifest.ParseError{File: file, Msg: "what it evaluates to: " + fault.Msg}
	}
	for i := range objects {
		objects[i].Provenance.Line = 0
	}
	return objects, err
}

// jsonnetPlace is how Jsonnet writes a place: file, line, column or a span.
var jsonnetPlace = regexp.MustCompile(`^(\S+?):\(?(\d+):[\d():-]+\s*(.*)$`)

// jsonnetFault turns the evaluator's error, a stack of many lines, into one line
// at the innermost place.
func jsonnetFault(file string, err error) error {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	fault := &manifest.ParseError{File: file, Msg: strings.TrimPrefix(strings.TrimSpace(lines[0]), "RUNTIME ERROR: ")}
	for i, line := range lines {
		place := jsonnetPlace.FindStringSubmatch(strings.TrimSpace(line))
		if place == nil {
			continue
		}
		fault.File = place[1]
		fault.Line, _ = strconv.Atoi(place[2])
		if i == 0 {
			// A fault of syntax stands behind its place.
			fault.Msg = place[3]
		}
		break
	}
	return fault
}

// importer finds what Jsonnet files import: beside the file that asks, in its own
// directory, then in the libraries in their order.
type importer struct {
	files  fs.FS
	budget *tree.Budget
	libs   []string
	// read holds each file once, as Jsonnet asks of an importer.
	read map[string]jsonnet.Contents
}

// Import implements jsonnet.Importer.
func (i *importer) Import(from, name string) (jsonnet.Contents, string, error) {
	dirs := append([]string{path.Dir(from)}, i.libs...)
	if from == "" {
		dirs = []string{"."}
	}
	for _, dir := range dirs {
		full, err := tree.Resolve(dir, name)
		if err != nil {
			return jsonnet.Contents{}, "", err
		}
		if content, ok := i.read[full]; ok {
			return content, full, nil
		}
		info, err := fs.Stat(i.files, full)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			continue
		}
		data, err := i.budget.Read(i.files, full)
		if err != nil {
			return jsonnet.Contents{}, "", err
		}
		content := jsonnet.MakeContentsRaw(data)
		i.read[full] = content
		return content, full, nil
	}
	return jsonnet.Contents{}, "", fmt.Errorf("%s is not in the repository beside %s, nor in %s", name, from, strings.Join(append(i.libs, "any other library"), ", "))
}

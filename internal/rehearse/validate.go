// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// validate finds what is wrong with the steps, and with the files that they name,
// before anything is started.
func (c *Case) validate() error {
	var errs []error
	if file := c.simulation(); file != "" {
		errs = append(errs, c.checkSimulation(file))
	}
	for _, s := range c.Steps {
		errs = append(errs, s.wrap(c.check(s)))
	}
	return errors.Join(errs...)
}

func (c *Case) check(s Step) error {
	switch s.Verb {
	case "cluster", "app":
		return c.checkManifests(s.Verb, s.text())
	case "sim":
		if s.text() != "" {
			return c.checkSimulation(s.text())
		}
		return nil
	case "settings":
		return s.decode(&map[string]string{})
	case "commit":
		return c.checkCommit(s)
	case "render", "plan", "verify":
		return c.checkLook(s)
	case "sync", "refresh", "terminate", "rollback", "confirm":
		a, err := s.request()
		if err == nil && a.App == "" {
			err = errors.New("name the Application")
		}
		return err
	case "delete":
		_, err := s.deletion()
		return err
	case "scale", "setImage", "patch":
		_, _, err := s.edit()
		return err
	case "touch":
		_, _, err := s.touched()
		return err
	case "wait":
		_, err := s.waitFor()
		return err
	case "check":
		_, err := s.names()
		return err
	case "restart":
		if s.text() != "controller" {
			return fmt.Errorf("only the controller can be restarted, not %q", s.text())
		}
	}
	return nil
}

// checkManifests reads a file of objects.
func (c *Case) checkManifests(verb, file string) error {
	if file == "" {
		return errors.New("name a file")
	}
	data, err := c.file(file)
	if err != nil {
		return err
	}
	objects, err := manifest.Decode(file, data)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("%s holds no object", file)
	}
	for _, o := range objects {
		if o.GetKind() == "" || o.GetName() == "" {
			return fmt.Errorf("%s: an object has no kind or no name", file)
		}
	}
	if verb == "app" && !slices.ContainsFunc(objects, func(o manifest.Object) bool { return isApplication(o.Unstructured) }) {
		return fmt.Errorf("%s holds no Application", file)
	}
	return nil
}

// file reads a file of the case; the error says which there are.
func (c *Case) file(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(c.Dir, filepath.FromSlash(name)))
	if errors.Is(err, os.ErrNotExist) {
		found, _ := filepath.Glob(filepath.Join(c.Dir, "*.yaml"))
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		return nil, fmt.Errorf("%s has no file %s%s", c.Dir, name, choices(name, found))
	}
	return data, err
}

// checkSimulation makes sure that a file can hold rules; what they mean is for the
// sandbox to say.
func (c *Case) checkSimulation(file string) error {
	data, err := c.file(file)
	if err != nil {
		return err
	}
	var content map[string]yaml.Node
	if err := yaml.Unmarshal(data, &content); err != nil {
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	for _, key := range slices.Sorted(maps.Keys(content)) {
		if n := content[key]; key != "rules" {
			return fmt.Errorf("%s:%d: there is no field %q; there are rules", file, n.Line, key)
		}
	}
	return nil
}

func (c *Case) checkRevision(rev string) error {
	if rev == "" {
		return errors.New("name the revision, such as rev1")
	}
	if info, err := os.Stat(filepath.Join(c.Dir, filepath.FromSlash(rev))); err != nil || !info.IsDir() || !filepath.IsLocal(rev) {
		there, _ := c.revisions()
		return fmt.Errorf("%s has no revision %s%s", c.Dir, rev, choices(rev, there))
	}
	return nil
}

func (c *Case) checkCommit(s Step) error {
	content, err := s.content()
	if err != nil {
		return err
	}
	if err := c.checkRevision(content.Rev); err != nil {
		return err
	}
	for _, path := range slices.Concat(content.Drop, slices.Sorted(maps.Keys(content.Put))) {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("%s is outside the repository", path)
		}
	}
	for _, file := range content.Put {
		if _, err := c.file(file); err != nil {
			return err
		}
	}
	return nil
}

func (c *Case) checkLook(s Step) error {
	l, err := s.asked()
	if err != nil {
		return err
	}
	if len(l.App) == 0 || l.App[0] == "" {
		return errors.New("name the file of the Application")
	}
	for _, file := range l.App {
		if err := c.checkManifests("app", file); err != nil {
			return err
		}
	}
	if l.Cluster != "" && l.Cluster != "none" {
		return fmt.Errorf("cluster: %q is not known: write none, or leave it out for the cluster as it is", l.Cluster)
	}
	if l.Rev != "" {
		return c.checkRevision(l.Rev)
	}
	return nil
}

// phases are those that an operation can be waited for.
func phases() []string {
	return []string{
		string(v1alpha1.OperationRunning), string(v1alpha1.OperationTerminating), string(v1alpha1.OperationFailed),
		string(v1alpha1.OperationError), string(v1alpha1.OperationSucceeded),
	}
}

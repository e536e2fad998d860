// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
)

// person is the field manager of what a scenario does by hand, kubectl's own.
const person = "kubectl-client-side-apply"

// patience is how long an assertion may take to become true. It costs nothing when
// all is well, and a machine on which everything is tested at once is slow.
const patience = 3 * time.Minute

// world is what one scenario sees: a namespace to deliver to, a repository, and
// names that no other scenario has.
type world struct {
	*stage
	t          testing.TB
	dir        string
	id         string
	target     string
	controller *runningController
	repo       *gittest.Repository
	sources    sources
	commits    int
	syncs      int
	// apps are the Applications of the scenario.
	apps  map[types.NamespacedName]bool
	marks map[string]*unstructured.Unstructured
}

// worldKey finds the world of a script.
type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// setUp prepares what the files of the scenario describe: rules, objects that are
// there before, the repository with its first commit, and the Applications.
func (s *stage) setUp(env *testscript.Env, what scenario) error {
	t, ok := env.T().(testing.TB)
	if !ok {
		return fmt.Errorf("%T is no test", env.T())
	}
	t.Cleanup(func() { s.ended(what.name, !t.Failed()) })
	w := &world{
		stage: s, t: t, dir: env.WorkDir, target: s.env.Namespace(t), controller: s.controller,
		apps: map[types.NamespacedName]bool{}, marks: map[string]*unstructured.Unstructured{},
	}
	w.id = strings.TrimPrefix(w.target, "test-")
	if what.ownController {
		w.controller = &runningController{namespace: s.env.Namespace(t), appNamespaces: w.fillIn(what.appNamespaces)}
		if w.has("plugins") {
			w.controller.plugins = filepath.Join(w.dir, "plugins")
		}
	}
	env.Values[worldKey{}] = w
	if err := w.makeSources(); err != nil {
		return err
	}
	first, err := w.tree("git/1")
	if err != nil {
		return err
	}
	w.repo, w.commits = gittest.New(t, first), 1
	w.servePrivately()
	for name, value := range w.names() {
		env.Setenv(name, value)
	}
	for name, value := range map[string]string{
		"id": w.id, "target": w.target, "control": w.controller.namespace, "repo": w.repo.URL, "rev1": w.repo.Git("rev-parse", "HEAD"),
	} {
		env.Setenv(name, value)
	}
	env.Defer(func() { w.tidy() })
	if w.has("sim.yaml") {
		if err := w.useRules(t.Context(), "sim.yaml"); err != nil {
			return err
		}
	}
	if w.has("cluster.yaml") {
		if err := w.apply(t.Context(), "cluster.yaml"); err != nil {
			return err
		}
	}
	if what.ownController {
		// Not before what it has to find: it may hear of a new Application before it
		// hears of a setting that is older.
		w.controller = startController(t, s.env, w.controller)
	}
	if w.has("apps.yaml") {
		return w.apply(t.Context(), "apps.yaml")
	}
	return w.applyText(t.Context(), onlyApplication)
}

// onlyApplication is what a scenario without apps.yaml has: one Application that
// somebody has to sync by hand.
const onlyApplication = "kind: Application\nmetadata: {name: app}\n"

// tidy takes the scenario's Applications away before their namespace goes, so
// that nothing is delivered any more.
func (w *world) tidy() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
	defer cancel()
	for key := range w.apps {
		app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, err := w.patchObject(ctx, applications(), key.Namespace, key.Name, map[string]any{"metadata": map[string]any{"finalizers": nil}})
			if err == nil {
				err = w.client.Delete(ctx, app)
			}
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			w.t.Errorf("delete Application %s: %v", key, err)
		}
	}
	if err := w.setRules(ctx, w.target, nil); err != nil {
		w.t.Error(err)
	}
}

func applications() schema.GroupVersionResource {
	return v1alpha1.GroupVersion().WithResource("applications")
}

func (w *world) has(file string) bool {
	_, err := os.Stat(filepath.Join(w.dir, file))
	return err == nil
}

// read returns a file of the scenario with the names of this run filled in.
func (w *world) read(file string) (string, error) {
	data, err := os.ReadFile(filepath.Join(w.dir, file))
	if err != nil {
		return "", err
	}
	repo := ""
	if w.repo != nil {
		repo = w.repo.URL
	}
	pairs := []string{"${target}", w.target, "${control}", w.controller.namespace, "${id}", w.id, "${repo}", repo}
	for name, value := range w.names() {
		pairs = append(pairs, "${"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(string(data)), nil
}

// fillIn replaces ${id} in each text.
func (w *world) fillIn(texts []string) []string {
	filled := make([]string, len(texts))
	for i, text := range texts {
		filled[i] = strings.ReplaceAll(text, "${id}", w.id)
	}
	return filled
}

// tree reads a folder of the scenario.
func (w *world) tree(folder string) (map[string]string, error) {
	files := map[string]string{}
	root := filepath.Join(w.dir, folder)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		files[rel], err = w.read(filepath.Join(folder, rel))
		return err
	})
	return files, err
}

// useRules puts the rules of a file in force, for this scenario's namespace
// unless a rule names another.
func (w *world) useRules(ctx context.Context, file string) error {
	text, err := w.read(file)
	if err != nil {
		return err
	}
	var content struct {
		Rules []any `json:"rules"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &content); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for i, rule := range content.Rules {
		fields, _ := rule.(map[string]any)
		match, ok := fields["match"].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: rule %d has no match", file, i+1)
		}
		if _, named := match["namespace"]; !named {
			match["namespace"] = w.target
		}
	}
	return w.setRules(ctx, w.target, content.Rules)
}

// apply brings the objects of a file into the cluster, in the name of a person.
func (w *world) apply(ctx context.Context, file string) error {
	text, err := w.read(file)
	if err == nil {
		err = w.applyText(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (w *world) applyText(ctx context.Context, text string) error {
	return w.writeText(ctx, text, writer{manager: person})
}

// writer is in whose name and how objects are written.
type writer struct {
	manager string
	// apply has the API server merge, by field ownership.
	apply bool
}

func (w *world) writeText(ctx context.Context, text string, by writer) error {
	text, err := w.identified(ctx, text)
	if err != nil {
		return err
	}
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &obj.Object); err != nil {
			return err
		}
		if len(obj.Object) == 0 {
			continue
		}
		w.complete(obj)
		if err := w.put(ctx, obj, by); err != nil {
			return fmt.Errorf("%s/%s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	return nil
}

// identified puts UIDs of objects in the place of ${UID:Kind/name}.
func (w *world) identified(ctx context.Context, text string) (string, error) {
	var failed error
	text = regexp.MustCompile(`\$\{UID:([^}]+)\}`).ReplaceAllStringFunc(text, func(found string) string {
		r, err := w.ref(found[len("${UID:") : len(found)-1])
		if err != nil {
			failed = err
			return found
		}
		obj, err := w.get(ctx, r)
		if err != nil {
			failed = fmt.Errorf("%s: %w", found, err)
			return found
		}
		return string(obj.GetUID())
	})
	return text, failed
}

// complete fills in what scenarios leave out of Applications and projects, and
// makes their names unique: all of a cluster share the names in tracking ids.
func (w *world) complete(obj *unstructured.Unstructured) {
	kind := obj.GetKind()
	if kind != "Application" && kind != "AppProject" {
		return
	}
	obj.SetAPIVersion(v1alpha1.GroupVersion().String())
	if kind == "AppProject" || obj.GetNamespace() == "" {
		obj.SetNamespace(w.controller.namespace)
	}
	obj.SetName(w.unique(obj.GetName()))
	if kind == "AppProject" {
		return
	}
	w.apps[types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}] = true
	spec, _ := obj.Object["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		obj.Object["spec"] = spec
	}
	if project, ok := spec["project"].(string); ok && project != "default" {
		spec["project"] = w.unique(project)
	} else {
		spec["project"] = "default"
	}
	fill(spec, "destination", map[string]any{"server": v1alpha1.InClusterServer, "namespace": w.target})
	if _, several := spec["sources"]; !several {
		fill(spec, "source", map[string]any{"repoURL": w.repo.URL, "path": ".", "targetRevision": "main"})
	}
}

// fill adds to a field of spec what it does not say.
func fill(spec map[string]any, field string, defaults map[string]any) {
	values, _ := spec[field].(map[string]any)
	if values == nil {
		values = map[string]any{}
		spec[field] = values
	}
	for key, value := range defaults {
		if _, set := values[key]; !set {
			values[key] = value
		}
	}
}

func (w *world) unique(name string) string { return name + "-" + w.id }

// put creates an object or brings it to what is given, as kubectl apply does. A
// kind that is not served yet is waited for.
func (w *world) put(ctx context.Context, obj *unstructured.Unstructured, by writer) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = w.putOnce(ctx, obj, by)
		return last == nil || !meta.IsNoMatchError(last) && !apierrors.IsNotFound(last) && !passing(last), nil
	})
	if last != nil {
		return last
	}
	return err
}

// passing tells whether a request failed for a reason that passes: the API server had
// no time for it, or the connection broke off.
func passing(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

func (w *world) putOnce(ctx context.Context, obj *unstructured.Unstructured, by writer) error {
	gvk := obj.GroupVersionKind()
	mapping, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		w.mapper.Reset()
		return err
	}
	var r dynamic.ResourceInterface = w.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(w.target)
		}
		r = w.dynamic.Resource(mapping.Resource).Namespace(obj.GetNamespace())
	}
	if by.apply {
		_, err = r.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: by.manager, Force: true})
		return err
	}
	_, err = r.Create(ctx, obj, metav1.CreateOptions{FieldManager: by.manager})
	if apierrors.IsAlreadyExists(err) {
		var data []byte
		if data, err = obj.MarshalJSON(); err == nil {
			_, err = r.Patch(ctx, obj.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: by.manager})
		}
	}
	return err
}

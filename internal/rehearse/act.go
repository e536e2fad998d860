// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rehearse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// do carries a step out.
func (w *world) do(ctx context.Context, s Step) error {
	switch s.Verb {
	case "cluster", "app":
		return w.applyFile(ctx, s.text())
	case "sim":
		return w.simulate(ctx, s)
	case "settings":
		return w.settings(ctx, s)
	case "commit":
		return w.commit(ctx, s)
	case "render", "plan", "verify":
		return w.look(ctx, s)
	case "sync", "refresh", "terminate", "rollback", "confirm":
		return w.ask(ctx, s)
	case "delete":
		return w.remove(ctx, s)
	case "scale", "setImage", "patch":
		return w.edit(ctx, s)
	case "touch":
		return w.touch(s)
	case "wait":
		return w.wait(ctx, s)
	case "check":
		return w.check(s)
	case "restart":
		if s.text() != "controller" {
			return fmt.Errorf("only the controller can be restarted, not %q", s.text())
		}
		return w.kill(ctx)
	}
	return fmt.Errorf("there is no such step")
}

func (w *world) simulate(ctx context.Context, s Step) error {
	if file := s.text(); file != "" {
		return w.setRules(ctx, file)
	}
	data, err := yaml.Marshal(s.node)
	if err != nil {
		return err
	}
	return w.sandbox.SetRules(ctx, data)
}

// settings sets keys of Argo CD's ConfigMap.
func (w *world) settings(ctx context.Context, s Step) error {
	var keys map[string]string
	if err := s.decode(&keys); err != nil {
		return err
	}
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = controller.DefaultNamespace, "argocd-cm"
	err := w.client.Get(ctx, client.ObjectKeyFromObject(cm), cm)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	maps.Copy(cm.Data, keys)
	if apierrors.IsNotFound(err) {
		cm.Labels = map[string]string{"app.kubernetes.io/part-of": "argocd"}
		return w.client.Create(ctx, cm)
	}
	return w.client.Update(ctx, cm)
}

// content is what a commit step makes the branch's content.
type commitStep struct {
	Rev  string            `yaml:"rev"`
	Put  map[string]string `yaml:"put"`
	Drop []string          `yaml:"drop"`
}

func (w *world) commit(ctx context.Context, s Step) error {
	c := commitStep{Rev: s.text()}
	if c.Rev == "" {
		if err := s.decode(&c); err != nil {
			return err
		}
	}
	commit, err := w.commitTo(ctx, "main", c)
	if err != nil {
		return err
	}
	w.head, w.headAt = commit, time.Now()
	w.chronicle.committed(c.Rev, commit, w.headAt)
	return w.announce(ctx)
}

// announce tells the controller that the repository has something new, as a
// webhook does. A controller that has just begun answers a moment later.
func (w *world) announce(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, glance, patience, true, func(ctx context.Context) (bool, error) {
		last = nil
		for _, url := range w.opts.URLs {
			last = errors.Join(last, w.controller.Refresh(ctx, url))
		}
		return last == nil, nil
	})
	return errors.Join(last, ignoreTimeout(err, last))
}

// commitTo commits the content that a step describes to a branch.
func (w *world) commitTo(ctx context.Context, branch string, c commitStep) (string, error) {
	root := filepath.Join(w.dir, filepath.FromSlash(c.Rev))
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no revision %s in %s", c.Rev, w.dir)
	}
	if len(c.Put)+len(c.Drop) == 0 {
		return w.repo.Commit(ctx, branch, os.DirFS(root))
	}
	made, err := os.MkdirTemp(w.opts.Work, "commit-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(made) }()
	if err := os.CopyFS(made, os.DirFS(root)); err != nil {
		return "", err
	}
	for _, path := range c.Drop {
		if !filepath.IsLocal(path) {
			return "", fmt.Errorf("drop: %s is outside the repository", path)
		}
		if err := os.RemoveAll(filepath.Join(made, filepath.FromSlash(path))); err != nil {
			return "", err
		}
	}
	for path, file := range c.Put {
		if !filepath.IsLocal(path) {
			return "", fmt.Errorf("put: %s is outside the repository", path)
		}
		data, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(file)))
		if err != nil {
			return "", err
		}
		to := filepath.Join(made, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600)); err != nil { //nolint:gosec // the path is local, which was checked
			return "", err
		}
	}
	return w.repo.Commit(ctx, branch, os.DirFS(made))
}

// askStep is what somebody asks for.
type askStep struct {
	App       string   `yaml:"app"`
	Force     bool     `yaml:"force"`
	Prune     bool     `yaml:"prune"`
	Resources []string `yaml:"resources"`
}

// manualSync is a sync as a person asks for it: with pruning where automation
// prunes.
func (w *world) manualSync(app *v1alpha1.Application, a askStep) (*v1alpha1.SyncOperation, error) {
	sync := &v1alpha1.SyncOperation{Prune: a.Prune}
	if policy := app.Spec.SyncPolicy; policy != nil {
		sync.SyncOptions = policy.SyncOptions
		if automated := policy.Automated; automated != nil && automated.Prune != nil {
			sync.Prune = sync.Prune || *automated.Prune
		}
	}
	if a.Force {
		sync.SyncStrategy = &v1alpha1.SyncStrategy{Hook: &v1alpha1.SyncStrategyHook{SyncStrategyApply: v1alpha1.SyncStrategyApply{Force: true}}}
	}
	for _, text := range a.Resources {
		r, err := w.resourceOf(text)
		if err != nil {
			return nil, err
		}
		sync.Resources = append(sync.Resources, r)
	}
	return sync, nil
}

// ask asks the controller for something, by changing the Application.
func (w *world) ask(ctx context.Context, s Step) error {
	var a askStep
	if a.App = s.text(); a.App == "" {
		if err := s.decode(&a); err != nil {
			return err
		}
	}
	for {
		app := &v1alpha1.Application{}
		if err := w.client.Get(ctx, client.ObjectKey{Namespace: controller.DefaultNamespace, Name: a.App}, app); err != nil {
			return err
		}
		before := app.DeepCopy()
		switch s.Verb {
		case "sync":
			sync, err := w.manualSync(app, a)
			if err != nil {
				return err
			}
			app.Operation = &v1alpha1.Operation{Sync: sync, InitiatedBy: v1alpha1.OperationInitiator{Username: "rehearsal"}}
		case "refresh":
			annotate(app, v1alpha1.AnnotationRefresh, "normal")
		case "confirm":
			annotate(app, manifest.AnnotationDeletionApproved, time.Now().UTC().Format(time.RFC3339))
		case "terminate":
			if app.Status.OperationState == nil || app.Status.OperationState.Phase.Completed() {
				return fmt.Errorf("no operation of %s is running", a.App)
			}
			app.Status.OperationState.Phase = v1alpha1.OperationTerminating
		case "rollback":
			if len(app.Status.History) < 2 {
				return fmt.Errorf("%s has no release to go back to", a.App)
			}
			back := app.Status.History[len(app.Status.History)-2]
			app.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{Revision: back.Revision, Source: &back.Source, Prune: true}, InitiatedBy: v1alpha1.OperationInitiator{Username: "rehearsal"}}
		}
		err := w.client.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

func annotate(app *v1alpha1.Application, key, value string) {
	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	app.Annotations[key] = value
}

func (w *world) resourceOf(text string) (v1alpha1.SyncOperationResource, error) {
	o, err := parseObject(text)
	if err != nil {
		return v1alpha1.SyncOperationResource{}, err
	}
	gvk, err := w.kindOf(o.kind)
	return v1alpha1.SyncOperationResource{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.namespace, Name: o.name}, err
}

// remove deletes an Application or an object, without waiting.
func (w *world) remove(ctx context.Context, s Step) error {
	text := s.text()
	if text == "" {
		var choice struct {
			OnePodOf struct {
				Deployment string `yaml:"deployment"`
				ReplicaSet string `yaml:"replicaSet"`
			} `yaml:"onePodOf"`
		}
		if err := s.decode(&choice); err != nil {
			return err
		}
		return w.removePod(ctx, choice.OnePodOf.Deployment, choice.OnePodOf.ReplicaSet)
	}
	o := object{"Application", controller.DefaultNamespace, text}
	if strings.Contains(text, "/") {
		var err error
		if o, err = parseObject(text); err != nil {
			return err
		}
	}
	gvk, err := w.kindOf(o.kind)
	if err != nil {
		return err
	}
	r, err := w.resource(gvk, o.namespace)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	return client.IgnoreNotFound(r.Delete(ctx, o.name, metav1.DeleteOptions{PropagationPolicy: &background}))
}

// removePod deletes a Pod of a Deployment: of its present ReplicaSet, or of an
// old one.
func (w *world) removePod(ctx context.Context, deployment, which string) error {
	namespace, name, ok := strings.Cut(deployment, "/")
	if !ok || which != "old" && which != "new" && which != "" {
		return fmt.Errorf("onePodOf needs deployment: namespace/name, and replicaSet: old or new")
	}
	d, err := w.find(ctx, "Deployment", namespace, name)
	if err != nil {
		return err
	}
	revision := d.GetAnnotations()["deployment.kubernetes.io/revision"]
	pods := &corev1.PodList{}
	if err := w.client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || owner.Kind != "ReplicaSet" || pod.DeletionTimestamp != nil {
			continue
		}
		rs, err := w.find(ctx, "ReplicaSet", namespace, owner.Name)
		if err != nil {
			return err
		}
		parent := metav1.GetControllerOf(rs)
		if parent == nil || parent.UID != d.GetUID() {
			continue
		}
		if current := rs.GetAnnotations()["deployment.kubernetes.io/revision"] == revision; which == "" || current == (which == "new") {
			return w.client.Delete(ctx, pod)
		}
	}
	return fmt.Errorf("no Pod of Deployment %s is of the %s ReplicaSet", deployment, which)
}

// edit changes an object as somebody does by hand.
func (w *world) edit(ctx context.Context, s Step) error {
	var e struct {
		Object   string `yaml:"object"`
		Replicas int64  `yaml:"replicas"`
		Image    string `yaml:"image"`
		Path     string `yaml:"path"`
		Value    any    `yaml:"value"`
		Manager  string `yaml:"manager"`
	}
	if err := s.decode(&e); err != nil {
		return err
	}
	o, err := parseObject(e.Object)
	if err != nil {
		return err
	}
	if e.Manager == "" {
		e.Manager = by
	}
	switch s.Verb {
	case "scale":
		return w.patchObject(ctx, o, e.Manager, map[string]any{"spec": map[string]any{"replicas": e.Replicas}})
	case "setImage":
		return w.setImage(ctx, o, e.Manager, e.Image)
	}
	return w.patchObject(ctx, o, e.Manager, nested(e.Path, e.Value))
}

// nested puts a value at a path with dots, or a JSON pointer.
func nested(path string, value any) map[string]any {
	var parts []string
	if strings.HasPrefix(path, "/") {
		for p := range strings.SplitSeq(path[1:], "/") {
			parts = append(parts, strings.NewReplacer("~1", "/", "~0", "~").Replace(p))
		}
	} else {
		parts = strings.Split(path, ".")
	}
	for _, p := range slices.Backward(parts) {
		value = map[string]any{p: value}
	}
	m, _ := value.(map[string]any)
	return m
}

func (w *world) setImage(ctx context.Context, o object, manager, image string) error {
	u, err := w.find(ctx, o.kind, o.namespace, o.name)
	if err != nil {
		return err
	}
	containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return fmt.Errorf("%s/%s has no containers", o.kind, o.name)
	}
	first, _ := containers[0].(map[string]any)
	first["image"] = image
	return w.patchObject(ctx, o, manager, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}})
}

// touch changes an annotation of an object again and again in the background,
// until the object is gone.
func (w *world) touch(s Step) error {
	var t struct {
		Object string        `yaml:"object"`
		Every  time.Duration `yaml:"every"`
		For    time.Duration `yaml:"for"`
	}
	if err := s.decode(&t); err != nil {
		return err
	}
	o, err := parseObject(t.Object)
	if err != nil {
		return err
	}
	if t.Every <= 0 {
		t.Every = time.Second
	}
	w.touching.Add(1)
	go func() {
		defer w.touching.Add(-1)
		end := time.Now().Add(t.For)
		for i := 0; time.Now().Before(end); i++ {
			err := w.patchObject(w.life, o, by, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/touched": fmt.Sprint(i)}}})
			if err != nil {
				return
			}
			select {
			case <-w.life.Done():
				return
			case <-time.After(t.Every):
			}
		}
	}()
	return nil
}

// check notes the state at a point that has a name.
func (w *world) check(s Step) error {
	var names []string
	if text := s.text(); text != "" {
		names = []string{text}
	} else if err := s.decode(&names); err != nil {
		return err
	}
	objects, apps := w.chronicle.state()
	for _, name := range names {
		w.result.Checks = append(w.result.Checks, Check{
			Name: name, Time: time.Now(), Apps: apps, Objects: objects, Plan: w.latest.plans, Findings: w.latest.found, Rendered: w.latest.rendered,
		})
	}
	return nil
}

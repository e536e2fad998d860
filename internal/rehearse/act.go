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

	"github.com/wavetrain/wavetrain/internal/controller"
)

// do carries a step out.
func (w *world) do(ctx context.Context, s Step) error {
	switch s.Verb {
	case "cluster":
		return w.applyFile(ctx, s.text(), "")
	case "app":
		return w.applyFile(ctx, s.text(), controller.DefaultNamespace)
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
		return w.check(ctx, s)
	case "restart":
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
	return w.ruled(w.sandbox.SetRules(ctx, data), s.File)
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
		err = w.client.Create(ctx, cm)
	} else {
		err = w.client.Update(ctx, cm)
	}
	namespaces, given := keys[applicationNamespaces]
	if err != nil || !given {
		return err
	}
	// A controller is told of them when it starts.
	w.appNamespaces = strings.FieldsFunc(namespaces, func(r rune) bool { return r == ',' || r == ' ' })
	return w.restart(ctx)
}

// applicationNamespaces is the setting that says in which namespaces Applications may
// lie besides the control namespace.
const applicationNamespaces = "application.namespaces"

func (w *world) commit(ctx context.Context, s Step) error {
	c, err := s.content()
	if err != nil {
		return err
	}
	commit, err := w.commitTo(ctx, mainBranch, c)
	if err != nil {
		return err
	}
	w.head, w.headAt = commit, time.Now()
	w.chronicle.committed(c.Rev, commit, w.now())
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

// mainBranch is the branch that Applications follow.
const mainBranch = "main"

// commitTo commits the content that a step describes to a branch, and keeps it: what
// is looked at later is read from there.
func (w *world) commitTo(ctx context.Context, branch string, c commitStep) (string, error) {
	root := filepath.Join(w.dir, filepath.FromSlash(c.Rev))
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no revision %s in %s", c.Rev, w.dir)
	}
	if len(c.Put)+len(c.Drop) == 0 {
		w.contents[branch] = root
		return w.repo.Commit(ctx, branch, os.DirFS(root))
	}
	made, err := os.MkdirTemp(w.opts.Work, "commit-")
	if err != nil {
		return "", err
	}
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
	w.contents[branch] = made
	return w.repo.Commit(ctx, branch, os.DirFS(made))
}

// remove deletes an Application or an object, without waiting.
func (w *world) remove(ctx context.Context, s Step) error {
	d, err := s.deletion()
	if err != nil {
		return err
	}
	if d.name == "" {
		return w.removePod(ctx, d.OnePodOf.Deployment, d.OnePodOf.ReplicaSet)
	}
	o := object{"Application", controller.DefaultNamespace, d.name}
	if strings.Contains(d.name, "/") {
		if o, err = parseObject(d.name); err != nil {
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
	namespace, name, _ := strings.Cut(deployment, "/")
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
	e, o, err := s.edit()
	if err != nil {
		return err
	}
	switch s.Verb {
	case "scale":
		return w.patchObject(ctx, o, e.Manager, map[string]any{"spec": map[string]any{"replicas": *e.Replicas}})
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
	t, o, err := s.touched()
	if err != nil {
		return err
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
func (w *world) check(ctx context.Context, s Step) error {
	names, err := s.names()
	if err != nil {
		return err
	}
	if err := w.catchUp(ctx); err != nil {
		return err
	}
	objects, apps := w.chronicle.state()
	for _, name := range names {
		w.result.Checks = append(w.result.Checks, Check{
			Name: name, Time: w.now(), Apps: apps, Objects: objects, Plan: w.latest.plans, Findings: w.latest.found, Rendered: w.latest.rendered,
		})
	}
	return nil
}

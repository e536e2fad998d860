// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// command does something or asserts something; README.md describes all of them.
type command func(ctx context.Context, w *world, ts *testscript.TestScript, args []string) error

// commands are the words of the language, those of testscript beside.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){}
	for name, do := range map[string]command{
		"commit": commit, "publish": publishCharts, "push": push, "tag": tag, "apply": applyFile, "rules": useRules, "sync": syncAndWait, "start": startSync,
		"terminate": terminate, "refresh": refresh, "restart": restart, "delete": deleteObject, "patch": patch,
		"remember": remember, "write": write, "knock": knock,
	} {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("! %s has no meaning", name)
			}
			w := worldOf(ts)
			ts.Check(do(w.t.Context(), w, ts, args))
		}
	}
	for name, ask := range map[string]assertion{
		"app": appIs, "saw": appWas, "results": resultsAre, "row": rowIs, "present": present, "agree": agree, "absent": absent,
		"order": inOrder, "soon": soon, "never": never, "runs": runs, "operations": operations, "same": same, "unchanged": unchanged,
		"recreated": recreated, "manager": managed, "may": mayDo,
	} {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			worldOf(ts).assert(ts, neg, ask, args)
		}
	}
	return all
}

// commit [signed|sealed] N [drop FILE...] brings the repository's branch from what it
// has to that with the files of git/N on top, and announces it.
func commit(ctx context.Context, w *world, ts *testscript.TestScript, args []string) error {
	files := map[string]string{}
	message := "commit " + strings.Join(args, " ")
	if len(args) > 0 && (args[0] == "signed" || args[0] == "sealed") {
		if args[0] == "sealed" {
			message += "\n\nArgocd-gpg-seal: reviewed"
		}
		args = args[1:]
		end, err := w.sign(w.repo)
		if err != nil {
			return err
		}
		defer end()
	}
	for i, arg := range args {
		if arg == "drop" {
			for _, gone := range args[i+1:] {
				files[gone] = "-"
			}
			break
		}
		more, err := w.tree("git/" + arg)
		if err != nil {
			return err
		}
		maps.Copy(files, more)
	}
	w.commits++
	ts.Setenv("rev"+strconv.Itoa(w.commits), w.repo.Commit(message, files))
	return w.announce(ctx)
}

func applyFile(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	for _, file := range args {
		if err := w.apply(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

func useRules(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	if len(args) == 0 {
		return w.setRules(ctx, w.target, nil)
	}
	return w.useRules(ctx, args[0])
}

// startSync APP [FLAG...] asks for an operation as a person does.
func startSync(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	_, err := w.request(ctx, args)
	return err
}

// syncAndWait is startSync until the operation has ended, however it did.
func syncAndWait(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	user, err := w.request(ctx, args)
	if err != nil {
		return err
	}
	name := w.app(args[0])
	return w.eventually(ctx, func() error {
		app, err := w.latest(name)
		if err != nil {
			return err
		}
		state := app.Status.OperationState
		if app.Operation != nil || state == nil || !state.Phase.Completed() || state.Operation.InitiatedBy.Username != user {
			return fmt.Errorf("the sync has not ended: %s", summary(app))
		}
		return nil
	})
}

// request writes the operation and returns the name of who asked for it, which
// tells it from all others.
func (w *world) request(ctx context.Context, args []string) (user string, err error) {
	if len(args) == 0 {
		return "", errors.New("sync what?")
	}
	name := w.app(args[0])
	app := &v1alpha1.Application{}
	if err := w.client.Get(ctx, name, app); err != nil {
		return "", err
	}
	w.syncs++
	user = "person-" + strconv.Itoa(w.syncs)
	op := v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}, InitiatedBy: v1alpha1.OperationInitiator{Username: user}}
	op.Sync.SyncOptions = slices.Clone(app.Spec.SyncOptionList())
	for _, flag := range args[1:] {
		if err := w.flag(&op, flag); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"operation": op})
	if err != nil {
		return "", err
	}
	_, err = w.dynamic.Resource(applications()).Namespace(name.Namespace).Patch(ctx, name.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: person})
	return user, err
}

// flag reads a word of a sync: what the options of a command line would be.
func (w *world) flag(op *v1alpha1.Operation, text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "prune":
		op.Sync.Prune = true
	case "dry-run":
		op.Sync.DryRun = true
	case "force":
		op.Sync.SyncStrategy = &v1alpha1.SyncStrategy{Hook: &v1alpha1.SyncStrategyHook{SyncStrategyApply: v1alpha1.SyncStrategyApply{Force: true}}}
	case "apply":
		op.Sync.SyncStrategy = &v1alpha1.SyncStrategy{Apply: &v1alpha1.SyncStrategyApply{}}
	case "revision":
		op.Sync.Revision = value
	case "option":
		op.Sync.SyncOptions = append(op.Sync.SyncOptions, value)
	case "retry":
		limit, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return err
		}
		op.Retry = v1alpha1.RetryStrategy{Limit: limit, Backoff: &v1alpha1.Backoff{Duration: "10s"}}
	case "only":
		r, err := w.ref(value)
		if err != nil {
			return err
		}
		op.Sync.Resources = append(op.Sync.Resources, v1alpha1.SyncOperationResource{Group: r.group, Kind: r.kind, Name: r.name})
	default:
		return fmt.Errorf("a sync knows no %q", text)
	}
	return nil
}

// terminate APP ends the running operation as a person does, who has seen it begin.
func terminate(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	name := w.app(args[0])
	err := w.eventually(ctx, func() error { return appIs(ctx, w, []string{args[0], "operation=Running"}) })
	if err != nil {
		return err
	}
	_, err = w.patchObject(ctx, applications(), name.Namespace, name.Name, map[string]any{
		"status": map[string]any{"operationState": map[string]any{"phase": v1alpha1.OperationTerminating}},
	})
	return err
}

// refresh APP asks for a new look, and waits until it has been had.
func refresh(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	name := w.app(args[0])
	_, err := w.patchObject(ctx, applications(), name.Namespace, name.Name, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRefresh: v1alpha1.RefreshNormal}},
	})
	if err != nil {
		return err
	}
	return w.eventually(ctx, func() error {
		app := &v1alpha1.Application{}
		if err := w.client.Get(ctx, name, app); err != nil {
			return err
		}
		if _, waiting := app.Annotations[v1alpha1.AnnotationRefresh]; waiting {
			return errors.New("the Application was not looked at")
		}
		return nil
	})
}

// restart stops the scenario's own controller and starts another.
func restart(_ context.Context, w *world, _ *testscript.TestScript, _ []string) error {
	if w.controller == w.stage.controller {
		return errors.New("only a scenario with a controller of its own can restart it")
	}
	w.controller.stop()
	w.controller = startController(w.t, w.env, w.controller)
	return nil
}

// deleteObject OBJECT... deletes without waiting; what is not there is no error.
func deleteObject(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	for _, arg := range args {
		r, err := w.ref(arg)
		if err != nil {
			return err
		}
		resource, err := w.resource(r)
		if err != nil {
			return err
		}
		if r.name, err = oneOf(ctx, resource, r.name); err != nil {
			return err
		}
		background := metav1.DeletePropagationBackground
		if err := resource.Delete(ctx, r.name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// oneOf returns the first name, in order, that a pattern and the labels behind it in
// brackets fit; a name without any wildcard stands for itself.
func oneOf(ctx context.Context, resource dynamic.ResourceInterface, pattern string) (string, error) {
	glob, labels, _ := strings.Cut(strings.TrimSuffix(pattern, "]"), "[")
	if !strings.Contains(glob, "*") {
		return pattern, nil
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return "", err
	}
	var names []string
	for _, item := range list.Items {
		if fits, err := path.Match(glob, item.GetName()); err == nil && fits && item.GetDeletionTimestamp() == nil {
			names = append(names, item.GetName())
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("there is no %s", pattern)
	}
	return slices.Min(names), nil
}

// patch OBJECT YAML merges a change into an object.
func patch(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	if len(args) != 2 && len(args) != 3 {
		return errors.New("patch OBJECT CHANGE [MANAGER]")
	}
	manager := person
	if len(args) == 3 {
		manager = args[2]
	}
	r, err := w.ref(args[0])
	if err != nil {
		return err
	}
	resource, err := w.resource(r)
	if err != nil {
		return err
	}
	data, err := asJSON(args[1])
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, r.name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager})
	return err
}

// write FILE MANAGER OPERATION brings objects into the cluster as another tool
// does: by server-side apply or by updates.
func write(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	if len(args) != 3 || args[2] != "Apply" && args[2] != "Update" {
		return errors.New("write FILE MANAGER Apply|Update")
	}
	text, err := w.read(args[0])
	if err != nil {
		return err
	}
	return w.writeText(ctx, text, writer{manager: args[1], apply: args[2] == "Apply"})
}

// knock FILE FIELD=VALUE... writes the only object of a file until admission has
// made it like that, and deletes it: the API server takes a moment to heed a policy.
// With refused it waits until the object is refused.
func knock(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("knock FILE refused, or knock FILE FIELD=VALUE [FIELD=VALUE...]")
	}
	text, err := w.read(args[0])
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		return err
	}
	name := obj.GetKind() + "/" + obj.GetName()
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := w.put(ctx, obj.DeepCopy(), writer{manager: person})
		if args[1] == "refused" && (err == nil || refused(err)) {
			// The policy may have come into force since, and be about deletions too.
			deleted := deleteObject(ctx, w, nil, []string{name})
			if refused(deleted) {
				return true, nil
			}
			return err != nil, deleted
		}
		if err != nil {
			return false, err
		}
		unmet := present(ctx, w, append([]string{name}, args[1:]...))
		return unmet == nil, deleteObject(ctx, w, nil, []string{name})
	})
}

// refused tells whether admission refused a write: what a ValidatingAdmissionPolicy
// denies is invalid unless the policy names another reason.
func refused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) }

// remember OBJECT... keeps what the objects are now, for same, unchanged and
// recreated.
func remember(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	for _, arg := range args {
		r, err := w.ref(arg)
		if err != nil {
			return err
		}
		if w.marks[arg], err = w.get(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/why"
)

const (
	// waitingHook lacks a Secret.
	waitingHook = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: "-1"}}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example.com/migrate:1", envFrom: [{secretRef: {name: absent}}]}]}}
`
	// needy is applied when somebody else has brought a Secret.
	needy = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: needy, annotations: {wavetrain.dev/needs: Secret/later}}\n"
)

// another makes an Application of another folder that is synced of its own accord.
func (w *plannedWorld) another(name, path string) {
	w.Helper()
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.control, Name: name},
		Spec: v1alpha1.ApplicationSpec{
			Source:      &v1alpha1.ApplicationSource{RepoURL: w.repo.URL, Path: path, TargetRevision: "main"},
			Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: w.target},
			SyncPolicy:  &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}},
		},
	}
	if err := w.client.Create(w.Context(), app); err != nil {
		w.Fatal(err)
	}
}

// becomes waits until an Application is as it is to be.
func (w *plannedWorld) becomes(name, what string, is func(*v1alpha1.Application) bool) *v1alpha1.Application {
	w.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		w.name = name
		app := w.application()
		if is(app) {
			return app
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s is not %s: %+v\n%s", name, what, app.Status.OperationState, w.log)
		}
	}
}

// why asks for the reason and returns it as data.
func (w *plannedWorld) why(want int, args ...string) why.Answer {
	w.Helper()
	stdout, _ := w.cli(want, append(append([]string{"why"}, args...), "-o", "json")...)
	var answer why.Answer
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		w.Fatalf("why %q: %v:\n%s", args, err, stdout)
	}
	return answer
}

// objectsOf are the objects of a chain and how they are; Pods without what was made up
// for their names.
func objectsOf(chain []why.Link) string {
	var words []string
	for _, l := range chain {
		name := l.Object.Short()
		if l.Object.Kind == "Pod" {
			name = name[:strings.LastIndex(name, "-")+1] + "*"
		}
		words = append(words, name+" "+l.State)
	}
	return strings.Join(words, ", ")
}

// TestWhy asks about Applications that wait, for a hook and for what others bring, and
// about one that does not.
func TestWhy(t *testing.T) {
	w := withoutController(t, "why-hook", map[string]string{
		"hook/job.yaml": waitingHook, "hook/after.yaml": plannedConfig("after", "0", "one"),
		"needs/needy.yaml": needy, "fine/a.yaml": plannedConfig("fine", "0", "one"),
	})
	w.log = start(t, w.serving()...).err
	w.another("why-hook", "hook")
	w.another("why-needs", "needs")
	w.another("why-fine", "fine")
	message := func(app *v1alpha1.Application) string {
		if app.Status.OperationState == nil {
			return ""
		}
		return app.Status.OperationState.Message
	}

	// A hook, whose Pod lacks a Secret that nobody brings.
	app := w.becomes("why-hook", "waiting for the Secret", func(app *v1alpha1.Application) bool {
		return strings.Contains(message(app), "Secret/absent missing")
	})
	if text := message(app); strings.Contains(text, "\n") || !strings.Contains(text, "Job/migrate") {
		t.Errorf("the message of the operation is %q", text)
	}
	const chain = "Job/migrate Progressing, Pod/migrate-* CreateContainerConfigError, Secret/absent missing"
	for _, args := range [][]string{{"why-hook"}, {"why-hook", "Job/migrate"}, {"job/" + w.target + "/migrate"}} {
		answer := w.why(exitFailed, args...)
		if !answer.Waits || len(answer.Chains) != 1 || objectsOf(answer.Chains[0]) != chain {
			t.Errorf("why %q: %+v", args, answer)
		}
	}
	stdout, _ := w.cli(exitFailed, "why", "why-hook")
	for _, want := range []string{"Job/migrate running ", "its Pod/migrate-", `CreateContainerConfigError: secret "absent" not found: Secret/absent missing`} {
		if !strings.Contains(stdout, want) {
			t.Errorf("in words it lacks %q:\n%s", want, stdout)
		}
	}

	// What others bring, until they have.
	w.becomes("why-needs", "waiting for the Secret", func(app *v1alpha1.Application) bool { return strings.Contains(message(app), "Secret/later") })
	if answer := w.why(exitFailed, "why-needs"); !answer.Waits || len(answer.Chains) == 0 || objectsOf(answer.Chains[0]) != "Secret/later missing" {
		t.Errorf("why why-needs: %+v", answer)
	}
	if err := w.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "later"}}); err != nil {
		t.Fatal(err)
	}

	// Nothing, when all is done.
	for _, name := range []string{"why-fine", "why-needs"} {
		w.becomes(name, "synced", func(app *v1alpha1.Application) bool {
			return app.Status.Sync.Status == v1alpha1.SyncStatusSynced && app.Status.OperationState != nil && app.Status.OperationState.Phase == v1alpha1.OperationSucceeded
		})
		if answer := w.why(exitOK, name); answer.Waits || len(answer.Chains) > 0 {
			t.Errorf("why %s: %+v", name, answer)
		}
	}
	if stdout, _ := w.cli(exitOK, "why", "configmap/"+w.target+"/fine"); stdout != "configmap/"+w.target+"/fine waits for nothing\n" {
		t.Errorf("of an object that is there it says %q", stdout)
	}
	w.cli(exitUsage, "why", "why-fine", "a/b/c/d")
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
)

// process is a controller that can be killed.
type process struct {
	*testing.T
	args []string
	env  []string
	log  *talk
	cmd  *exec.Cmd
}

func (p *process) start() {
	p.Helper()
	p.cmd = exec.Command("wavetrain", p.args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.env, p.log, p.log
	if err := p.cmd.Start(); err != nil {
		p.Fatal(err)
	}
}

// kill ends the controller as the kernel would, and returns when it is gone.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// guard is an admission webhook in front of the ConfigMaps of a namespace. It lets
// everything pass, and keeps who asks about the one that it holds waiting.
type guard struct {
	*testing.T
	// hold is the name of the ConfigMap whose creation waits, asked is told when
	// somebody waits, and released lets them go.
	hold     atomic.Pointer[string]
	asked    chan struct{}
	released atomic.Pointer[chan struct{}]
	// passed counts the questions that were answered.
	passed atomic.Int64
}

func newGuard(w *plannedWorld) *guard {
	w.Helper()
	g := &guard{T: w.T, asked: make(chan struct{}, 16)}
	server := httptest.NewTLSServer(g)
	w.Cleanup(server.Close)
	w.Cleanup(g.release)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	none, fail, url, patience := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, server.URL+"/guard", int32(30)
	err := w.client.Create(w.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.target},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "guard.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.target}},
			FailurePolicy:     &fail, SideEffects: &none, TimeoutSeconds: &patience, AdmissionReviewVersions: []string{"v1"},
		}},
	})
	if err != nil {
		w.Fatal(err)
	}
	// The API server learns of it in time.
	for deadline := time.Now().Add(time.Minute); g.passed.Load() == 0; time.Sleep(50 * time.Millisecond) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "probe"}}
		if err := w.client.Create(w.Context(), probe, client.DryRunAll); err != nil {
			w.Fatal(err)
		}
		if time.Now().After(deadline) {
			w.Fatal("the webhook is not asked")
		}
	}
	return g
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
		g.Error(err)
		return
	}
	if name := g.hold.Load(); name != nil && *name == review.Request.Name {
		released := *g.released.Load()
		g.asked <- struct{}{}
		<-released
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	g.passed.Add(1)
	out.Header().Set("Content-Type", "application/json")
	// Who has been killed no longer listens.
	_ = json.NewEncoder(out).Encode(review)
}

// arm has the next creation of a ConfigMap wait.
func (g *guard) arm(name string) {
	released := make(chan struct{})
	g.released.Store(&released)
	g.hold.Store(&name)
}

// met returns when somebody waits.
func (g *guard) met(log *talk) {
	g.Helper()
	select {
	case <-g.asked:
	case <-time.After(time.Minute):
		g.Fatalf("nobody asks about ConfigMap %s:\n%s", *g.hold.Load(), log)
	}
}

// release lets everything pass from now on.
func (g *guard) release() {
	g.hold.Store(nil)
	if released := g.released.Swap(nil); released != nil {
		close(*released)
	}
}

// ended waits until the operation with a plan has ended.
func (w *plannedWorld) ended(file string) *v1alpha1.OperationState {
	w.Helper()
	list, err := readPlan(file)
	if err != nil {
		w.Fatal(err)
	}
	id := list[0].Plan.ID()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		app := w.application()
		state := app.Status.OperationState
		if app.Operation == nil && state != nil && state.Phase.Completed() && infoOf(state.Operation, controller.InfoPlan) == id {
			return state
		}
		if time.Now().After(deadline) {
			w.Fatalf("the operation has not ended: %+v\n%s", state, w.log)
		}
	}
}

func infoOf(op v1alpha1.Operation, name string) string {
	for _, i := range op.Info {
		if i.Name == name {
			return i.Value
		}
	}
	return ""
}

// asked requests the sync of a plan and does not wait for it.
func (w *plannedWorld) asked(file string) {
	w.Helper()
	w.cli(exitOK, "sync", "--plan", file, "--async")
}

// rolledOut fails unless an operation has done what was planned, at the commit that
// was planned.
func (w *plannedWorld) rolledOut(file string, groups [][]string, commit string) {
	w.Helper()
	state := w.ended(file)
	if state.Phase != v1alpha1.OperationSucceeded || state.SyncResult == nil || state.SyncResult.Revision != commit {
		w.Errorf("the operation is %s (%s) at %+v, planned was %s", state.Phase, state.Message, state.SyncResult, commit)
	}
	w.asPlanned(groups)
}

// A plan that somebody has asked for outlives a controller that is killed before its
// first write: what the next one rolls out is that plan, or nothing, whatever has been
// committed since.
func TestPlanOutlivesTheController(t *testing.T) {
	w := withoutController(t, "lasting", map[string]string{"app/a.yaml": plannedConfig("a", "0", "one"), "app/old.yaml": plannedConfig("old", "1", "one")})
	w.log = newTalk()
	p := &process{T: t, args: w.serving(), env: []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, log: w.log}
	t.Cleanup(p.kill)
	p.start()
	w.begin()
	file, groups := w.planned()
	w.sync(exitOK, file)
	w.asPlanned(groups)
	guard := newGuard(w)

	// Killed before it has heard of the request.
	two := w.repo.Commit("two", map[string]string{"app/a.yaml": plannedConfig("a", "0", "two"), "app/old.yaml": "-", "app/new.yaml": plannedConfig("new", "1", "two")})
	file, groups = w.planned()
	w.forget()
	p.kill()
	w.asked(file)
	three := w.repo.Commit("three", map[string]string{"app/a.yaml": plannedConfig("a", "0", "three"), "app/more.yaml": plannedConfig("more", "1", "three")})
	p.start()
	w.rolledOut(file, groups, two)

	// Killed while the API server tries the steps.
	file, groups = w.planned()
	w.forget()
	guard.arm("more")
	w.asked(file)
	guard.met(w.log)
	p.kill()
	if done := w.done(); len(done) > 0 {
		t.Errorf("killed before its first write it has done %q", done)
	}
	w.repo.Commit("four", map[string]string{"app/a.yaml": plannedConfig("a", "0", "four"), "app/last.yaml": plannedConfig("last", "1", "four")})
	guard.release()
	p.start()
	w.rolledOut(file, groups, three)

	// The same, and the world moves meanwhile.
	file, _ = w.planned()
	guard.arm("last")
	w.asked(file)
	guard.met(w.log)
	p.kill()
	moved := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "a"}}
	w.patch(moved, `{"data":{"v":"somebody"}}`)
	w.shown(moved)
	w.forget()
	guard.release()
	p.start()
	state := w.ended(file)
	if !strings.HasPrefix(state.Message, controller.PlanRefused) || !strings.Contains(state.Message, "ConfigMap/a (Sync/0) was changed on the cluster: data.v") {
		t.Errorf("the operation is %s: %s", state.Phase, state.Message)
	}
	if done := w.done(); len(done) > 0 {
		t.Errorf("although refused, it has done %q", done)
	}
	if value := w.value("a"); value != "somebody" {
		t.Errorf("the value is %q, although the plan is refused", value)
	}
}

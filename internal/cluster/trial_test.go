// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// trials counts the dry runs that the API server has answered.
type trials struct {
	*bench
	log string
}

func (b *trials) count() (n int) {
	for _, r := range sandboxtest.Requests(b.t, b.log) {
		if r.DryRun() && r.UserAgent == "wavetrain" {
			n++
		}
	}
	return n
}

// asks tells how often the API server is asked for a trial.
func (b *trials) asks(u *unstructured.Unstructured, anew bool) (int, error) {
	before := b.count()
	err := b.Try(b.ctx(), u, anew, ApplyOptions{})
	return b.count() - before, err
}

func (b *trials) mustAsk(why string, u *unstructured.Unstructured, anew bool, want int) {
	b.t.Helper()
	if got, err := b.asks(u, anew); got != want || err != nil {
		b.t.Errorf("%s: %d dry runs, want %d (%v)", why, got, want, err)
	}
}

// What the API server has accepted it is not asked again, until something changes
// on which its answer depends.
func TestTrialsAreRemembered(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	env := sandboxtest.Start(t, sandboxtest.Options{AuditLog: log, Own: true})
	t.Run("Objects", func(t *testing.T) { trialsOfObjects(&trials{bench: benchOn(t, env), log: log}) })
	t.Run("Schemas", func(t *testing.T) { trialsOfSchemas(&trials{bench: benchOn(t, env), log: log}) })
	t.Run("Repeated", func(t *testing.T) { repeatedWrites(&trials{bench: benchOn(t, env), log: log}) })
}

func trialsOfObjects(b *trials) {
	b.watch(configMaps(), schema.GroupKind{Kind: "Namespace"})
	u := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: one}}")
	b.mustAsk("never tried", u, false, 1)
	b.mustAsk("tried", u, false, 0)
	b.mustAsk("a creation is another request", u, true, 1)
	b.mustAsk("the creation was tried", u, true, 0)

	other := u.DeepCopy()
	if err := unstructured.SetNestedField(other.Object, "two", "data", "a"); err != nil {
		b.t.Fatal(err)
	}
	b.mustAsk("another content", other, false, 1)

	b.apply(u)
	b.mustAsk("it was accepted as a creation, now it is an update", other, false, 1)
	b.mustAsk("the update was tried", other, false, 0)
	before, _ := b.Get(b.key("ConfigMap", "settings"))
	b.merge(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, b.namespace, "settings", `{"data":{"b":"three"}}`)
	b.eventually("the change is seen", func() bool {
		live, _ := b.Get(b.key("ConfigMap", "settings"))
		return live.GetResourceVersion() != before.GetResourceVersion()
	})
	b.mustAsk("the live object changed", other, false, 1)
	b.mustAsk("others changed what we wrote last", u, false, 0)
	b.apply(other)
	b.mustAsk("we wrote something else since", u, false, 1)
	b.merge(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, b.namespace, "settings", `{"data":{"b":"four"}}`)
	b.eventually("the next change is seen", func() bool {
		live, _ := b.Get(b.key("ConfigMap", "settings"))
		return live.Object["data"].(map[string]any)["b"] == "four"
	})
	b.mustAsk("others changed that, too", other, false, 0)

	b.merge(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", b.namespace, `{"metadata":{"labels":{"team":"a"}}}`)
	b.eventually("the label is seen", func() bool {
		live, _ := b.Get(manifest.Key{Kind: "Namespace", Name: b.namespace})
		return live.GetLabels()["team"] == "a"
	})
	b.mustAsk("the namespace has other labels", other, false, 1)
	b.mustAsk("tried with these labels", other, false, 0)

	b.refuse()
	if got, err := b.asks(other, false); got == 0 || !IsRejected(err) {
		b.t.Errorf("a policy came that refuses: %d dry runs, %v", got, err)
	}
	if got, err := b.asks(other, false); got == 0 || !IsRejected(err) {
		b.t.Errorf("a refusal is not remembered: %d dry runs, %v", got, err)
	}
}

// A schema that changes makes what was accepted under the one before uncertain.
func trialsOfSchemas(b *trials) {
	definition := func(maximum string) *unstructured.Unstructured {
		return read(b.t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.trial.test}
spec:
  group: trial.test
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer, maximum: `+maximum+`}}}}
`)
	}
	b.apply(definition("10"))
	widgets := schema.GroupKind{Group: "trial.test", Kind: "Widget"}
	u := b.object("{apiVersion: trial.test/v1, kind: Widget, metadata: {name: big}, size: 7}")
	if _, err := b.Apply(b.ctx(), u, ApplyOptions{DryRun: true}); err != nil {
		b.t.Fatal(err)
	}
	b.watch(widgets, schema.GroupKind{Kind: "Namespace"})
	b.mustAsk("never tried while watched", u, false, 1)
	b.mustAsk("tried", u, false, 0)
	b.apply(definition("5"))
	if got, err := b.asks(u, false); got == 0 {
		b.t.Errorf("the schema changed: %d dry runs, %v", got, err)
	}
}

// merge makes another client's change.
func (b *trials) merge(gvr schema.GroupVersionResource, namespace, name, patch string) {
	b.t.Helper()
	client := dynamicIn(b.other, gvr, namespace)
	if _, err := client.Patch(b.ctx(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// refuse makes a policy that refuses every ConfigMap of the namespace, and waits
// until it is in force.
func (b *trials) refuse() {
	b.t.Helper()
	for kind, text := range map[string]string{
		"validatingadmissionpolicies": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuses}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations: [{expression: "false", message: no ConfigMaps here}]
`,
		"validatingadmissionpolicybindings": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuses}
spec:
  policyName: refuses
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + b.namespace + `}}}
`,
	} {
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: kind}
		if _, err := b.other.Resource(gvr).Create(b.ctx(), read(b.t, text), metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
	}
	b.eventually("the policy is seen", func() bool {
		return len(b.List(schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"})) > 0 &&
			len(b.List(schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"})) > 0
	})
	// Another object shows when the API server heeds the policy.
	probe := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe}}")
	deadline := time.Now().Add(patient)
	for {
		_, err := b.other.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(b.namespace).
			Create(b.ctx(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err != nil:
			return
		case time.Now().After(deadline):
			b.t.Fatal("the policy does not come into force")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func dynamicIn(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return client.Resource(gvr)
	}
	return client.Resource(gvr).Namespace(namespace)
}

// A write that is made again is known by what it writes and to whom, as long as
// nobody changes what is written.
func repeatedWrites(b *trials) {
	b.watch(configMaps(), schema.GroupKind{Kind: "Namespace"})
	u := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: one}}")
	repeats := func(why string, u *unstructured.Unstructured, want bool) {
		b.t.Helper()
		b.eventually(why, func() bool { return b.Repeats(b.ctx(), u, ApplyOptions{DryRun: true}) == want })
	}
	if err := b.Try(b.ctx(), u, false, ApplyOptions{}); err != nil {
		b.t.Fatal(err)
	}
	repeats("it was not written", u, false)
	b.apply(u)
	repeats("it was written", u, true)
	b.merge(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, b.namespace, "settings", `{"data":{"a":"other"}}`)
	repeats("others have changed it", u, true)
	other := u.DeepCopy()
	other.SetLabels(map[string]string{"more": "x"})
	repeats("something else is written", other, false)

	hook := func(name, resource string) *unstructured.Unstructured {
		return read(b.t, "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: "+b.namespace+"-"+name+"}, webhooks: [{name: a.example.test, "+
			"admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, timeoutSeconds: 1, clientConfig: {url: 'https://127.0.0.1:1/'}, objectSelector: {matchLabels: {nobody: has}}, "+
			"rules: [{apiGroups: [''], apiVersions: [v1], operations: [UPDATE], resources: ["+resource+"]}]}]}")
	}
	b.apply(hook("others", "secrets"))
	b.apply(u)
	repeats("a webhook changes other kinds", u, true)
	mutating := b.apply(hook("these", "configmaps"))
	b.apply(u)
	repeats("a webhook may change it", u, false)
	if err := b.Delete(b.ctx(), manifest.KeyOf(mutating), DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
	repeats("the configuration is not that of the last write", u, false)
	b.apply(u)
	repeats("written without the webhook", u, true)
	if err := b.Delete(b.ctx(), manifest.KeyOf(u), DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
	repeats("it is gone", u, false)
}

// What was accepted is known until much else was, and for ever if it is asked for.
func TestAcceptancesAreBounded(t *testing.T) {
	a := newAcceptances()
	of := func(n int) (w acceptance) {
		w[0], w[1], w[2] = byte(n), byte(n>>8), byte(n>>16)
		return w
	}
	for n := range 2 * maxAcceptances {
		a.add(of(n))
		if n%1000 == 0 && !a.accepts(of(0)) {
			t.Fatalf("what is asked for all the time is forgotten after %d", n)
		}
	}
	if a.accepts(of(1)) || !a.accepts(of(2*maxAcceptances-1)) {
		t.Error("what was asked for longest ago is to be forgotten, and nothing else")
	}
	if held := len(a.known) + len(a.knownBefore); held > maxAcceptances {
		t.Errorf("%d are held", held)
	}
}

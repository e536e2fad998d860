// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

func ovenKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "bakery.example.test", Version: "v1", Kind: "Oven"}
}

// serveOvens has the API server serve a kind that nobody knows anything about.
func (w *world) serveOvens() {
	w.t.Helper()
	keep := true
	gvk := ovenKind()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "ovens." + gvk.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvk.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "ovens", Kind: gvk.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gvk.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep,
				}},
			}},
		},
	}
	if err := w.client.Create(w.t.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	w.eventually(20*time.Second, "ovens are served", func() (bool, string) {
		err := w.client.List(w.t.Context(), w.ovens())
		return err == nil, fmt.Sprint(err)
	})
}

func (w *world) ovens() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(ovenKind())
	return list
}

// heat is what the oven's controller would do.
func (w *world) heat(name, phase string) {
	w.t.Helper()
	oven := &unstructured.Unstructured{}
	oven.SetGroupVersionKind(ovenKind())
	oven.SetNamespace(w.Target)
	oven.SetName(name)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"`+phase+`"}}`))
	if err := w.client.Status().Patch(w.t.Context(), oven, patch); err != nil {
		w.t.Fatal(err)
	}
}

// settings makes argocd-cm say this and nothing else.
func (w *world) settings(data map[string]string) {
	w.t.Helper()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Control, Name: "argocd-cm"}, Data: data}
	err := w.client.Update(w.t.Context(), settings)
	if apierrors.IsNotFound(err) {
		err = w.client.Create(w.t.Context(), settings)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// ovenRule is a health script that calls a phase healthy.
func ovenRule(phase string) string {
	return `
local hs = {status = "Progressing", message = "the oven is new"}
if obj.status ~= nil and obj.status.phase ~= nil then
  hs.message = "the oven is " .. obj.status.phase
  if obj.status.phase == "` + phase + `" then
    hs.status = "Healthy"
  end
end
return hs
`
}

func TestHealthRulesOfPeopleGateWavesAndChangeUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutController(t, sandboxtest.Options{})
	w.serveOvens()
	const key = "resource.customizations.health.bakery.example.test_Oven"
	// Before the controller: it may see an Application before settings of the same moment.
	w.settings(map[string]string{key: ovenRule("hot")})
	w.start(t)
	repo := gittest.New(t, map[string]string{
		"app/oven.yaml":  "apiVersion: bakery.example.test/v1\nkind: Oven\nmetadata: {name: big}\n",
		"app/bread.yaml": configMap("bread", annotated("argocd.argoproj.io/sync-wave", "1")),
	})
	name := w.app("bakery", repo, "app")
	waits := func(words string) func(*v1alpha1.Application) bool {
		return func(app *v1alpha1.Application) bool {
			s := app.Status.OperationState
			return s != nil && s.Phase == v1alpha1.OperationRunning && strings.Contains(s.Message, words)
		}
	}
	w.until(name, 30*time.Second, "waiting in the script's words", waits("the oven is new"))
	w.heat("big", "warm")
	w.until(name, 30*time.Second, "waiting for more than warm", waits("the oven is warm"))
	if w.exists("bread", &corev1.ConfigMap{}) {
		t.Fatal("the second wave came before the script called the first healthy")
	}

	// Nothing but the rule changes, and that is enough.
	w.settings(map[string]string{key: ovenRule("warm")})
	w.until(name, 30*time.Second, "converged", converged)
	if oven, bread := w.first("Oven", "big", timeline.Created), w.first("ConfigMap", "bread", timeline.Created); oven.ResourceVersion >= bread.ResourceVersion {
		t.Errorf("the oven was made at %d, the bread at %d", oven.ResourceVersion, bread.ResourceVersion)
	}

	for _, step := range []struct {
		rules map[string]string
		want  v1alpha1.HealthStatusCode
		says  string
	}{
		{map[string]string{"wavetrain.dev.health.bakery.example.test_Oven": "[{when: object.status.phase == 'warm', status: Degraded, message: too cold}]"}, v1alpha1.HealthDegraded, "too cold"},
		{map[string]string{key: "local hs = {}\nreturn hs.none.status"}, v1alpha1.HealthStatusCode("Unknown"), key + ":2:"},
		{nil, v1alpha1.HealthHealthy, ""},
	} {
		w.settings(step.rules)
		w.until(name, 20*time.Second, string(step.want)+" "+step.says, func(app *v1alpha1.Application) bool {
			return app.Status.Health.Status == step.want && strings.Contains(app.Status.Health.Message, step.says)
		})
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func objects(t *testing.T, text string) []manifest.Object {
	t.Helper()
	list, err := manifest.Decode("bootstrap.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestApplyBootstrap(t *testing.T) {
	scheme, err := apiScheme()
	if err != nil {
		t.Fatal(err)
	}
	served := meta.NewDefaultRESTMapper(nil)
	served.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	served.Add(v1alpha1.GroupVersion().WithKind("Application"), meta.RESTScopeNamespace)
	served.Add(v1alpha1.GroupVersion().WithKind("AppProject"), meta.RESTScopeNamespace)
	var applied []string
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(served).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			if err != nil {
				return err
			}
			applied = append(applied, manifest.KeyOf(&unstructured.Unstructured{Object: fields}).String())
			return nil
		},
	}).Build()

	later, err := applyBootstrap(t.Context(), c, "argocd", objects(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root}
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: letsencrypt}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: team, namespace: elsewhere}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Namespace/shop", "argoproj.io/AppProject/elsewhere/team", "argoproj.io/Application/argocd/root"}
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Errorf("Namespaces first, Applications last, in the control namespace unless they name another (-want +got):\n%s", diff)
	}
	if len(later) != 1 || later[0].GetName() != "letsencrypt" {
		t.Errorf("later %v, want the object whose kind is not served", later)
	}
}

func TestRewritesReplaceThoseOfAnEarlierRun(t *testing.T) {
	scheme, err := apiScheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	former := map[string]string{"https://git.example.com/acme/former": "http://127.0.0.1:1/repo.git"}
	want := map[string]string{
		"https://git.example.com/acme/shop": "http://127.0.0.1:2/repo.git",
		"git@git.example.com:acme/shop":     "http://127.0.0.1:2/repo.git",
	}
	for _, rewrites := range []map[string]string{former, want} {
		if err := publishRewrites(t.Context(), c, "argocd", rewrites); err != nil {
			t.Fatal(err)
		}
	}
	var secrets corev1.SecretList
	if err := c.List(t.Context(), &secrets, client.MatchingLabels{controller.SecretTypeLabel: controller.SecretTypeRepository}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, secret := range secrets.Items {
		got[string(secret.Data[controller.SecretKeyURL])] = string(secret.Data[controller.SecretKeyFetchURL])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

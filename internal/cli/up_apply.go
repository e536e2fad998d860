// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/crds"
	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// apply applies an object as the controller would, so that an Application that
// comes to manage it finds its own fields.
func apply(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	obj = obj.DeepCopy()
	unstructured.RemoveNestedField(obj.Object, "status")
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(manifest.FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s: %w", manifest.KeyOf(obj).Short(), err)
	}
	return nil
}

// applyTyped is apply for one of the API's types.
func applyTyped(ctx context.Context, c client.Client, obj client.Object) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return apply(ctx, c, u)
}

// installCRDs installs the definitions of Wavetrain's and Argo CD's kinds and
// returns when they are served.
func installCRDs(ctx context.Context, c client.Client) error {
	all, err := crds.All()
	if err != nil {
		return err
	}
	for _, crd := range all {
		if err := applyTyped(ctx, c, crd); err != nil {
			return err
		}
	}
	for _, crd := range all {
		if err := awaitKind(ctx, c, crd); err != nil {
			return fmt.Errorf("install %s: %w", crd.Name, err)
		}
	}
	return nil
}

// awaitKind waits until a kind can be listed: a definition is established a
// moment before its kind is really served.
func awaitKind(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(crd.Spec.Group + "/" + crd.Spec.Versions[0].Name)
	list.SetKind(crd.Spec.Names.ListKind)
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		err := c.List(ctx, list, client.Limit(1))
		if notServed(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// notServed tells whether an error says that the cluster does not serve a kind.
func notServed(err error) bool {
	var noKind *meta.NoKindMatchError
	return errors.As(err, &noKind) || meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}

func ensureNamespace(ctx context.Context, c client.Client, name string) error {
	ns := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	return applyTyped(ctx, c, ns)
}

// labelServedBy marks the Secrets of ours that say where a repository is really
// fetched from.
const labelServedBy = "wavetrain.dev/served-by"

// publishRewrites writes a Secret per URL, so that other commands fetch where the
// controller does. Those of an earlier run are replaced.
func publishRewrites(ctx context.Context, c client.Client, namespace string, rewrites map[string]string) error {
	err := c.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(namespace), client.MatchingLabels{labelServedBy: "up"})
	if err != nil {
		return fmt.Errorf("delete Secrets of an earlier run: %w", err)
	}
	for url, fetch := range rewrites {
		sum := sha256.Sum256([]byte(url))
		secret := &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: "repository-" + hex.EncodeToString(sum[:5]),
				Labels: map[string]string{controller.SecretTypeLabel: controller.SecretTypeRepository, labelServedBy: "up"},
			},
			Data: map[string][]byte{controller.SecretKeyURL: []byte(url), controller.SecretKeyFetchURL: []byte(fetch)},
		}
		if err := applyTyped(ctx, c, secret); err != nil {
			return err
		}
	}
	return nil
}

// applicationNamespaces are the namespaces of Applications that the objects which
// are applied by hand permit, as an installation of Argo CD would be told.
func applicationNamespaces(objects []manifest.Object) []string {
	for _, obj := range objects {
		if obj.GetKind() == "ConfigMap" && obj.GetName() == controller.ParametersName {
			parameters, _, _ := unstructured.NestedStringMap(obj.Object, "data")
			return controller.NamespacesIn(parameters)
		}
	}
	return nil
}

// applyBootstrap applies objects in an order that works, Namespaces and
// definitions first, and returns those whose kind is not served yet.
func applyBootstrap(ctx context.Context, c client.Client, namespace string, objects []manifest.Object) (later []manifest.Object, err error) {
	ordered := slices.Clone(objects)
	slices.SortStableFunc(ordered, func(a, b manifest.Object) int { return bootstrapRank(a) - bootstrapRank(b) })
	for _, obj := range ordered {
		u := obj.DeepCopy()
		gvk := u.GroupVersionKind()
		mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		case notServed(err):
			later = append(later, obj)
			continue
		case err != nil:
			return later, fmt.Errorf("apply %s of %s: %w", obj.Key().Short(), obj.Provenance.File, err)
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace && u.GetNamespace() == "" {
			u.SetNamespace(namespace)
		}
		if err := apply(ctx, c, u); err != nil {
			return later, fmt.Errorf("%s: %w", obj.Provenance.File, err)
		}
	}
	return later, nil
}

func bootstrapRank(obj manifest.Object) int {
	order := []string{"Namespace", "CustomResourceDefinition", "AppProject"}
	if i := slices.Index(order, obj.GetKind()); i >= 0 {
		return i
	}
	return len(order)
}

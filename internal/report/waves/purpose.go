// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// purposeOf says what an object is for, and how we know: from the object, from
// the repository's configuration, or from what the object does.
func purposeOf(s Service, e entry, in inference) (purpose, from string) {
	if text := strings.TrimSpace(e.object.GetAnnotations()[manifest.AnnotationPurpose]); text != "" {
		return oneLine(text), fromAnnotation
	}
	if text, ok := s.Config.PurposeOf(e.Kind, e.Name); ok {
		return oneLine(text), fromConfig
	}
	text := in.infer(e)
	if e.Phase == DeleteOnly {
		text = join(text, deletionHook(e))
	}
	if text == "" {
		return "", ""
	}
	return oneLine(text), fromInference
}

func deletionHook(e entry) string {
	return fmt.Sprintf("(%s hook, uninstall only)", strings.Join(e.Hook, ", "))
}

// inference reads purposes off objects. It knows the other objects of the
// service, because a Role means nothing without its binding.
type inference struct {
	objects map[manifest.Key]*unstructured.Unstructured
}

func (in inference) infer(e entry) string {
	u := e.object
	switch e.key.GroupKind().String() {
	case "ConfigMap":
		return keysOf(u, "data", "binaryData")
	case "Secret":
		return secretPurpose(u)
	case "ServiceAccount":
		return serviceAccountPurpose(u)
	case "Service":
		return servicePurpose(u)
	case "Namespace":
		return "namespace"
	case "PersistentVolumeClaim":
		return join(text(u.Object, "spec", "resources", "requests", "storage"), text(u.Object, "spec", "storageClassName"))
	case "StorageClass.storage.k8s.io":
		return join("volumes by", text(u.Object, "provisioner"))
	case "IngressClass.networking.k8s.io":
		return join("ingresses of", text(u.Object, "spec", "controller"))
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		return webhookPurpose(u)
	case "Ingress.networking.k8s.io", "Ingress.extensions":
		return ingressPurpose(u)
	case "NetworkPolicy.networking.k8s.io":
		return networkPolicyPurpose(u)
	case "HorizontalPodAutoscaler.autoscaling":
		return autoscalerPurpose(u)
	case "PodDisruptionBudget.policy":
		return budgetPurpose(u)
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return fmt.Sprintf("defines %s (%s)", text(u.Object, "spec", "names", "kind"), text(u.Object, "spec", "group"))
	case "ExternalSecret.external-secrets.io":
		return externalSecretPurpose(u)
	case "SecretStore.external-secrets.io", "ClusterSecretStore.external-secrets.io":
		return join(storeNames(slices.Sorted(maps.Keys(mapping(u.Object, "spec", "provider")))), "access")
	case "Certificate.cert-manager.io":
		return fmt.Sprintf("TLS for %s → %s", some(texts(list(u.Object, "spec", "dnsNames"))), text(u.Object, "spec", "secretName"))
	case "Cluster.postgresql.cnpg.io":
		return fmt.Sprintf("PostgreSQL, %s", count(number(u.Object, 1, "spec", "instances"), "instance"))
	case "Application.argoproj.io":
		return applicationPurpose(u)
	case "Role.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io":
		return in.rolePurpose(e)
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return bindingPurpose(u)
	}
	if spec, _, ok := manifest.PodSpec(u); ok {
		return workloadPurpose(u, spec)
	}
	return ""
}

// rolePurpose speaks of those to whom a binding of the same service gives the
// role.
func (in inference) rolePurpose(e entry) string {
	var purposes []string
	for _, key := range slices.SortedFunc(maps.Keys(in.objects), manifest.Key.Compare) {
		if key.Kind != "RoleBinding" && key.Kind != "ClusterRoleBinding" {
			continue
		}
		binding := in.objects[key]
		if text(binding.Object, "roleRef", "kind") == e.Kind && text(binding.Object, "roleRef", "name") == e.Name {
			purposes = append(purposes, bindingPurpose(binding))
		}
	}
	slices.Sort(purposes)
	if purposes = slices.Compact(purposes); len(purposes) == 1 {
		return purposes[0]
	}
	return "RBAC"
}

func bindingPurpose(u *unstructured.Unstructured) string {
	var names []string
	for _, s := range list(u.Object, "subjects") {
		names = append(names, text(s, "name"))
	}
	if len(names) == 0 {
		return "RBAC"
	}
	return "RBAC for " + some(names)
}

// keysOf names the entries of a ConfigMap or Secret.
func keysOf(u *unstructured.Unstructured, fields ...string) string {
	var keys []string
	for _, f := range fields {
		keys = append(keys, slices.Collect(maps.Keys(mapping(u.Object, f)))...)
	}
	slices.Sort(keys)
	return some(slices.Compact(keys))
}

func secretPurpose(u *unstructured.Unstructured) string {
	switch t := text(u.Object, "type"); t {
	case "kubernetes.io/tls":
		return "TLS certificate"
	case "kubernetes.io/dockerconfigjson":
		return "registry credentials"
	case "kubernetes.io/service-account-token":
		return "token of " + u.GetAnnotations()["kubernetes.io/service-account.name"]
	}
	return keysOf(u, "data", "stringData")
}

// serviceAccountPurpose names the cloud identity that an account stands for.
func serviceAccountPurpose(u *unstructured.Unstructured) string {
	for _, key := range []string{"eks.amazonaws.com/role-arn", "iam.gke.io/gcp-service-account", "azure.workload.identity/client-id"} {
		if id := u.GetAnnotations()[key]; id != "" {
			return "pod identity (" + id + ")"
		}
	}
	return "pod identity"
}

// externalSecretPurpose writes "Vault → frontend-secret (AUTH_SECRET, BILLING_API_KEY)".
func externalSecretPurpose(u *unstructured.Unstructured) string {
	store := storeNames([]string{text(u.Object, "spec", "secretStoreRef", "name")})
	target, keys := text(u.Object, "spec", "target", "name"), []string(nil)
	if target == "" {
		target = u.GetName()
	}
	for _, p := range manifest.Products(u) {
		target, keys = p.Object.Name, p.Keys
	}
	result := store + " → " + target
	if store == "" {
		result = "→ " + target
	}
	if len(keys) > 0 {
		result += " (" + some(keys) + ")"
	}
	return result
}

// storeNames writes names of secret stores and providers the way their makers
// do; any other name stays as it is.
func storeNames(names []string) string {
	proper := map[string]string{
		"vault": "Vault", "aws": "AWS", "gcpsm": "Google Secret Manager", "azurekv": "Azure Key Vault",
		"onepassword": "1Password", "kubernetes": "Kubernetes", "fake": "fake",
	}
	var out []string
	for _, n := range names {
		if p, ok := proper[n]; ok {
			n = p
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}

func applicationPurpose(u *unstructured.Unstructured) string {
	var parts []string
	for _, s := range append([]any{mapping(u.Object, "spec", "source")}, list(u.Object, "spec", "sources")...) {
		for _, field := range []string{"path", "chart"} {
			if v := text(s, field); v != "" {
				parts = append(parts, v)
			}
		}
	}
	result := "delivers " + some(parts)
	if ns := text(u.Object, "spec", "destination", "namespace"); ns != "" {
		result += " to " + ns
	}
	return result
}

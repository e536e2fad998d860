// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// readDefinitions notes which kinds this rendered set defines itself. A
// definition that takes no part in this rollout defines nothing.
func (b *builder) readDefinitions() {
	b.defined = map[schema.GroupKind]bool{}
	for _, o := range b.in.Objects {
		gk, ok := manifest.DefinesKind(o.Unstructured)
		if !ok {
			continue
		}
		class := manifest.Classify(o.Unstructured)
		if len(class.Phases) == 0 || class.Hook && b.skipsHooks() {
			continue
		}
		scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
		b.defined[gk] = scope != "Cluster"
	}
}

// scope answers for the cluster and for the definitions of this set. Of other kinds
// it says what is well known, and counts them as namespaced; they are known only
// where there is no cluster that could contradict.
func (b *builder) scope(gk schema.GroupKind) (namespaced, known bool) {
	if b.in.Scope != nil {
		if namespaced, known = b.in.Scope(gk); known {
			return namespaced, true
		}
	}
	if namespaced, ok := b.defined[gk]; ok {
		return namespaced, true
	}
	return !clusterScoped(gk), b.in.Scope == nil
}

// checkKinds reports objects of kinds that nobody serves.
func (b *builder) checkKinds(items []item) {
	for _, it := range items {
		if it.served || it.class.OnlyOnDelete() || it.class.Hook && b.skipsHooks() {
			continue
		}
		d := diag.Diagnostic{
			Code: CodeKindUnknown, Severity: diag.Error, Subject: it.key, Field: "apiVersion", At: it.obj.Provenance,
			Message: fmt.Sprintf("%s in %s: the cluster does not serve %s %s and no CustomResourceDefinition of this application defines it",
				it.key.Short(), where(it.obj.Provenance), it.obj.GetAPIVersion(), it.key.Kind),
			Hint: "deliver the CustomResourceDefinition before, or set the sync option SkipDryRunOnMissingResource=true if something registers the kind during the rollout",
		}
		if b.in.Options.SkipMissingKinds || manifest.SyncOptions(it.obj.Unstructured).Has("SkipDryRunOnMissingResource=true") {
			d.Code, d.Severity = CodeKindNotKnownYet, diag.Info
			d.Hint = "checked when its turn comes (SkipDryRunOnMissingResource=true)"
		}
		b.find(d)
	}
}

// clusterScoped reports whether a kind that many clusters know is
// cluster-scoped. It serves plans that are made without a cluster.
func clusterScoped(gk schema.GroupKind) bool {
	switch gk.Group {
	case "":
		return gk.Kind == "Namespace" || gk.Kind == "Node" || gk.Kind == "PersistentVolume"
	case "rbac.authorization.k8s.io":
		return gk.Kind == "ClusterRole" || gk.Kind == "ClusterRoleBinding"
	case "networking.k8s.io":
		return gk.Kind == "IngressClass" || gk.Kind == "IPAddress" || gk.Kind == "ServiceCIDR"
	case "storage.k8s.io":
		return gk.Kind != "CSIStorageCapacity"
	case "policy":
		return gk.Kind == "PodSecurityPolicy"
	case "resource.k8s.io":
		return gk.Kind == "DeviceClass" || gk.Kind == "ResourceSlice"
	case "gateway.networking.k8s.io":
		return gk.Kind == "GatewayClass"
	case "apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io",
		"certificates.k8s.io", "flowcontrol.apiserver.k8s.io", "node.k8s.io", "scheduling.k8s.io":
		return true
	case "external-secrets.io":
		return gk.Kind == "ClusterSecretStore" || gk.Kind == "ClusterExternalSecret" || gk.Kind == "ClusterPushSecret"
	case "cert-manager.io":
		return gk.Kind == "ClusterIssuer"
	case "postgresql.cnpg.io":
		return gk.Kind == "ClusterImageCatalog"
	case "kyverno.io":
		return gk.Kind == "ClusterPolicy" || gk.Kind == "ClusterCleanupPolicy"
	case "karpenter.sh", "karpenter.k8s.aws":
		return true
	}
	return false
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
)

// requestsPolicy is the name of the policy that gives containers requests. Upstream's autoscaler refuses to
// compute without them, and then a HorizontalPodAutoscaler would not become active by default.
const requestsPolicy = "wavetrain-simulated-requests"

// smallRequests is what a container gets that asks for nothing: enough to compute a share of it, too little
// to fill a node.
func smallRequests() map[string]string { return map[string]string{"cpu": "10m", "memory": "16Mi"} }

const (
	policyPoll  = 20 * time.Millisecond
	policyLimit = 20 * time.Second
)

// newRequestsPolicy adds requests to Pods as they are created. Templates stay as they are, and so does what
// their author compares.
func newRequestsPolicy() *admissionv1.MutatingAdmissionPolicy {
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: requestsPolicy},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      new(admissionv1.Ignore),
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
		},
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, resource := range slices.Sorted(maps.Keys(smallRequests())) {
			expression := strings.NewReplacer("LIST", list, "RESOURCE", resource, "QUANTITY", smallRequests()[resource]).Replace(
				`Object{spec: Object.spec{LIST: (has(object.spec.LIST) ? object.spec.LIST : [])` +
					`.filter(c, !has(c.resources) || !has(c.resources.requests) || !("RESOURCE" in c.resources.requests))` +
					`.map(c, Object.spec.LIST{name: c.name, resources: Object.spec.LIST.resources{requests: {"RESOURCE": "QUANTITY"}}})}}`)
			policy.Spec.Mutations = append(policy.Spec.Mutations, admissionv1.Mutation{
				PatchType:          admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: expression},
			})
		}
	}
	return policy
}

// newRequestsBinding puts the policy in force but in some namespaces.
func newRequestsBinding(except []string) *admissionv1.MutatingAdmissionPolicyBinding {
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: requestsPolicy},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: requestsPolicy},
	}
	if len(except) > 0 {
		binding.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: except,
			}},
		}}
	}
	return binding
}

// startRequests installs the policy.
func (e *engine) startRequests(ctx context.Context) error {
	api := e.client.AdmissionregistrationV1()
	_, err := api.MutatingAdmissionPolicies().Create(ctx, newRequestsPolicy(), metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = api.MutatingAdmissionPolicyBindings().Create(ctx, newRequestsBinding(nil), metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("install the policy that gives containers requests: %w", err)
	}
	return nil
}

// awaitRequests returns when the API server has taken the policy up, which it does in its own time. It asks
// with a Pod as a node reports it: one that needs no service account, which may not exist yet.
func (e *engine) awaitRequests(ctx context.Context) error {
	probe := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: requestsPolicy, Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "probe"}},
		Spec:       corev1.PodSpec{NodeName: nodeName(1), Containers: []corev1.Container{{Name: "probe", Image: "probe"}}},
	}
	err := wait.PollUntilContextTimeout(ctx, policyPoll, policyLimit, true, func(ctx context.Context) (bool, error) {
		got, err := e.client.CoreV1().Pods(corev1.NamespaceDefault).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return false, nil
		}
		return err == nil && len(got.Spec.Containers[0].Resources.Requests) > 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for policy %s: %w", requestsPolicy, err)
	}
	return nil
}

// syncRequests keeps the policy away from namespaces with a quota: there a container without requests must
// be refused as anywhere else.
func (e *engine) syncRequests(ctx context.Context, _ item) error {
	quotas, err := e.cache.quotas.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list quotas: %w", err)
	}
	namespaces := map[string]bool{}
	for _, quota := range quotas {
		namespaces[quota.Namespace] = true
	}
	want := newRequestsBinding(slices.Sorted(maps.Keys(namespaces)))
	api := e.client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	live, err := api.Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	if selectorOf(live) == selectorOf(want) {
		return nil
	}
	live.Spec.MatchResources = want.Spec.MatchResources
	_, err = api.Update(ctx, live, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// selectorOf is a binding's namespace selector as text; the API server adds defaults around it.
func selectorOf(b *admissionv1.MutatingAdmissionPolicyBinding) string {
	if b.Spec.MatchResources == nil {
		return ""
	}
	return metav1.FormatLabelSelector(b.Spec.MatchResources.NamespaceSelector)
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestPlatform(t *testing.T) {
	prometheus := func(spec, status string) string {
		return object("monitoring.coreos.com/v1", "Prometheus", ", spec: {"+spec+"}, status: {"+status+"}")
	}
	istio := func(status string) string { return reporting("install.istio.io/v1alpha1", "IstioOperator", status) }
	karpenter := func(kind, status string) string { return reporting("karpenter.sh/v1", kind, status) }
	kyverno := func(status string) string { return reporting("kyverno.io/v1", "ClusterPolicy", status) }
	keycloak := func(status string) string { return reporting("k8s.keycloak.org/v2alpha1", "Keycloak", status) }
	run(t, map[string]verdict{
		"prometheus, new":     {reason: "nothing is reported", object: prometheus("", ""), want: Progressing},
		"prometheus, starts":  {reason: "Pods come up one by one", object: prometheus("", `conditions: [{type: Reconciled, status: "True", observedGeneration: 2}, {type: Available, status: Degraded, reason: SomePodsNotReady, observedGeneration: 2}]`), want: Progressing},
		"prometheus":          {reason: "all Pods are ready", object: prometheus("", `conditions: [{type: Reconciled, status: "True"}, {type: Available, status: "True"}]`), want: Healthy},
		"prometheus, half":    {reason: "reconciled alone says nothing of Pods", object: prometheus("", `conditions: [{type: Reconciled, status: "True"}]`), want: Progressing},
		"prometheus, refused": {reason: "the operator cannot make of it what is asked", object: prometheus("", `conditions: [{type: Available, status: "True"}, {type: Reconciled, status: "False", reason: ReconciliationFailed, message: invalid retention}]`), want: Degraded, says: "retention"},
		"prometheus, paused":  {reason: "its owner did that", object: prometheus("paused: true", ""), want: Suspended},
		"a rule of it":        {reason: "rules have no state", object: reporting("monitoring.coreos.com/v1", "PrometheusRule", ""), want: ""},

		"istio, new":       {reason: "nothing is reported", object: istio(""), want: Progressing},
		"istio":            {reason: "its word says so", object: istio("status: HEALTHY"), want: Healthy},
		"istio, by number": {reason: "early versions wrote numbers", object: istio("status: 3"), want: Healthy},
		"istio, error":     {reason: "its word says so", object: istio("status: ERROR, message: cannot reach the API server"), want: Degraded, says: "cannot reach"},
		"istio, newer":     {reason: "its control plane starts", object: reporting("sailoperator.io/v1", "Istio", `observedGeneration: 2, conditions: [{type: Reconciled, status: "True"}, {type: Ready, status: "False", reason: IstiodNotReady}]`), want: Progressing},
		"istio routing":    {reason: "nothing is reported about it", object: reporting("networking.istio.io/v1", "VirtualService", ""), want: ""},

		"node pool":         {reason: "it can make nodes", object: karpenter("NodePool", `conditions: [{type: Ready, status: "True"}]`), want: Healthy},
		"node pool, waits":  {reason: "its class comes in the same wave", object: karpenter("NodePool", `conditions: [{type: NodeClassReady, status: "False"}, {type: Ready, status: "False", reason: UnhealthyDependents}]`), want: Progressing},
		"node pool, wrong":  {reason: "its spec cannot work", object: karpenter("NodePool", `conditions: [{type: Ready, status: "False", reason: ValidationFailed, message: invalid taint}]`), want: Degraded, says: "taint"},
		"node, going":       {reason: "it is being replaced", object: karpenter("NodeClaim", `conditions: [{type: Ready, status: "True"}, {type: Disrupting, status: "True"}]`), want: Suspended},
		"node class":        {reason: "it found its subnets", object: reporting("karpenter.k8s.aws/v1", "EC2NodeClass", `conditions: [{type: Ready, status: "True"}]`), want: Healthy},
		"policy, not yet":   {reason: "its webhooks are not there", object: kyverno(`conditions: [{type: Ready, status: "False", reason: Failed}]`), want: Progressing},
		"policy":            {reason: "it is enforced", object: kyverno(`conditions: [{type: Ready, status: "True", reason: Succeeded, message: Ready}]`), want: Healthy},
		"policy, later":     {reason: "later kinds sum up elsewhere", object: reporting("policies.kyverno.io/v1", "ValidatingPolicy", "conditionStatus: {ready: true}"), want: Healthy},
		"policy, later new": {reason: "nothing is reported", object: reporting("policies.kyverno.io/v1", "ValidatingPolicy", ""), want: Progressing},
		"exception":         {reason: "it has no state", object: reporting("policies.kyverno.io/v1", "PolicyException", ""), want: ""},

		"keycloak, starts": {reason: "False is how it begins", object: keycloak(`conditions: [{type: Ready, status: "False", message: Waiting for more replicas}, {type: HasErrors, status: "False"}]`), want: Progressing},
		"keycloak, wrong":  {reason: "its errors count", object: keycloak(`conditions: [{type: Ready, status: "True"}, {type: HasErrors, status: "True", message: no database}]`), want: Degraded, says: "no database"},
		"canary, between":  {reason: "the last release succeeded", object: reporting("flagger.app/v1beta1", "Canary", "phase: Succeeded"), want: Healthy},
		"canary, failed":   {reason: "it was rolled back, and why is known", object: reporting("flagger.app/v1beta1", "Canary", `phase: Failed, conditions: [{type: Promoted, status: "False", message: canary analysis failed}]`), want: Degraded, says: "analysis failed"},
		"proxy, wrong":     {reason: "it is refused", object: reporting("projectcontour.io/v1", "HTTPProxy", `conditions: [{type: Valid, status: "False", reason: Invalid, message: no such service}]`), want: Degraded},
		"order":            {reason: "the certificate can be fetched", object: reporting("acme.cert-manager.io/v1", "Order", "state: valid"), want: Healthy},
		"challenge":        {reason: "the record is not there", object: reporting("acme.cert-manager.io/v1", "Challenge", "state: invalid, reason: no TXT record"), want: Degraded, says: "TXT"},
		"metrics":          {reason: "its word says so", object: reporting("operator.victoriametrics.com/v1beta1", "VMCluster", "updateStatus: operational"), want: Healthy},
		"scrape":           {reason: "it has no state", object: reporting("operator.victoriametrics.com/v1beta1", "VMRule", ""), want: ""},
	})
}

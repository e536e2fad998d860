// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestGatewayAPI(t *testing.T) {
	of := func(kind, status string) string { return reporting("gateway.networking.k8s.io/v1", kind, status) }
	accepted := `{type: Accepted, status: "True", reason: Accepted, observedGeneration: 2}`
	programmed := `{type: Programmed, status: "True", reason: Programmed, observedGeneration: 2}`
	run(t, map[string]verdict{
		"class, pending":  {reason: "the API server fills this in", object: of("GatewayClass", `conditions: [{type: Accepted, status: Unknown, reason: Pending, message: Waiting for controller}]`), want: Progressing},
		"class":           {reason: "somebody implements it", object: of("GatewayClass", "conditions: ["+accepted+"]"), want: Healthy},
		"class, refused":  {reason: "its parameters are wrong", object: of("GatewayClass", `conditions: [{type: Accepted, status: "False", reason: InvalidParameters, message: no such object}]`), want: Degraded, says: "no such object"},
		"pending":         {reason: "the API server fills this in", object: of("Gateway", `conditions: [{type: Accepted, status: Unknown, reason: Pending}, {type: Programmed, status: Unknown, reason: Pending}]`), want: Progressing, because: "Pending"},
		"no address yet":  {reason: "the balancer is being made", object: of("Gateway", "conditions: ["+accepted+`, {type: Programmed, status: "False", reason: AddressNotAssigned, message: waiting for an address}]`), want: Progressing, because: "AddressNotAssigned"},
		"programmed":      {reason: "it carries traffic", object: of("Gateway", "conditions: ["+accepted+", "+programmed+"]"), want: Healthy},
		"of before":       {reason: "what it carries is the former spec", object: of("Gateway", `conditions: [{type: Accepted, status: "True", observedGeneration: 1}, {type: Programmed, status: "True", observedGeneration: 1}]`), want: Progressing, because: "GenerationNotObserved"},
		"bad listener":    {reason: "one listener has no certificate", object: of("Gateway", "conditions: ["+accepted+", "+programmed+`], listeners: [{name: https, conditions: [{type: ResolvedRefs, status: "False", reason: InvalidCertificateRef, message: secret shop-tls not found}]}]`), want: Degraded, because: "InvalidCertificateRef", says: "listener https"},
		"slow listener":   {reason: "one listener is not programmed", object: of("Gateway", "conditions: ["+accepted+", "+programmed+"], listeners: [{name: http, conditions: ["+accepted+`, {type: Programmed, status: "False", reason: Pending}]}]`), want: Progressing, says: "listener http"},
		"route, new":      {reason: "nobody has taken it up", object: of("HTTPRoute", "parents: []"), want: Progressing, because: "NoStatus"},
		"route":           {reason: "its parent serves it", object: of("HTTPRoute", "parents: [{parentRef: {name: web}, conditions: ["+accepted+`, {type: ResolvedRefs, status: "True"}]}]`), want: Healthy, says: "parent web"},
		"route of before": {reason: "its parent serves the former one", object: of("HTTPRoute", `parents: [{parentRef: {name: web}, conditions: [{type: Accepted, status: "True", observedGeneration: 1}]}]`), want: Progressing, because: "GenerationNotObserved"},
		"a former parent": {reason: "what is left of a parent that was removed does not count", object: of("GRPCRoute", `parents: [{parentRef: {name: old}, conditions: [{type: Accepted, status: "False", reason: NoMatchingParent, observedGeneration: 1}]}, {parentRef: {name: web}, conditions: [`+accepted+"]}]"), want: Healthy},
		"one parent says no": {
			reason: "the worst parent counts", want: Degraded, because: "BackendNotFound", says: "parent internal: service api not found",
			object: of("HTTPRoute", "parents: [{parentRef: {name: web}, conditions: ["+accepted+`]}, {parentRef: {name: internal}, conditions: [`+accepted+`, {type: ResolvedRefs, status: "False", reason: BackendNotFound, message: service api not found, observedGeneration: 2}]}]`),
		},
		"backend policy": {reason: "its ancestors speak", object: of("BackendTLSPolicy", "ancestors: [{ancestorRef: {name: web}, conditions: ["+accepted+"]}]"), want: Healthy},
		"a grant":        {reason: "it has no state", object: of("ReferenceGrant", ""), want: ""},
	})
}

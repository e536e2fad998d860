// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
)

func networkingRule(kind string) rule {
	if kind == "Ingress" {
		return ingress
	}
	return nil
}

// ingressClass named the class before spec.ingressClassName existed.
const ingressClass = "kubernetes.io/ingress.class"

func ingress(s subject) Result {
	if len(s.status.list("loadBalancer", "ingress")) > 0 {
		return healthy("HasAddress", "the Ingress has an address")
	}
	waits := progressing("NoAddress", "the Ingress has no address yet")
	if s.ctx.IngressClass == nil {
		return waits
	}
	name := s.spec.text("ingressClassName")
	if name == "" {
		name = s.obj.GetAnnotations()[ingressClass]
	}
	if s.ctx.IngressClass(name) != nil {
		return waits
	}
	waits.Reason, waits.ByDesign = "NoIngressClass", true
	if name == "" {
		waits.Message = "the Ingress has no address: it names no class and the cluster has no default IngressClass"
	} else {
		waits.Message = fmt.Sprintf("the Ingress has no address: IngressClass %q does not exist", name)
	}
	return waits
}

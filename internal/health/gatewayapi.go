// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
)

// gatewayAPIRule: what an object of the Gateway API is worth is said by those that implement it, one voice per parent.
func gatewayAPIRule(kind string) rule {
	switch kind {
	case "GatewayClass":
		return byOutlook(outlook{good: []string{"Accepted"}, passing: []string{"Pending", "Waiting"}})
	case "Gateway", "ListenerSet", "XListenerSet":
		return gateway
	case "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute":
		return func(s subject) Result { return s.byParents("parents", "parentRef") }
	case "BackendTLSPolicy":
		return func(s subject) Result { return s.byParents("ancestors", "ancestorRef") }
	}
	return nil
}

// gateway is well when it is accepted, programmed, and so is each of its listeners.
func gateway(s subject) Result {
	whole := s.attachment("the Gateway", s.conditions())
	if whole.Status == Degraded {
		return whole
	}
	for _, entry := range s.status.list("listeners") {
		listener, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		f := fields(listener)
		if r := s.attachment("listener "+f.text("name"), conditionsOf(f.list("conditions"))); r.Status == Degraded ||
			r.Status == Progressing && whole.Status == Healthy {
			whole = r
		}
	}
	return whole
}

// byParents judges a route by what each of its parents says. A parent whose words are about an earlier generation is
// left out: a parent that was removed may never be heard of again.
func (s subject) byParents(list, reference string) Result {
	verdict := progressing("NoStatus", "no parent has taken it up yet")
	heard := false
	for _, entry := range s.status.list(list) {
		parent, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		f := fields(parent)
		conditions := slices.DeleteFunc(conditionsOf(f.list("conditions")), s.stale)
		if len(conditions) == 0 {
			continue
		}
		r := s.attachment("parent "+f.text(reference, "name"), conditions)
		if !heard || r.Status.WorseThan(verdict.Status) {
			verdict = r
		}
		heard = true
	}
	if !heard && len(s.status.list(list)) > 0 {
		return s.unobserved()
	}
	return verdict
}

// attachment judges one set of conditions: to be refused is a failure, not to be programmed yet is work in progress.
func (s subject) attachment(who string, conditions []condition) Result {
	accepted := false
	var waits *Result
	for _, c := range conditions {
		verdict := progressing(c.Reason, who+": "+c.words())
		switch {
		case s.stale(c):
			verdict = s.unobserved()
		case c.isFalse() && c.Reason != "Pending" && (c.Type == "Accepted" || c.Type == "ResolvedRefs"):
			return degraded(c.Reason, who+": "+c.words())
		case c.Type == "Accepted" && c.isTrue():
			accepted = true
			continue
		case c.isTrue(), c.Type != "Accepted" && c.Type != "Programmed":
			continue
		}
		if waits == nil {
			waits = &verdict
		}
	}
	switch {
	case waits != nil:
		return *waits
	case accepted:
		return healthy("Accepted", who+" is accepted")
	}
	return progressing("NotAccepted", who+" is not accepted yet")
}

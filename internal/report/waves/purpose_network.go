// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// servicePurpose writes "ClusterIP (80 → 3000)".
func servicePurpose(u *unstructured.Unstructured) string {
	kind := text(u.Object, "spec", "type")
	switch {
	case kind == "ExternalName":
		return "alias of " + text(u.Object, "spec", "externalName")
	case text(u.Object, "spec", "clusterIP") == "None":
		kind = "headless"
	case kind == "":
		kind = "ClusterIP"
	}
	var ports []string
	for _, p := range list(u.Object, "spec", "ports") {
		port, target := show(at(p, "port")), show(at(p, "targetPort"))
		if target != "" && target != port {
			port += " → " + target
		}
		ports = append(ports, port)
	}
	if len(ports) == 0 {
		return kind
	}
	return kind + " (" + some(ports) + ")"
}

// ingressPurpose names the paths if there are any besides the root, else the
// hosts.
func ingressPurpose(u *unstructured.Unstructured) string {
	var hosts, paths []string
	for _, rule := range list(u.Object, "spec", "rules") {
		host := text(rule, "host")
		hosts = add(hosts, host)
		for _, p := range list(rule, "http", "paths") {
			if v := text(p, "path"); v != "" && v != "/" {
				paths = add(paths, v)
			}
		}
	}
	switch {
	case len(paths) > 0:
		return "external route " + some(paths)
	case len(hosts) > 0:
		return some(hosts)
	default:
		return "external route"
	}
}

func networkPolicyPurpose(u *unstructured.Unstructured) string {
	types := texts(list(u.Object, "spec", "policyTypes"))
	if len(types) == 0 {
		types = []string{"Ingress"}
	}
	return "limits " + strings.ToLower(enumerate(types)) + " traffic"
}

func autoscalerPurpose(u *unstructured.Unstructured) string {
	low, high := number(u.Object, 1, "spec", "minReplicas"), number(u.Object, 0, "spec", "maxReplicas")
	return fmt.Sprintf("autoscaling, %d–%d replicas", low, high)
}

func budgetPurpose(u *unstructured.Unstructured) string {
	if v := show(at(u.Object, "spec", "minAvailable")); v != "" {
		return "availability, at least " + v
	}
	if v := show(at(u.Object, "spec", "maxUnavailable")); v != "" {
		return "availability, at most " + v + " down"
	}
	return "availability"
}

// webhookPurpose names the Services that admission asks.
func webhookPurpose(u *unstructured.Unstructured) string {
	var services []string
	for _, w := range list(u.Object, "webhooks") {
		services = add(services, text(w, "clientConfig", "service", "name"))
	}
	return join("admission", choose(len(services) > 0, "by "+some(services), ""))
}

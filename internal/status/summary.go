// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Annotations by which objects give links.
const (
	linkPrefix         = "link.argocd.argoproj.io/"
	ignoreDefaultLinks = "argocd.argoproj.io/ignore-default-links"
)

// Summary says what images the application runs, where it can be reached, and
// whether it is an application of applications.
func (s State) Summary() v1alpha1.ApplicationSummary {
	var sum v1alpha1.ApplicationSummary
	for _, obj := range s.Objects {
		if obj.Part == LiveHook {
			continue
		}
		sum.IsAppOfApps = sum.IsAppOfApps || isApplication(obj.Key)
		if obj.Live == nil {
			continue
		}
		sum.Images = append(sum.Images, Images(obj.Live)...)
		sum.ExternalURLs = append(sum.ExternalURLs, links(obj.Live)...)
	}
	sum.Images, sum.ExternalURLs = sortedSet(sum.Images), sortedSet(sum.ExternalURLs)
	return sum
}

func isApplication(k manifest.Key) bool { return k.Group == v1alpha1.Group && k.Kind == "Application" }

func sortedSet(items []string) []string {
	slices.Sort(items)
	return slices.Compact(items)
}

// Images returns the container images of a Pod or of the Pods a workload makes,
// sorted.
func Images(u *unstructured.Unstructured) []string {
	spec, _, ok := manifest.PodSpec(u)
	if !ok {
		return nil
	}
	var images []string
	for _, field := range []string{"initContainers", "containers"} {
		list, _ := spec[field].([]any)
		for _, c := range list {
			container, _ := c.(map[string]any)
			if image, _ := container["image"].(string); image != "" {
				images = append(images, image)
			}
		}
	}
	return sortedSet(images)
}

// links returns the addresses that a live object can be reached under: those of
// its link annotations, and those of an Ingress.
func links(u *unstructured.Unstructured) []string {
	var urls []string
	annotations := u.GetAnnotations()
	for key, value := range annotations {
		if strings.HasPrefix(key, linkPrefix) {
			// A link may have a title in front: "title|address".
			if url := strings.TrimSpace(value[strings.LastIndex(value, "|")+1:]); isWebAddress(url) {
				urls = append(urls, url)
			}
		}
	}
	gk := u.GroupVersionKind().GroupKind()
	if gk.Kind == "Ingress" && (gk.Group == "networking.k8s.io" || gk.Group == "extensions") && annotations[ignoreDefaultLinks] != "true" {
		urls = append(urls, ingressURLs(u)...)
	}
	return urls
}

func isWebAddress(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// ingressURLs builds the addresses of an Ingress: for every rule its host, or the
// load balancer's where it names none, with each of its paths.
func ingressURLs(u *unstructured.Unstructured) []string {
	rules, _, _ := unstructured.NestedSlice(u.Object, "spec", "rules")
	tls, _, _ := unstructured.NestedSlice(u.Object, "spec", "tls")
	var urls []string
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		host, _ := rule["host"].(string)
		scheme := schemeOf(host, tls)
		if host == "" {
			host = loadBalancer(u)
		}
		if host == "" || strings.HasPrefix(host, "*") {
			continue
		}
		paths, _, _ := unstructured.NestedSlice(rule, "http", "paths")
		if len(paths) == 0 {
			urls = append(urls, scheme+host)
		}
		for _, p := range paths {
			entry, _ := p.(map[string]any)
			path, _ := entry["path"].(string)
			if path = strings.TrimSuffix(path, "*"); path == "/" {
				path = ""
			}
			urls = append(urls, scheme+host+path)
		}
	}
	return urls
}

// schemeOf returns how a host is addressed: safely if a TLS entry names it or
// names nobody.
func schemeOf(host string, tls []any) string {
	for _, t := range tls {
		entry, _ := t.(map[string]any)
		hosts, _ := entry["hosts"].([]any)
		if len(hosts) == 0 || slices.Contains(hosts, any(host)) {
			return "https://"
		}
	}
	return "http://"
}

// loadBalancer returns the first address that an Ingress was given.
func loadBalancer(u *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "loadBalancer", "ingress")
	for _, item := range list {
		entry, _ := item.(map[string]any)
		for _, field := range []string{"hostname", "ip"} {
			if address, _ := entry[field].(string); address != "" {
				return address
			}
		}
	}
	return ""
}

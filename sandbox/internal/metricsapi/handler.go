// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package metricsapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// groupVersion is the API that is served.
func groupVersion() schema.GroupVersion { return metricsv1beta1.SchemeGroupVersion }

// handler answers the requests the aggregator passes on. Objects exist only as answers: nothing can be written or
// watched.
func handler(source Source) http.Handler {
	gv := groupVersion()
	root := "/apis/" + gv.Group + "/" + gv.Version
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) { respond(w, groups()) })
	mux.HandleFunc("GET /apis/"+gv.Group, func(w http.ResponseWriter, _ *http.Request) { respond(w, group()) })
	mux.HandleFunc("GET "+root, func(w http.ResponseWriter, _ *http.Request) { respond(w, resources()) })
	mux.HandleFunc("GET "+root+"/pods", listPods(source))
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/pods", listPods(source))
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/pods/{name}", getPod(source))
	mux.HandleFunc("GET "+root+"/nodes", listNodes(source))
	mux.HandleFunc("GET "+root+"/nodes/{name}", getNode(source))
	return mux
}

func groups() *metav1.APIGroupList {
	return &metav1.APIGroupList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
		Groups:   []metav1.APIGroup{*group()},
	}
}

func group() *metav1.APIGroup {
	gv := groupVersion()
	version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
	return &metav1.APIGroup{
		TypeMeta:         metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"},
		Name:             gv.Group,
		Versions:         []metav1.GroupVersionForDiscovery{version},
		PreferredVersion: version,
	}
}

func resources() *metav1.APIResourceList {
	verbs := metav1.Verbs{"get", "list"}
	return &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: groupVersion().String(),
		APIResources: []metav1.APIResource{
			{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs},
			{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs},
		},
	}
}

func listPods(source Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		selector, err := selectorOf(r)
		if err != nil {
			refuse(w, err)
			return
		}
		list := &metricsv1beta1.PodMetricsList{TypeMeta: typeMeta("PodMetricsList"), Items: []metricsv1beta1.PodMetrics{}}
		for _, usage := range source.PodMetrics(r.PathValue("namespace")) {
			if selector.Matches(labels.Set(usage.Labels)) {
				list.Items = append(list.Items, podMetrics(usage))
			}
		}
		slices.SortFunc(list.Items, func(a, b metricsv1beta1.PodMetrics) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		respond(w, list)
	}
}

func getPod(source Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		for _, usage := range source.PodMetrics(r.PathValue("namespace")) {
			if usage.Name == name {
				found := podMetrics(usage)
				respond(w, &found)
				return
			}
		}
		refuse(w, apierrors.NewNotFound(groupVersion().WithResource("pods").GroupResource(), name))
	}
}

func listNodes(source Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		selector, err := selectorOf(r)
		if err != nil {
			refuse(w, err)
			return
		}
		list := &metricsv1beta1.NodeMetricsList{TypeMeta: typeMeta("NodeMetricsList"), Items: []metricsv1beta1.NodeMetrics{}}
		for _, usage := range source.NodeMetrics() {
			if selector.Matches(labels.Set(usage.Labels)) {
				list.Items = append(list.Items, nodeMetrics(usage))
			}
		}
		slices.SortFunc(list.Items, func(a, b metricsv1beta1.NodeMetrics) int { return cmp.Compare(a.Name, b.Name) })
		respond(w, list)
	}
}

func getNode(source Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		for _, usage := range source.NodeMetrics() {
			if usage.Name == name {
				found := nodeMetrics(usage)
				respond(w, &found)
				return
			}
		}
		refuse(w, apierrors.NewNotFound(groupVersion().WithResource("nodes").GroupResource(), name))
	}
}

func podMetrics(u PodUsage) metricsv1beta1.PodMetrics {
	m := metricsv1beta1.PodMetrics{
		TypeMeta:   typeMeta("PodMetrics"),
		ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: u.Name, Labels: u.Labels, CreationTimestamp: metav1.NewTime(u.Timestamp)},
		Timestamp:  metav1.NewTime(u.Timestamp),
		Window:     metav1.Duration{Duration: u.Window},
		Containers: make([]metricsv1beta1.ContainerMetrics, 0, len(u.Containers)),
	}
	for _, c := range u.Containers {
		m.Containers = append(m.Containers, metricsv1beta1.ContainerMetrics{
			Name:  c.Name,
			Usage: corev1.ResourceList{corev1.ResourceCPU: c.CPU, corev1.ResourceMemory: c.Memory},
		})
	}
	return m
}

func nodeMetrics(u NodeUsage) metricsv1beta1.NodeMetrics {
	return metricsv1beta1.NodeMetrics{
		TypeMeta:   typeMeta("NodeMetrics"),
		ObjectMeta: metav1.ObjectMeta{Name: u.Name, Labels: u.Labels, CreationTimestamp: metav1.NewTime(u.Timestamp)},
		Timestamp:  metav1.NewTime(u.Timestamp),
		Window:     metav1.Duration{Duration: u.Window},
		Usage:      corev1.ResourceList{corev1.ResourceCPU: u.CPU, corev1.ResourceMemory: u.Memory},
	}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: groupVersion().String()}
}

func selectorOf(r *http.Request) (labels.Selector, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("labelSelector: %v", err))
	}
	return selector, nil
}

func respond(w http.ResponseWriter, body any) { write(w, http.StatusOK, body) }

// refuse answers with a Status object, which is what clients turn back into an error.
func refuse(w http.ResponseWriter, err error) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     http.StatusInternalServerError,
		Message:  err.Error(),
	}
	if known, ok := err.(apierrors.APIStatus); ok {
		meta := status.TypeMeta
		status = known.Status()
		status.TypeMeta = meta
	}
	write(w, int(status.Code), &status)
}

func write(w http.ResponseWriter, code int, body any) {
	content, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(content) // The client is gone; there is nobody left to tell.
}

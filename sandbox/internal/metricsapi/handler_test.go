// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package metricsapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
)

// fixed is a Source of constant numbers.
type fixed struct{}

func (fixed) PodMetrics(namespace string) []PodUsage {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all := []PodUsage{
		{Namespace: "shop", Name: "web-2", Labels: map[string]string{"app": "web"}, Timestamp: at, Window: time.Second, Containers: []ContainerUsage{
			{Name: "main", CPU: resource.MustParse("250m"), Memory: resource.MustParse("64Mi")},
		}},
		{Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"}, Timestamp: at, Window: time.Second},
		{Namespace: "shop", Name: "db-1", Labels: map[string]string{"app": "db"}, Timestamp: at, Window: time.Second},
		{Namespace: "other", Name: "web-1", Labels: map[string]string{"app": "web"}, Timestamp: at, Window: time.Second},
	}
	var found []PodUsage
	for _, usage := range all {
		if namespace == "" || usage.Namespace == namespace {
			found = append(found, usage)
		}
	}
	return found
}

func (fixed) NodeMetrics() []NodeUsage {
	return []NodeUsage{{Name: "node-1", CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi")}}
}

// answer is what of an answer these tests look at.
type answer struct {
	Kind     string
	Reason   string
	Metadata struct{ Name, Namespace string }
	Items    []struct {
		Metadata struct{ Name, Namespace string }
	}
}

func TestHandler(t *testing.T) {
	const root = "/apis/metrics.k8s.io/v1beta1"
	cases := map[string]struct {
		reason string
		path   string
		code   int
		kind   string
		names  []string
	}{
		"Discovery": {
			reason: "The aggregator calls the API available when this answers.",
			path:   root, code: http.StatusOK, kind: "APIResourceList",
		},
		"PodsOfNamespace": {
			reason: "Objects come in the order of their names, from one namespace only.",
			path:   root + "/namespaces/shop/pods", code: http.StatusOK, kind: "PodMetricsList",
			names: []string{"shop/db-1", "shop/web-1", "shop/web-2"},
		},
		"PodsBySelector": {
			reason: "The autoscaler asks for the Pods of its target by label.",
			path:   root + "/namespaces/shop/pods?labelSelector=app%3Dweb", code: http.StatusOK, kind: "PodMetricsList",
			names: []string{"shop/web-1", "shop/web-2"},
		},
		"AllPods": {
			reason: "Without a namespace all are listed, sorted by namespace first.",
			path:   root + "/pods?labelSelector=app%3Dweb", code: http.StatusOK, kind: "PodMetricsList",
			names: []string{"other/web-1", "shop/web-1", "shop/web-2"},
		},
		"NobodySelected": {
			reason: "An empty list is an answer, not an error.",
			path:   root + "/namespaces/nowhere/pods", code: http.StatusOK, kind: "PodMetricsList",
		},
		"BadSelector": {
			reason: "What cannot be understood is refused instead of ignored.",
			path:   root + "/pods?labelSelector=app%3D%3D%3D", code: http.StatusBadRequest, kind: "Status",
		},
		"OnePod": {
			reason: "kubectl top asks for one Pod by name.",
			path:   root + "/namespaces/shop/pods/web-1", code: http.StatusOK, kind: "PodMetrics",
			names: []string{"shop/web-1"},
		},
		"NoSuchPod": {
			reason: "A Pod without numbers is not found, in the form clients understand.",
			path:   root + "/namespaces/shop/pods/web-9", code: http.StatusNotFound, kind: "Status",
		},
		"Nodes": {
			reason: "kubectl top lists Nodes as well.",
			path:   root + "/nodes", code: http.StatusOK, kind: "NodeMetricsList", names: []string{"/node-1"},
		},
		"NoSuchNode": {
			reason: "A Node without numbers is not found.",
			path:   root + "/nodes/node-9", code: http.StatusNotFound, kind: "Status",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			handler(fixed{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, tc.path, nil))
			if recorder.Code != tc.code {
				t.Errorf("%s: code %d, want %d", tc.reason, recorder.Code, tc.code)
			}
			var got answer
			if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if got.Kind != tc.kind {
				t.Errorf("%s: kind %q, want %q", tc.reason, got.Kind, tc.kind)
			}
			var names []string
			for _, item := range got.Items {
				names = append(names, item.Metadata.Namespace+"/"+item.Metadata.Name)
			}
			if got.Metadata.Name != "" {
				names = append(names, got.Metadata.Namespace+"/"+got.Metadata.Name)
			}
			if diff := cmp.Diff(tc.names, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNothingCanBeWritten(t *testing.T) {
	recorder := httptest.NewRecorder()
	path := "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods/web-1"
	handler(fixed{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodDelete, path, nil))
	if recorder.Code != http.StatusMethodNotAllowed {
		t.Errorf("code %d for DELETE, want %d", recorder.Code, http.StatusMethodNotAllowed)
	}
}

func TestPodMetricsCarriesUsage(t *testing.T) {
	content, err := json.Marshal(podMetrics(fixed{}.PodMetrics("shop")[0]))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1",` +
		`"metadata":{"name":"web-2","namespace":"shop","creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"web"}},` +
		`"timestamp":"2026-01-02T03:04:05Z","window":"1s",` +
		`"containers":[{"name":"main","usage":{"cpu":"250m","memory":"64Mi"}}]}`
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

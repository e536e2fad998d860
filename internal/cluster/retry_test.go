// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// impatient is a clock whose timers go off at once.
type impatient struct{ clock.RealClock }

func (c impatient) NewTimer(time.Duration) clock.Timer { return c.RealClock.NewTimer(0) }

// flaky is an API server with ConfigMaps that answers as a test says.
type flaky struct {
	mu sync.Mutex
	// answers are consumed by requests for ConfigMaps, the last one stays.
	answers []http.HandlerFunc
	// requests are the methods of those requests.
	requests []string
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api":
		answer(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case "/apis":
		answer(w, http.StatusOK, metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{broken()},
		})
	case "/apis/broken.example.com":
		answer(w, http.StatusOK, broken())
	case "/apis/broken.example.com/v1":
		status(503, metav1.StatusReasonServiceUnavailable, "the server behind it is away")(w, r)
	case "/api/v1":
		answer(w, http.StatusOK, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1",
			APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch"}}},
		})
	default:
		// The body must be read, or the connection could not be used again.
		_, _ = io.Copy(io.Discard, r.Body)
		f.mu.Lock()
		f.requests = append(f.requests, r.Method)
		next := f.answers[0]
		if len(f.answers) > 1 {
			f.answers = f.answers[1:]
		}
		f.mu.Unlock()
		next(w, r)
	}
}

// seen returns the methods of the requests so far.
func (f *flaky) seen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.requests, " ")
}

// broken is a group whose aggregated API server is away.
func broken() metav1.APIGroup {
	v := metav1.GroupVersionForDiscovery{GroupVersion: "broken.example.com/v1", Version: "v1"}
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: "broken.example.com",
		Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
	}
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(body)
}

func status(code int32, reason metav1.StatusReason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		answer(w, int(code), metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		})
	}
}

// lose takes the request and drops the connection.
func lose(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func configMap(operation string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, json.RawMessage(fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"ns","uid":"u","resourceVersion":"1","annotations":{%q:%q}}}`,
			manifest.AnnotationOperation, operation)))
	}
}

func TestRetries(t *testing.T) {
	missing := status(404, metav1.StatusReasonNotFound, "not found")
	busy := status(503, metav1.StatusReasonServiceUnavailable, "etcd has no leader")
	taken := status(409, metav1.StatusReasonAlreadyExists, "it exists")
	apply := func(t *testing.T, c *Cluster) error {
		t.Helper()
		_, err := c.Apply(t.Context(), read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}}"), ApplyOptions{})
		return err
	}
	create := func(text string) func(*testing.T, *Cluster) error {
		return func(t *testing.T, c *Cluster) error {
			t.Helper()
			_, err := c.Create(t.Context(), read(t, text), ApplyOptions{})
			return err
		}
	}
	named := create("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns, annotations: {wavetrain.dev/operation: op/1}}}")
	cases := map[string]struct {
		reason   string
		do       func(*testing.T, *Cluster) error
		answers  []http.HandlerFunc
		requests string
		check    func(error) bool
	}{
		"PassingFailure": {
			reason:   "a server without leader is asked again",
			do:       apply,
			answers:  []http.HandlerFunc{missing, busy, busy, configMap("")},
			requests: "GET PATCH PATCH PATCH",
		},
		"LastingFailure": {
			reason:   "but not for ever",
			do:       apply,
			answers:  []http.HandlerFunc{missing, busy},
			requests: "GET PATCH PATCH PATCH PATCH PATCH PATCH",
			check:    func(err error) bool { return hasReason(err, Busy) && !IsRejected(err) && !IsUnreachable(err) },
		},
		"LostAnswer": {
			reason:   "an apply can be repeated whether or not it had its effect",
			do:       apply,
			answers:  []http.HandlerFunc{missing, lose, configMap("")},
			requests: "GET PATCH PATCH",
		},
		"Refusal": {
			reason:   "a refusal is final",
			do:       apply,
			answers:  []http.HandlerFunc{missing, status(422, metav1.StatusReasonInvalid, "no")},
			requests: "GET PATCH",
			check:    IsRejected,
		},
		"BadCredentials": {
			reason:   "bad credentials are neither a refusal of the object nor a server that is away",
			do:       apply,
			answers:  []http.HandlerFunc{status(401, metav1.StatusReasonUnauthorized, "who are you")},
			requests: "GET",
			check: func(err error) bool {
				return hasReason(err, Unauthorized) && !IsRejected(err) && strings.Contains(err.Error(), "check the credentials")
			},
		},
		"CreatedAfterAll": {
			reason:   "the object of a lost answer carries our operation: it is ours",
			do:       named,
			answers:  []http.HandlerFunc{lose, taken, configMap("op/1")},
			requests: "POST POST GET",
		},
		"CreatedBySomebodyElse": {
			reason:   "one of another operation is not",
			do:       named,
			answers:  []http.HandlerFunc{lose, taken, configMap("op/2")},
			requests: "POST POST GET",
			check:    apierrors.IsAlreadyExists,
		},
		"NameTaken": {
			reason:   "a name that was taken before is reported",
			do:       named,
			answers:  []http.HandlerFunc{taken},
			requests: "POST",
			check:    apierrors.IsAlreadyExists,
		},
		"GeneratedName": {
			reason:   "a generated name could be made twice",
			do:       create("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: c-, namespace: ns}}"),
			answers:  []http.HandlerFunc{lose},
			requests: "POST",
			check:    IsUnreachable,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := &flaky{answers: tc.answers}
			server := httptest.NewServer(f)
			defer server.Close()
			c, err := New(&rest.Config{Host: server.URL}, Options{Clock: impatient{}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = tc.do(t, c)
			if (err == nil) != (tc.check == nil) || err != nil && !tc.check(err) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if got := f.seen(); got != tc.requests {
				t.Errorf("%s: requests %q, want %q", tc.reason, got, tc.requests)
			}
		})
	}
}

func TestBrokenGroup(t *testing.T) {
	server := httptest.NewServer(&flaky{})
	defer server.Close()
	c, err := New(&rest.Config{Host: server.URL}, Options{Clock: impatient{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Resolve(configMaps().WithVersion("v1")); err != nil {
		t.Errorf("the other groups must be usable: %v", err)
	}
	_, err = c.Resolve(schema.GroupVersionKind{Group: "broken.example.com", Version: "v1", Kind: "Metric"})
	if !IsUnknownKind(err) || !strings.Contains(err.Error(), "discovery of its group failed: the server behind it is away") {
		t.Errorf("the error must say why nothing is known: %v", err)
	}
}

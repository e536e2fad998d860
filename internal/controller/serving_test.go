// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestReadyOnceCachesAreComplete asks both probes before and after the caches are
// complete.
func TestReadyOnceCachesAreComplete(t *testing.T) {
	c := &Controller{}
	probes := c.probes()
	for _, tc := range []struct {
		path     string
		complete bool
		want     int
	}{
		{"/healthz", false, http.StatusOK},
		{"/readyz", false, http.StatusInternalServerError},
		{"/readyz/caches", false, http.StatusInternalServerError},
		{"/healthz", true, http.StatusOK},
		{"/readyz", true, http.StatusOK},
		{"/readyz/caches", true, http.StatusOK},
	} {
		if tc.complete {
			if err := c.complete(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		answer := httptest.NewRecorder()
		probes.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, http.NoBody))
		if answer.Code != tc.want {
			t.Errorf("%s answers %d with complete caches %t, want %d", tc.path, answer.Code, tc.complete, tc.want)
		}
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"net/http/pprof"
)

// profiles are the handlers of Go's runtime profiles, none unless they are
// wanted: they show command lines and cost CPU.
func profiles(wanted bool) map[string]http.Handler {
	if !wanted {
		return nil
	}
	const root = "/debug/pprof/"
	return map[string]http.Handler{
		root:             http.HandlerFunc(pprof.Index),
		root + "profile": http.HandlerFunc(pprof.Profile),
		root + "trace":   http.HandlerFunc(pprof.Trace),
	}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"io"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// honest is a transport that reports a lost connection at once. client-go would
// try a read again ten times in silence, a second apart, and make of a watch that
// cannot be opened one that is empty; meanwhile nobody would learn that the server
// is away. Trying again is our business.
type honest struct{ http.RoundTripper }

var _ utilnet.RoundTripperWrapper = honest{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (h honest) WrappedRoundTripper() http.RoundTripper { return h.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (h honest) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	if err != nil && (utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return resp, &lostError{err}
	}
	return resp, err
}

// lostError is a connection that was lost before there was an answer. It does not
// unwrap, and says it in other words, because client-go looks at both.
type lostError struct{ err error }

func (e *lostError) Error() string {
	if strings.Contains(e.err.Error(), "reset by peer") {
		return "the connection was reset"
	}
	return "the connection was closed before there was an answer"
}

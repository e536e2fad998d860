// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sandboxtest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is a line of the audit log.
type Request struct {
	Verb       string
	RequestURI string
	UserAgent  string
	User       struct{ Username string }
	// ImpersonatedUser is as whom the request was made, if not as who made it.
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct {
		APIGroup, Resource, Namespace, Name, Subresource, ResourceVersion string
	}
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp metav1.MicroTime
}

// DryRun reports whether the request asked for nothing to be stored.
func (r Request) DryRun() bool { return strings.Contains(r.RequestURI, "dryRun=") }

// Writes reports whether the request was to store something.
func (r Request) Writes() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return !r.DryRun()
	}
	return false
}

// Requests returns the requests that a control plane with an audit log has answered
// so far, in the order of the answers.
func Requests(t testing.TB, auditLog string) []Request {
	t.Helper()
	data, err := os.ReadFile(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	var requests []Request
	for line := range bytes.Lines(data) {
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			// The last line is being written.
			break
		}
		requests = append(requests, r)
	}
	return requests
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// Reason says what kind of failure an Error is.
type Reason string

// Reasons.
const (
	// Unreachable: no answer from the API server.
	Unreachable Reason = "unreachable"
	// Unauthorized: the API server does not accept our credentials.
	Unauthorized Reason = "unauthorized"
	// Rejected: the API server understood and refused; the same request will be
	// refused again.
	Rejected Reason = "rejected"
	// Conflict: somebody else changed or made the object meanwhile.
	Conflict Reason = "conflict"
	// Busy: the API server, or a webhook it asked, could not serve the request and
	// may do so later.
	Busy Reason = "busy"
	// Cancelled: the caller's context ended first.
	Cancelled Reason = "cancelled"
)

// Error is a failed request. It unwraps to what the API server or the network
// said, so that apierrors.IsNotFound and the like work on it.
type Error struct {
	// Op is what was tried, "apply".
	Op string
	// Key is the object; zero for a request about the cluster itself.
	Key    manifest.Key
	Server string
	Reason Reason
	// Hint says what to do about it.
	Hint string
	Err  error
}

// Error returns one line: what, which object, where, why, and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Key != (manifest.Key{}) {
		b.WriteString(" " + e.Key.String() + " on")
	}
	b.WriteString(" " + e.Server + ": " + cause(e.Key, e.Err))
	if hint := e.hint(); hint != "" {
		b.WriteString(" (" + hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) hint() string {
	if e.Hint != "" {
		return e.Hint
	}
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(e.Err, &authority), errors.As(e.Err, &name):
		return "check the CA certificate that is configured for this cluster"
	case e.Reason == Unreachable:
		return "check that the API server runs and that its address is right"
	case e.Reason == Unauthorized:
		return "check the credentials that are configured for this cluster"
	default:
		return ""
	}
}

// UnknownKindError is the error for a kind that the cluster does not serve.
type UnknownKindError struct {
	GVK    schema.GroupVersionKind
	Server string
	// Served are versions of the group in which the kind is served.
	Served []string
	// Err is why the group could not be discovered, if that is so.
	Err error
}

// Error names the kind and what would make it known.
func (e *UnknownKindError) Error() string {
	kind := e.GVK.GroupVersion().String() + " " + e.GVK.Kind
	if e.GVK.Version == "" {
		kind = e.GVK.GroupKind().String()
	}
	switch {
	case len(e.Served) > 0:
		return fmt.Sprintf("kind %s is not served by %s (it is served in version %s: change apiVersion)", kind, e.Server, strings.Join(e.Served, ", "))
	case e.Err != nil:
		return fmt.Sprintf("kind %s is not known on %s: discovery of its group failed: %s", kind, e.Server, oneLine(e.Err.Error()))
	default:
		return fmt.Sprintf("kind %s is not known on %s (install the CustomResourceDefinition that defines it, or correct apiVersion and kind)", kind, e.Server)
	}
}

// Unwrap returns why discovery of the group failed, if it did.
func (e *UnknownKindError) Unwrap() error { return e.Err }

// WatchError says which kinds could not be watched. Kinds that are not named are
// watched.
type WatchError struct {
	// Kinds are ordered by name.
	Kinds []KindError
}

// KindError is why one kind cannot be watched.
type KindError struct {
	Kind schema.GroupKind
	Err  error
}

// Error returns one line with every kind.
func (e *WatchError) Error() string {
	parts := make([]string, len(e.Kinds))
	for i, k := range e.Kinds {
		parts[i] = k.Err.Error()
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns the errors of the kinds.
func (e *WatchError) Unwrap() []error {
	errs := make([]error, len(e.Kinds))
	for i, k := range e.Kinds {
		errs[i] = k.Err
	}
	return errs
}

// IsUnreachable reports whether the API server gave no answer.
func IsUnreachable(err error) bool { return hasReason(err, Unreachable) }

// IsRejected reports whether the API server refused in a way that asking again
// cannot mend; something must change first.
func IsRejected(err error) bool { return hasReason(err, Rejected) || IsUnknownKind(err) }

// IsUnknownKind reports whether the kind is not served.
func IsUnknownKind(err error) bool {
	var unknown *UnknownKindError
	return errors.As(err, &unknown)
}

// IsImmutable reports whether an object was refused because a field cannot be
// changed on the live one.
func IsImmutable(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	// The API server's own words: ours leave out what a Secret might hold.
	return slices.ContainsFunc([]string{
		"field is immutable", "updates to statefulset spec for fields other than", "may not be changed", "pod updates may not change fields",
	}, func(words string) bool { return strings.Contains(status.Status().Message, words) })
}

func hasReason(err error, r Reason) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == r
}

// reasonOf sorts an error of client-go.
func reasonOf(err error) Reason {
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.Canceled):
		return Cancelled
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	case errors.As(err, &status):
		code := status.Status().Code
		switch {
		case code == http.StatusConflict:
			return Conflict
		case untyped(err):
			return Rejected
		case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
			return Busy
		default:
			return Rejected
		}
	case isNetwork(err):
		return Unreachable
	default:
		return Rejected
	}
}

// untyped reports whether server-side apply could not read the object, as wanted
// or as it is, by its schema: a field of an unknown name or of a wrong type, or
// two list items with one key. The API server calls that an internal error.
func untyped(err error) bool {
	if err == nil {
		return false
	}
	return slices.ContainsFunc([]string{"failed to create typed patch object", "failed to create typed live object", "to smd typed: "},
		func(words string) bool { return strings.Contains(err.Error(), words) })
}

// unkeyed and undeclared tell two cases of the above apart that other writes
// accept: items of a list that have one key, or none, on either side.
func unkeyed(err error) bool {
	return untyped(err) && (strings.Contains(err.Error(), "duplicate entries for key") || strings.Contains(err.Error(), "omits all key fields"))
}

func undeclared(err error) bool {
	return untyped(err) && strings.Contains(err.Error(), "field not declared in schema")
}

// emptied tells whether a server-side apply was refused because the API server made
// null of a map or list that is empty now, whose schema wants one: it does so when
// all that was in it was ours (structured-merge-diff 305). Kinds that are built in
// take a null for nothing.
func emptied(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeTypeInvalid && strings.HasSuffix(cause.Message, `: "null"`)
	})
}

func isNetwork(err error) bool {
	var netErr net.Error
	var urlErr *url.Error
	var tlsErr *tls.CertificateVerificationError
	return errors.As(err, &netErr) || errors.As(err, &urlErr) || errors.As(err, &tlsErr) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// cause is what the server or the network said, on one line; of a Secret only
// which fields are wrong, because validation messages quote values.
func cause(key manifest.Key, err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if key.Group == "" && key.Kind == "Secret" && apierrors.IsInvalid(err) {
			return "invalid: " + fieldsOf(status.Status())
		}
		if key.Group == "" && key.Kind == "Secret" && apierrors.IsBadRequest(err) {
			return "the Secret cannot be read: values of data must be base64, those of stringData text"
		}
		message := oneLine(status.Status().Message)
		if apierrors.IsInvalid(err) {
			message = withoutValues(status.Status())
		}
		if untyped(err) && key.Group == "" && key.Kind == "Secret" {
			message, _, _ = strings.Cut(message, ", got ")
		}
		return message
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return oneLine(err.Error())
}

// withoutValues is the message of a refusal without the whole parts of the object
// that it quotes: they say nothing that the field's name does not, and what is in
// them is not for everybody's eyes.
func withoutValues(status metav1.Status) string {
	message := oneLine(status.Message)
	before, _, ok := strings.Cut(message, " is invalid: ")
	if !ok || status.Details == nil || len(status.Details.Causes) == 0 {
		return message
	}
	parts := make([]string, len(status.Details.Causes))
	for i, c := range status.Details.Causes {
		text := oneLine(c.Message)
		if value, quotes := strings.CutPrefix(text, "Invalid value: "); quotes && strings.ContainsAny(value[:min(1, len(value))], "{[") {
			if end := max(strings.LastIndex(value, "}: "), strings.LastIndex(value, "]: ")); end > 0 {
				text = value[end+len("}: "):]
			}
		}
		parts[i] = strings.TrimPrefix(c.Field+": "+text, ": ")
	}
	return before + " is invalid: " + strings.Join(parts, ", ")
}

func fieldsOf(status metav1.Status) string {
	if status.Details == nil || len(status.Details.Causes) == 0 {
		return string(status.Reason)
	}
	parts := make([]string, len(status.Details.Causes))
	for i, c := range status.Details.Causes {
		parts[i] = c.Field + ": " + string(c.Type)
	}
	return strings.Join(parts, ", ")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// subject is what a request is about.
type subject struct {
	key manifest.Key
	// hint overrides the general advice.
	hint string
}

// problem wraps an error of client-go.
func (c *Cluster) problem(op string, s subject, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) || IsUnknownKind(err) {
		return err
	}
	hint := s.hint
	switch {
	case hint != "":
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		hint = fmt.Sprintf("namespace %s is being deleted; wait until it is gone or deliver to another one", s.key.Namespace)
	case apierrors.IsNotFound(err) && s.key.Namespace != "" && strings.Contains(err.Error(), "namespaces "):
		hint = "create the namespace first, or use the sync option CreateNamespace=true"
	case undeclared(err):
		hint = "correct the field's name, or use the sync option Validate=false to have it dropped"
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "metadata.annotations: Too long"):
		hint = "the object is too large to be applied client-side: leave ServerSideApply=false out, or use Replace=true"
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot "):
		hint = "grant this right to that account"
	}
	return &Error{Op: op, Key: s.key, Server: c.server, Reason: reasonOf(err), Hint: hint, Err: err}
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Reason classifies why a repository could not be read.
type Reason string

// Reasons that callers and people act upon.
const (
	Unauthenticated Reason = "Unauthenticated"
	Forbidden       Reason = "Forbidden"
	NotFound        Reason = "NotFound"
	NoRevision      Reason = "NoRevision"
	Untrusted       Reason = "Untrusted"
	RateLimited     Reason = "RateLimited"
	Unavailable     Reason = "Unavailable"
	Redirected      Reason = "Redirected"
	Damaged         Reason = "Damaged"
	Unsigned        Reason = "Unsigned"
	Other           Reason = "Other"
)

// Error is why a repository could not be read, in a form fit for an Application's
// condition: what was tried, why it failed, and what to do.
type Error struct {
	// Op is what was tried, for example "fetch".
	Op string
	// URL of the repository, without credentials.
	URL    string
	Reason Reason
	// Detail is what went wrong, Hint what to do about it.
	Detail, Hint string
	// Pause is how long the server wants to be left alone; zero if it does not say.
	Pause time.Duration
	Err   error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("%s %s: %s", e.Op, e.URL, e.Detail)
	}
	return fmt.Sprintf("%s %s: %s: %s", e.Op, e.URL, e.Detail, e.Hint)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// passing tells whether the failure may end without anybody doing something.
func (r Reason) passing() bool { return r == RateLimited || r == Unavailable }

// symptom is what git, curl or ssh say, and what it means.
type symptom struct {
	words  string
	reason Reason
	detail string
}

// symptoms are looked for in this order.
func symptoms() []symptom {
	return []symptom{
		{"returned error: 401", Unauthenticated, "the server answers 401 Unauthorized"},
		{"could not read Username", Unauthenticated, "the server answers 401 Unauthorized"},
		{"could not read Password", Unauthenticated, "the server answers 401 Unauthorized"},
		{"Authentication failed", Unauthenticated, "the server answers 401 Unauthorized"},
		{"returned error: 403", Forbidden, "the server answers 403 Forbidden"},
		{"returned error: 404", NotFound, "the server answers 404 Not Found"},
		{"/' not found", NotFound, "the server answers 404 Not Found"},
		{"returned error: 410", NotFound, "the server answers 410 Gone"},
		{"returned error: 429", RateLimited, "the server answers 429 Too Many Requests"},
		{"Permission denied (", Unauthenticated, "the server refuses the SSH key"},
		{"REMOTE HOST IDENTIFICATION HAS CHANGED", Untrusted, "the server's SSH host key is not the known one"},
		{"Host key verification failed", Untrusted, "the server's SSH host key is not known"},
		{"No ED25519 host key is known", Untrusted, "the server's SSH host key is not known"},
		{"error in libcrypto", Unauthenticated, "the SSH private key cannot be read"},
		{"invalid format", Unauthenticated, "the SSH private key cannot be read"},
		{"incorrect passphrase", Unauthenticated, "the SSH private key has a passphrase"},
		{"SSL certificate problem", Untrusted, "the server's certificate is not trusted"},
		{"server certificate verification failed", Untrusted, "the server's certificate is not trusted"},
		{"no alternative certificate subject name", Untrusted, "the server's certificate is for another host"},
		{"certificate required", Unauthenticated, "the server asks for a client certificate"},
		{"alert handshake failure", Unauthenticated, "the server asks for a client certificate"},
		{"alert certificate", Unauthenticated, "the server refuses the client certificate"},
		{"alert bad certificate", Unauthenticated, "the server refuses the client certificate"},
		{"alert unknown ca", Unauthenticated, "the server refuses the client certificate"},
		{"fatal alert", Unauthenticated, "the server refuses the TLS connection, as it does without a client certificate"},
		{"Could not resolve host", Unavailable, "the host cannot be found"},
		{"Could not resolve hostname", Unavailable, "the host cannot be found"},
		{"Could not resolve proxy", Unavailable, "the proxy cannot be found"},
		{"Connection refused", Unavailable, "the server refuses the connection"},
		{"Couldn't connect to server", Unavailable, "the server cannot be reached"},
		{"Failed to connect to", Unavailable, "the server cannot be reached"},
		{"Connection timed out", Unavailable, "the server does not answer"},
		{"Operation too slow", Unavailable, "the server stops sending"},
		{"Connection reset by peer", Unavailable, "the server breaks the connection"},
		{"getpeername() failed", Unavailable, "the server breaks the connection"},
		{"Recv failure", Unavailable, "the server breaks the connection"},
		{"Empty reply from server", Unavailable, "the server breaks the connection"},
		{"transfer closed", Unavailable, "the server breaks the connection"},
		{"early EOF", Unavailable, "the server breaks the connection"},
		{"unexpected disconnect", Unavailable, "the server breaks the connection"},
		{"remote end hung up", Unavailable, "the server breaks the connection"},
		{"Connection closed by", Unavailable, "the server breaks the connection"},
		{"not valid: is this a git repository", NotFound, "the server answers, but not with a Git repository"},
		{"does not appear to be a git repository", NotFound, "the server has no such repository"},
		{"Repository not found", NotFound, "the server has no such repository"},
		{"protocol error", Unavailable, "the server does not keep to git's protocol"},
		{"expected flush after", Unavailable, "the server does not keep to git's protocol"},
	}
}

var (
	serverError  = regexp.MustCompile(`returned error: (5\d\d)`)
	redirectCode = regexp.MustCompile(`returned error: (30[12378])`)
)

// diagnose turns what git said into reason, detail and hint.
func diagnose(repo Repository, said string) (reason Reason, detail, hint string) {
	reason, detail = Other, lastWords(said)
	if m := serverError.FindStringSubmatch(said); m != nil {
		reason, detail = Unavailable, "the server answers "+m[1]
	} else if redirectCode.MatchString(said) {
		reason, detail = Redirected, "the server redirects"
	} else {
		for _, s := range symptoms() {
			if strings.Contains(said, s.words) {
				reason, detail = s.reason, s.detail
				break
			}
		}
	}
	return reason, detail, advice(repo, reason)
}

// advice says what to do about a failure.
func advice(repo Repository, reason Reason) string {
	host, add := Host(repo.URL), "add them with 'wavetrain repo add "+repo.Display()+"'"
	switch reason {
	case Unauthenticated:
		if !repo.Known {
			return "there are no credentials for it, " + add
		}
		return "correct the credentials in its repository Secret"
	case Forbidden:
		if !repo.Known {
			return "there are no credentials for it, " + add
		}
		return "the credentials in its repository Secret must be allowed to read it"
	case NotFound:
		if !repo.Known {
			return "check the URL; if the repository is private it needs credentials, " + add
		}
		return "check the URL, and that the credentials in its repository Secret may read it"
	case Untrusted:
		if isSSH(repo.fetchURL()) {
			return "put the host key of " + host + " into the ConfigMap argocd-ssh-known-hosts-cm"
		}
		return "put the certificate of its authority into the ConfigMap argocd-tls-certs-cm under the key " + strings.Split(host, ":")[0]
	case RateLimited:
		return "it is asked again later; a webhook instead of frequent polling helps"
	case Unavailable:
		return "it is asked again later"
	case Redirected:
		return "write the new address into repoURL"
	default:
		return ""
	}
}

// lastWords picks the line of git's standard error that says what is wrong:
// the last one marked fatal or error, else the last.
func lastWords(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range slices.Backward(lines) {
		for _, mark := range []string{"fatal: ", "error: ", "remote: "} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				return rest
			}
		}
	}
	return lines[len(lines)-1]
}

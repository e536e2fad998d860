// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gobwas/glob"
)

// ErrNoServiceAccount is the error when no entry of a project matches a
// destination.
var ErrNoServiceAccount = errors.New("no matching service account found")

// ServiceAccount returns the user as whom a sync writes to a destination: that of
// the first entry of the project's destinationServiceAccounts whose server and
// namespace match. One without a namespace of its own lies in the destination
// namespace, or in that of the Application if the destination has none. The error
// says, in Argo CD's words, why there is none, and what to do.
func (r *Rules) ServiceAccount(d Destination, appNamespace string) (user string, err error) {
	for _, entry := range r.spec.DestinationServiceAccounts {
		server, err := glob.Compile(entry.Server)
		if err != nil {
			return "", fmt.Errorf("invalid glob pattern for destination server %q: correct spec.destinationServiceAccounts of AppProject %s", entry.Server, r.project)
		}
		namespace, err := glob.Compile(entry.Namespace)
		if err != nil {
			return "", fmt.Errorf("invalid glob pattern for destination namespace %q: correct spec.destinationServiceAccounts of AppProject %s", entry.Namespace, r.project)
		}
		if !server.Match(d.Server) || !namespace.Match(d.Namespace) {
			continue
		}
		account := entry.DefaultServiceAccount
		own, name, qualified := strings.Cut(account, ":")
		switch {
		case strings.TrimSpace(account) == "", strings.ContainsAny(account, "!*[]{}\\/ "), qualified && (own == "" || name == "" || strings.Contains(name, ":")):
			return "", fmt.Errorf("default service account contains invalid chars '%s': give NAME or NAMESPACE:NAME in spec.destinationServiceAccounts of AppProject %s", account, r.project)
		case qualified:
			return "system:serviceaccount:" + account, nil
		case d.Namespace != "":
			return "system:serviceaccount:" + d.Namespace + ":" + account, nil
		}
		return "system:serviceaccount:" + appNamespace + ":" + account, nil
	}
	return "", fmt.Errorf("%w for destination server %s and namespace %s: add an entry to spec.destinationServiceAccounts of AppProject %s", ErrNoServiceAccount, d.Server, d.Namespace, r.project)
}

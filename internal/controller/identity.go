// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/project"
	"github.com/wavetrain/wavetrain/internal/rollout"
)

// codeNoIdentity is the code of the finding that nobody is named as whom a sync
// could write.
const codeNoIdentity = "no-service-account"

// identity is the user as whom syncs of the Application write to its destination,
// empty for the controller itself.
func (s *session) identity() (user string, err error) {
	wanted := s.settings.Impersonation
	if !wanted.Enabled {
		return "", nil
	}
	if s.permits == nil {
		return "", errors.New("the project is not known")
	}
	user, err = s.permits.ServiceAccount(s.target(), s.app.Namespace)
	if errors.Is(err, project.ErrNoServiceAccount) && !wanted.Enforced {
		return "", nil
	}
	return user, err
}

// identityName tells as whom syncs write from everybody else: empty for the
// controller itself.
func (s *session) identityName() string {
	user, err := s.identity()
	if err != nil {
		return err.Error()
	}
	return user
}

// writer is the destination as syncs write to it. Without anybody to write as it
// is the controller's own: then the plan is refused before anything is written, and
// what is left to do is to end what had begun.
func (s *session) writer() rollout.Cluster {
	if user, err := s.identity(); err == nil && user != "" {
		return s.dest.As(user)
	}
	return s.dest.Cluster
}

// refuseUnidentified adds a finding to the plan if there is nobody to write as.
func (s *session) refuseUnidentified(p *plan.Plan) {
	if _, err := s.identity(); err != nil {
		p.Findings = append(p.Findings, diag.Diagnostic{
			Code: codeNoIdentity, Severity: diag.Error, Message: "failed to find a matching service account to impersonate: " + err.Error(),
		})
		diag.Sort(p.Findings)
	}
}

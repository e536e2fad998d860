// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook understands what Git servers send when somebody has pushed —
// GitHub, GitLab, Gitea and Gogs, Bitbucket Cloud and Server, Azure DevOps — and what
// the registries of GitHub and Harbor send of charts and artifacts.
//
// A request is authenticated before it is believed. All that it can do is to have
// a repository looked at that would be looked at anyway; what it says about the
// content is not used.
package webhook

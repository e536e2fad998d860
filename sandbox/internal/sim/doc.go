// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package sim plays the parts of a cluster that a control plane alone lacks: nodes with kubelets, a
// scheduler, a volume binder, load balancers, and third-party operators. Rules direct it (package rules).
//
// It speaks to the API server like any client and may be wrong about nothing the API server knows:
// Deployments, Jobs, namespaces and the like belong to the upstream controllers, never to this package.
package sim

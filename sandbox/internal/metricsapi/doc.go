// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package metricsapi serves metrics.k8s.io/v1beta1 for the sandbox, so that upstream's horizontal pod autoscaler
// finds numbers. It asks a Source for the usage of Pods and Nodes and knows nothing of rules or of how the numbers
// come about; it must not talk to the API server except to register itself there.
package metricsapi

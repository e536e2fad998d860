// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package sandbox starts and stops embedded control planes: processes of the binary wavetrain-sandbox, which is a module
// of its own because it links Kubernetes itself. A Sandbox belongs to the process that started it and ends with it;
// Instances are named control planes that outlive the command that started them.
//
// The room finds the binary, speaks to it over its standard streams, and hands out kubeconfigs. It must not link
// k8s.io/kubernetes, and what is inside a control plane is none of its business.
package sandbox

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package controlplane puts the parts of the sandbox together: data directory, certificates, etcd, API server, upstream
// controllers, simulator, metrics API. It starts them in the order in which they need each other and stops them in
// reverse. It prints nothing and reads no environment.
package controlplane

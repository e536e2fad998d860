// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import "k8s.io/apimachinery/pkg/runtime/schema"

// Judged tells whether there is a rule made for a kind. Objects of other kinds are
// judged by the conditions that they may have, or count as healthy when they exist.
func Judged(gk schema.GroupKind) bool { return ruleFor(gk) != nil }

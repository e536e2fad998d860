// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package health judges one live object: Healthy, Suspended, Progressing, Missing, Degraded or Unknown, and why.
//
// There is one file per API group or family of groups. Operators that follow a common form say in one line what their
// conditions mean (outlook) or what their phases mean (phases); the others have a function. A verdict counts only for
// the generation that the object's controller has seen, and its message carries the controller's own words. The room is
// pure: it reads the object, and the little it needs from outside is asked through Context. It must not weigh objects
// against each other, wait, or decide what a verdict means for a rollout; grace periods and gates belong to the rollout
// engine.
package health

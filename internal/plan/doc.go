// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan works out the order of a rollout: phases, waves, kinds, hooks
// and prunes become a Plan, an ordered list of groups whose steps run together.
//
// Build goes through the rendered set once per concern, in this order:
//
//   - read: class, wave, scope and namespace of every object; what no cluster
//     would accept becomes a finding
//   - merge: several objects with one key become one, or a finding
//   - place: a step per object, a hook's one per phase
//   - create the destination namespace, prune what is no longer rendered
//   - lift Namespaces and CustomResourceDefinitions in front of what needs them
//   - narrow the plan to what the operation asks for, so that an object stands
//     where it stands in the plan of the whole
//   - cut the ordered steps into groups
//   - relate: what a step needs of producers of Secrets, and which steps of its
//     own group it comes after
//
// The room is pure and deterministic: the same input in any order gives the
// same plan, byte for byte. It does not know how a step is carried out or when a
// group has passed; the rollout does.
package plan

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/inventory"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// users answers who uses an object that is about to be pruned. What may use
// something is read once, and only if somebody asks.
func (r *Run) users() func(manifest.Key) (manifest.Key, bool) {
	all := sync.OnceValue(func() []*unstructured.Unstructured {
		var users []*unstructured.Unstructured
		for _, gk := range inventory.HolderKinds() {
			users = append(users, r.cluster.List(gk)...)
		}
		return users
	})
	return func(key manifest.Key) (manifest.Key, bool) {
		user := inventory.Holder(key, all())
		return user, user != manifest.Key{}
	}
}

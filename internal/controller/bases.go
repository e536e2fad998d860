// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/settings"
	"github.com/wavetrain/wavetrain/internal/webhook"
)

// basesAt returns, for a replica that does not act and so does not know what
// kustomizations take something from, those repositories that were pushed to and lie
// where the operator allows bases.
func (c *Controller) basesAt(ctx context.Context, push webhook.Push) []string {
	written := &corev1.ConfigMap{}
	if err := c.manager.GetClient().Get(ctx, types.NamespacedName{Namespace: c.opts.Namespace, Name: settings.Name}, written); err != nil {
		return nil // then nothing is allowed
	}
	var list []string
	for _, begin := range settings.RemoteBases(written.Data) {
		for _, url := range push.URLs {
			if beginsWith(url, begin) && !slices.Contains(list, url) {
				list = append(list, url)
			}
		}
	}
	return list
}

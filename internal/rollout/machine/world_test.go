// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/health"
	"github.com/wavetrain/wavetrain/internal/rollout/machine"
)

// write carries out an Apply or CreateHook.
func (w *world) write(a machine.Action, r *machine.Result) error {
	var live *unstructured.Unstructured
	var err error
	if a.Kind == machine.Apply {
		live, err = w.cluster.Apply(context.Background(), a.Object, cluster.ApplyOptions{})
	} else {
		live, err = w.cluster.Create(context.Background(), a.Object, false)
		if apierrors.IsAlreadyExists(err) {
			live, err = w.cluster.Fetch(context.Background(), a.Key, a.Version)
		}
	}
	if err != nil {
		return err
	}
	r.Live, r.Message = machine.Observe(live, nil, health.Context{}), machine.Accepted(a.Key, "created")
	return nil
}

func deleteOptions(a machine.Action) cluster.DeleteOptions {
	return cluster.DeleteOptions{UID: a.UID, Propagation: metav1.DeletePropagationForeground}
}

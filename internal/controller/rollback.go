// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import "github.com/wavetrain/wavetrain/api/v1alpha1"

// RollbackSync is the sync that brings an entry of an Application's history back.
func RollbackSync(app *v1alpha1.Application, entry v1alpha1.RevisionHistory, prune bool) *v1alpha1.SyncOperation {
	sync := &v1alpha1.SyncOperation{
		Revision: entry.Revision, Revisions: entry.Revisions, Sources: entry.Sources, Prune: prune,
		SyncStrategy: &v1alpha1.SyncStrategy{Apply: &v1alpha1.SyncStrategyApply{}},
		SyncOptions:  app.Spec.SyncOptionList(),
	}
	if len(entry.Sources) == 0 {
		sync.Source = &entry.Source
	}
	return sync
}

// OperationID tells operations apart that began in the same second.
func OperationID(op v1alpha1.Operation) string { return operationID(op) }

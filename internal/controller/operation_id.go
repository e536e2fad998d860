// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/rand"
	"encoding/hex"
	"slices"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
)

// infoOperation is the entry of an operation's info that carries its id: what
// ties the status of an Application to its ReleaseRecord.
const infoOperation = "wavetrain.dev/operation"

func newOperationID() string {
	var b [4]byte
	// crypto/rand never fails on the platforms Go supports.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func operationID(op v1alpha1.Operation) string { return infoValue(op, infoOperation) }

func withOperationID(infos []v1alpha1.Info, id string) []v1alpha1.Info {
	kept := slices.DeleteFunc(slices.Clone(infos), func(i v1alpha1.Info) bool { return i.Name == infoOperation })
	return append(kept, v1alpha1.Info{Name: infoOperation, Value: id})
}

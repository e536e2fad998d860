// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Fingerprint is a digest of all of a live object that a comparison can depend
// on: what is not its status or the server's bookkeeping, and who owns what of
// it. As long as it stays, so does the verdict on the object. More is the caller's,
// and part of the digest.
func Fingerprint(live *unstructured.Unstructured, owners []metav1.ManagedFieldsEntry, more ...any) uint64 {
	obj := maps.Clone(live.Object)
	delete(obj, "status")
	if meta, ok := obj["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, name := range []string{"resourceVersion", "generation", "managedFields", "creationTimestamp"} {
			delete(meta, name)
		}
		obj["metadata"] = meta
	}
	var owned []any
	for _, e := range owners {
		if e.Subresource != "status" {
			owned = append(owned, e.Manager, e.Operation, e.Subresource, e.APIVersion, e.FieldsV1)
		}
	}
	text, err := json.Marshal([]any{obj, owned, more})
	if err != nil {
		// What came from JSON can be written as JSON.
		return 0
	}
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

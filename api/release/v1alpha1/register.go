// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is Wavetrain's own API group.
const Group = "wavetrain.dev"

// ReleaseRecordKind is the kind of a ReleaseRecord.
const ReleaseRecordKind = "ReleaseRecord"

// GroupVersion returns wavetrain.dev/v1alpha1.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: "v1alpha1"}
}

// AddToScheme registers the kinds of this group in s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &ReleaseRecord{}, &ReleaseRecordList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}

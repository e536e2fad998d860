// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReleaseRecord is what Wavetrain remembers about one Application: the operation in progress, the result of each of
// its steps, and the last completed release. It lives in the Application's namespace and is owned by it.
//
// The first part has the Application's name. When the payload does not fit into one object it continues in further
// parts, whose names PartName gives. The other fields repeat a little of the payload for people who list records; no
// program reads them. They are set on the first part.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=releaserecords,shortName=rr
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.phase`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.revision`
// +kubebuilder:printcolumn:name="Attempts",type=integer,JSONPath=`.attempts`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.operation`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.plan`,priority=10
// +kubebuilder:printcolumn:name="Part",type=integer,JSONPath=`.part`,priority=10
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ReleaseRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Application is the name of the Application this record belongs to. A part whose Application is another one was
	// not written for this record, whatever its name.
	Application string `json:"application"`
	// Operation is the id of the operation that runs or ran last.
	// +optional
	Operation string `json:"operation,omitempty"`
	// Phase of that operation.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Revision it rolls out.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Plan is the id of the plan it carries out.
	// +optional
	Plan string `json:"plan,omitempty"`
	// Attempts is the number of attempts so far, the present one included.
	// +optional
	Attempts int64 `json:"attempts,omitempty"`

	// Part is the number of this part, counted from 1.
	// +kubebuilder:validation:Minimum=1
	Part int32 `json:"part"`
	// Parts is the number of parts that make up the payload. Only the first part's number counts.
	// +kubebuilder:validation:Minimum=1
	Parts int32 `json:"parts"`
	// Payload is this part of the packed payload.
	// +kubebuilder:validation:MaxLength=262144
	Payload string `json:"payload"`
}

// ReleaseRecordList is a list of ReleaseRecords.
//
// +kubebuilder:object:root=true
type ReleaseRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	// Items are the ReleaseRecords.
	Items []ReleaseRecord `json:"items"`
}

// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestRefusalsDoNotQuoteObjects(t *testing.T) {
	type template struct{ Env []string }
	secret := template{[]string{"PASSWORD=hunter2: ]: x"}}
	spec := field.NewPath("spec")
	for name, c := range map[string]struct {
		reason string
		faults field.ErrorList
		want   string
	}{
		"structure": {
			"a whole template says nothing that the field's name does not",
			field.ErrorList{field.Invalid(spec.Child("template"), secret, "field is immutable")},
			`Job.batch "seed" is invalid: spec.template: field is immutable`,
		},
		"word": {
			"a word is what is wrong",
			field.ErrorList{field.Invalid(spec.Child("restartPolicy"), "Sometimes", "must be Never")},
			`Job.batch "seed" is invalid: spec.restartPolicy: Invalid value: "Sometimes": must be Never`,
		},
		"several": {
			"each fault is told",
			field.ErrorList{
				field.Invalid(spec.Child("template"), secret, "field is immutable"), field.Required(spec.Child("selector"), "say which"),
				field.Invalid(spec.Child("list"), []int{1}, "may not be changed"),
			},
			`Job.batch "seed" is invalid: spec.template: field is immutable, spec.selector: Required value: say which, spec.list: may not be changed`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "seed", c.faults)
			if got := cause(manifest.Key{Group: "batch", Kind: "Job", Name: "seed"}, err); got != c.want {
				t.Errorf("%s: it says\n%s\nwant\n%s", c.reason, got, c.want)
			}
		})
	}
}

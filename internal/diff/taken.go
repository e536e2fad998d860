// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// maxTaken bounds how many fields are named.
const maxTaken = 3

// Taken says which fields an apply of manager took from others, and from whom:
// "spec.replicas from kubectl-edit". These are the conflicts that it won. Before
// and after are the managedFields around it; tools that Wavetrain replaces do not
// count.
func Taken(before, after []metav1.ManagedFieldsEntry, manager string) string {
	was, errBefore := ReadOwnership(before)
	is, errAfter := ReadOwnership(after)
	ours, _ := is.applied(manager)
	if errBefore != nil || errAfter != nil || ours == nil {
		return ""
	}
	var taken []string
	for _, e := range was.entries {
		if e.Manager == manager || Superseded(e.ManagedFieldsEntry) {
			continue
		}
		lost := e.set
		for _, now := range is.entries {
			if now.Manager == e.Manager && now.Operation == e.Operation && now.Subresource == e.Subresource {
				lost = lost.Difference(now.set)
			}
		}
		lost.Intersection(ours).Leaves().Iterate(func(p fieldpath.Path) {
			taken = append(taken, strings.TrimPrefix(p.String(), ".")+" from "+e.Manager)
		})
	}
	slices.Sort(taken)
	taken = slices.Compact(taken)
	if more := len(taken) - maxTaken; more > 0 {
		taken = append(taken[:maxTaken], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(taken, ", ")
}

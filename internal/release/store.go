// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
)

// AnnotationParts lists, on the first part, the numbers of the parts that hold
// the rest of the payload, in order. A write never touches parts that the first
// one names: it puts the rest elsewhere, then changes the first, which makes the
// whole of it valid at once.
const AnnotationParts = "wavetrain.dev/parts"

// ConflictError is the error of a save after somebody else has written.
type ConflictError struct {
	// Record is the record's namespace and name.
	Record types.NamespacedName
	Err    error
}

// Error names the record.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("save release record %s: somebody else has written it: %v", e.Record, e.Err)
}

// Unwrap returns the API server's answer.
func (e *ConflictError) Unwrap() error { return e.Err }

// IsConflict reports whether err says that somebody else has written the record.
func IsConflict(err error) bool {
	var conflict *ConflictError
	return errors.As(err, &conflict)
}

// Summary repeats a little of the payload for people.
type Summary struct {
	Operation, Phase, Revision, Plan string
	Attempts                         int
}

// Record is one Application's record, as this process knows it. It is not safe
// for concurrent use.
type Record struct {
	client client.Client
	packer *releasev1alpha1.Packer
	// key is the Application's namespace and name, owner the reference to it.
	key   types.NamespacedName
	owner metav1.OwnerReference
	// version is the resource version of the first part that was read or written
	// last; empty if there is no record.
	version string
	// parts are the numbers of the parts in use besides the first, stale those that
	// are to be deleted.
	parts, stale []int
}

// Load reads the record of an Application. The payload is nil if there is none,
// or one that belongs to an Application of this name that existed before.
func Load(ctx context.Context, c client.Client, key types.NamespacedName, app client.Object) (*Record, []byte, error) {
	gvk, err := c.GroupVersionKindFor(app)
	if err != nil {
		return nil, nil, fmt.Errorf("load release record %s: %w", key, err)
	}
	r := &Record{client: c, packer: &releasev1alpha1.Packer{}, key: key, owner: metav1.OwnerReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: app.GetName(), UID: app.GetUID(),
	}}
	payload, err := r.load(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("load release record %s: %w", key, err)
	}
	return r, payload, nil
}

func (r *Record) name(part int) types.NamespacedName {
	return types.NamespacedName{Namespace: r.key.Namespace, Name: releasev1alpha1.PartName(r.key.Name, part)}
}

func (r *Record) load(ctx context.Context) ([]byte, error) {
	first := &releasev1alpha1.ReleaseRecord{}
	if err := r.client.Get(ctx, r.name(1), first); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	numbers, err := partNumbers(first.Annotations[AnnotationParts])
	if err != nil {
		return nil, err
	}
	r.version, r.parts = first.ResourceVersion, numbers
	if !slices.ContainsFunc(first.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == r.owner.UID }) {
		return nil, nil
	}
	texts := []string{first.Payload}
	for _, n := range numbers {
		part := &releasev1alpha1.ReleaseRecord{}
		if err := r.client.Get(ctx, r.name(n), part); err != nil {
			return nil, fmt.Errorf("part %s: %w", r.name(n).Name, err)
		}
		if part.Application != r.key.Name {
			return nil, fmt.Errorf("part %s belongs to application %q", r.name(n).Name, part.Application)
		}
		texts = append(texts, part.Payload)
	}
	return releasev1alpha1.Unpack(texts)
}

func partNumbers(list string) ([]int, error) {
	var numbers []int
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 {
			return nil, fmt.Errorf("annotation %s: %q is not the number of a part", AnnotationParts, text)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// PackWith has the record packed by a packer that others use, too.
func (r *Record) PackWith(packer *releasev1alpha1.Packer) { r.packer = packer }

// Save writes the payload. The error is a *ConflictError if somebody else has
// written since this process read or wrote; then nothing has changed.
func (r *Record) Save(ctx context.Context, payload []byte, s Summary) error {
	texts, err := r.packer.Pack(payload)
	if err != nil {
		return err
	}
	numbers := free(len(texts)-1, r.parts)
	for i, n := range numbers {
		if err := r.put(ctx, n, i+2, len(texts), texts[i+1]); err != nil {
			return err
		}
	}
	if err := r.commit(ctx, texts, numbers, s); err != nil {
		return err
	}
	// What was valid until now is of no use any more. If it cannot be deleted, it
	// is tried again after the next save; the parts are owned and go with the
	// Application at the latest.
	r.stale = append(r.stale, r.parts...)
	r.parts = numbers
	r.sweep(ctx)
	return nil
}

// free returns the n lowest numbers of parts that are not in use.
func free(n int, used []int) []int {
	var numbers []int
	for i := 2; len(numbers) < n; i++ {
		if !slices.Contains(used, i) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// put writes a part that no first part names yet, over whatever is there.
func (r *Record) put(ctx context.Context, number, place, of int, text string) error {
	part := r.object(number)
	part.Part, part.Parts, part.Payload = count(place), count(of), text
	r.stale = slices.DeleteFunc(r.stale, func(n int) bool { return n == number })
	err := r.client.Create(ctx, part)
	if apierrors.IsAlreadyExists(err) {
		there := &releasev1alpha1.ReleaseRecord{}
		if err = r.client.Get(ctx, r.name(number), there); err == nil {
			part.ResourceVersion = there.ResourceVersion
			err = r.client.Update(ctx, part)
		}
	}
	return r.wrap(err)
}

// commit writes the first part.
func (r *Record) commit(ctx context.Context, texts []string, numbers []int, s Summary) error {
	first := r.object(1)
	first.Part, first.Parts, first.Payload = 1, count(len(texts)), texts[0]
	first.Operation, first.Phase, first.Revision, first.Plan = s.Operation, s.Phase, s.Revision, s.Plan
	first.Attempts = int64(s.Attempts)
	if len(numbers) > 0 {
		list := make([]string, len(numbers))
		for i, n := range numbers {
			list[i] = strconv.Itoa(n)
		}
		first.Annotations = map[string]string{AnnotationParts: strings.Join(list, ",")}
	}
	var err error
	if r.version == "" {
		err = r.client.Create(ctx, first)
	} else {
		first.ResourceVersion = r.version
		err = r.client.Update(ctx, first)
	}
	if err = r.wrap(err); IsConflict(err) && r.written(ctx, first) {
		return nil
	}
	if err == nil {
		r.version = first.ResourceVersion
	}
	return err
}

// written reports whether the record is what we were about to write: then it was
// we who wrote it, and the answer got lost.
func (r *Record) written(ctx context.Context, first *releasev1alpha1.ReleaseRecord) bool {
	there := &releasev1alpha1.ReleaseRecord{}
	if r.client.Get(ctx, r.name(1), there) != nil || there.Payload != first.Payload ||
		there.Annotations[AnnotationParts] != first.Annotations[AnnotationParts] {
		return false
	}
	r.version = there.ResourceVersion
	return true
}

// sweep deletes parts that are out of use.
func (r *Record) sweep(ctx context.Context) {
	var kept []int
	for _, n := range r.stale {
		if slices.Contains(r.parts, n) {
			continue
		}
		if err := client.IgnoreNotFound(r.client.Delete(ctx, r.object(n))); err != nil {
			kept = append(kept, n)
		}
	}
	r.stale = kept
}

// count is a number of parts as the record has it.
func count(n int) int32 {
	return int32(n) //nolint:gosec // the longest payload makes a few hundred parts
}

func (r *Record) object(part int) *releasev1alpha1.ReleaseRecord {
	name := r.name(part)
	return &releasev1alpha1.ReleaseRecord{
		TypeMeta: metav1.TypeMeta{APIVersion: releasev1alpha1.GroupVersion().String(), Kind: releasev1alpha1.ReleaseRecordKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name,
			OwnerReferences: []metav1.OwnerReference{r.owner},
		},
		Application: r.key.Name,
	}
}

// wrap types conflicts: a record that is there though none was read, one that
// changed, one that is gone.
func (r *Record) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && r.version != "":
		return &ConflictError{Record: r.name(1), Err: err}
	}
	return fmt.Errorf("save release record %s: %w", r.name(1), err)
}
